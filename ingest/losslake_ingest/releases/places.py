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
    """Return the trial_ids of a study by the digests of the places that their runs were read from."""
    return {digest: number for digest, (number, _) in placed_runs(lake, study).items()}


def placed_runs(lake: Lake, study: Study) -> Mapping[str, tuple[int, str]]:
    """Return the trial_ids of a study, and the paths of their runs within the sources, by the digests of the places.

    The places of a trial that moved, or was withdrawn and restored, don't count: its number may be another one's.
    """
    is_placed = (LedgerEntry.outcome == PLACED) & (LedgerEntry.study == str(study))
    is_over = LedgerEntry.outcome.in_([MOVED, RESTORED]) & LedgerEntry.path.startswith(f"{study}/", autoescape=True)
    query = select(LedgerEntry.outcome, LedgerEntry.path, LedgerEntry.sha256, LedgerEntry.reason)
    query = query.where(is_placed | is_over).order_by(LedgerEntry.id)
    placed: dict[str, tuple[int, str]] = {}
    for outcome, path, digest, run in lake.read(lambda session: session.execute(query).all()):
        number = Trial.parse(path).trial_id
        if outcome == PLACED:
            placed[str(digest)] = (number, str(run))
        else:
            placed = {place: each for place, each in placed.items() if each[0] != number}
    return placed


def placed_entries(placed: Mapping[tuple[Trial, str], tuple[str, str]], at: datetime) -> Iterator[LedgerEntry]:
    """Yield the entries of the ledger for the places of trials; see `Stored`."""
    for (trial, digest), (source, run) in placed.items():
        yield LedgerEntry(
            offered_at=at, source=source, path=str(trial), sha256=digest, format="", study=str(trial.study),
            outcome=PLACED, reason=run,
        )  # fmt: skip
