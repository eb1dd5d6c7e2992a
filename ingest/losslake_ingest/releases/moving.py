"""Moves of stored trials: a run given again under another mapping leaves the study or number that it had.

The next release has it in one place, and the ledger says from where to where; earlier releases stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from losslake_ingest.releases.places import MOVED
from losslake_ingest.releases.withdrawal import reduced, trial_names
from losslake_schema.database import LedgerEntry
from losslake_schema.names import Study, Trial


def sources_of(lake: Lake, study: Study) -> frozenset[str]:
    """Return the names of the sources that a study was read from, by the ledger; BUNDLE of bundles."""
    is_of_study = (LedgerEntry.path == str(study)) & LedgerEntry.outcome.in_(["ingested", "unchanged"])
    of_study = select(LedgerEntry.source).where(is_of_study).distinct()
    bundles = select(LedgerEntry.source).where((LedgerEntry.path == "") & (LedgerEntry.format == "bundle")).distinct()

    def names(session: Session) -> frozenset[str]:
        are_bundles = set(session.scalars(bundles))
        return frozenset(BUNDLE if name in are_bundles else name for name in session.scalars(of_study))

    return lake.read(names)


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
