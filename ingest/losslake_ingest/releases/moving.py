"""Moves of stored trials: a run given again under another mapping leaves the study or number that it had.

The next release has it in one place, and the ledger says from where to where; earlier releases stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import select
from sqlalchemy.orm import Session

from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake.lake.store.store import Store
from losslake_ingest.pipeline.copies import BUNDLE, Move
from losslake_ingest.pipeline.gather import Stored
from losslake_ingest.pipeline.offer import Offer
from losslake_ingest.pipeline.publish import Changes, StudyChange
from losslake_ingest.releases.withdrawal import reduced, trial_names
from losslake_schema.database import LedgerEntry
from losslake_schema.names import Study, Trial

MOVED, PLACED = "moved", "placed"


def sources_of(lake: Lake, study: Study) -> frozenset[str]:
    """Return the names of the sources that a study was read from, by the ledger; BUNDLE of bundles."""
    is_of_study = (LedgerEntry.path == str(study)) & LedgerEntry.outcome.in_(["ingested", "unchanged"])
    of_study = select(LedgerEntry.source).where(is_of_study).distinct()
    bundles = select(LedgerEntry.source).where((LedgerEntry.path == "") & (LedgerEntry.format == "bundle")).distinct()

    def names(session: Session) -> frozenset[str]:
        are_bundles = set(session.scalars(bundles))
        return frozenset(BUNDLE if name in are_bundles else name for name in session.scalars(of_study))

    return lake.read(names)


def places_of(lake: Lake, study: Study) -> Mapping[str, int]:
    """Return the trial_ids of a study by the digests of the places that their runs were read from, by the ledger.

    The places of a trial that moved don't count: its number may be another one's.
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


def moves_of(stored: Stored, offers: Sequence[Offer]) -> dict[Trial, Move]:
    """Return the stored trials that move: what takes their place is offered, and neither withdrawn nor refused."""
    offered = {study: change.trial_ids for offer in offers for study, change in offer.changes.items()}
    return {
        trial: move
        for trial, move in stored.moved().items()
        if move.to.trial_id in offered.get(move.to.study, set()) | stored.content(move.to.study).keys()
    }


def without_moved(
    store: Store, stored: Stored, moved: Mapping[Trial, Move], changes: Mapping[Study, StudyChange]
) -> Changes:
    """Return the changes of studies that lose trials by moves and that `changes` doesn't have."""
    studies = {trial.study for trial in moved} - changes.keys()
    if not studies:
        return Changes({})
    trials = read_small_table(store, stored.files, "trials")
    is_gone = pc.is_in(trial_names(trials), pa.array(map(str, moved), pa.string()))
    return reduced(store, stored.files, trials.filter(pc.invert(is_gone)), studies)


def moved_entries(moved: Mapping[Trial, Move], at: datetime) -> list[LedgerEntry]:
    """Return the entries of the ledger for trials that move."""
    return [
        LedgerEntry(
            offered_at=at, source=move.source, path=str(trial), sha256=move.sha256, format="", study=str(move.to.study),
            outcome=MOVED, reason=f"its log is now {move.to}: the mapping changed, or it copies that trial's log",
        )
        for trial, move in moved.items()
    ]  # fmt: skip
