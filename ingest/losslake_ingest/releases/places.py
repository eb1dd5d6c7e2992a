"""The places of trials: where their logs were read from, as the ledger has it.

A run is recognized by its place when it is offered again, though its log may have grown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from sqlalchemy import select

from losslake.lake.lake import Lake
from losslake_schema.database import LedgerEntry
from losslake_schema.names import Study, Trial

MOVED, PLACED, WITHDRAWN, RESTORED = "moved", "placed", "withdrawn", "restored"


def places_of(lake: Lake, study: Study) -> Mapping[str, int]:
    """Return the trial_ids of a study by the digests of the places that their runs were read from.

    The places of a trial that moved don't count: its number may be another one's. Those of withdrawn trials do.
    """
    is_placed = (LedgerEntry.outcome == PLACED) & (LedgerEntry.study == str(study))
    is_moved = (LedgerEntry.outcome == MOVED) & LedgerEntry.path.startswith(f"{study}/", autoescape=True)
    query = select(LedgerEntry.outcome, LedgerEntry.path, LedgerEntry.sha256).where(is_placed | is_moved)
    places: dict[str, int] = {}
    for outcome, path, digest in lake.read(lambda session: session.execute(query.order_by(LedgerEntry.id)).all()):
        number = Trial.parse(path).trial_id
        if outcome == PLACED:
            places[str(digest)] = number
        else:
            places = {place: each for place, each in places.items() if each != number}
    return places


def placed_entries(placed: Mapping[tuple[Trial, str], tuple[str, str]], at: datetime) -> Iterator[LedgerEntry]:
    """Yield the entries of the ledger for the places of trials; see `Stored`."""
    for (trial, digest), (source, run) in placed.items():
        yield LedgerEntry(
            offered_at=at, source=source, path=str(trial), sha256=digest, format="", study=str(trial.study),
            outcome=PLACED, reason=run,
        )  # fmt: skip
