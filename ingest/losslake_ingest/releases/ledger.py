"""The trials of a lake as its ledger has them: where their logs were read from, and which moved or are withdrawn.

A run is recognized by its place when it is offered again, though its log may have grown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from functools import cache, partial

from sqlalchemy import select
from sqlalchemy.orm import Session

from losslake.lake.lake import Lake
from losslake.lake.notices import RESTORED, WITHDRAWN
from losslake_ingest.pipeline.copies import BUNDLE
from losslake_ingest.pipeline.gather import Stored
from losslake_ingest.pipeline.study_trials import Withdrawn, WithdrawnTrial
from losslake_schema.database import LedgerEntry
from losslake_schema.names import Study, Trial

MOVED, PLACED = "moved", "placed"


def stored_in(lake: Lake | None) -> Stored:
    """Return the studies and trials of the newest release of a lake; None stands for an empty lake."""
    if lake is None:
        return Stored(None, [])
    base, withdrawn = lake.newest_release(), withdrawn_trials(lake)
    files = lake.files(base) if base is not None else []
    # Studies are no index of the ledger: all places are read when the first is asked for.
    places = cache(partial(_places, lake))
    return Stored(
        lake.store, files, withdrawn, cache(partial(_sources_of, lake)), lambda study: places().get(str(study), {})
    )


def _sources_of(lake: Lake, study: Study) -> frozenset[str]:
    """Return the names of the sources that a study was read from; BUNDLE of bundles."""
    is_of_study = (LedgerEntry.path == str(study)) & LedgerEntry.outcome.in_(["ingested", "unchanged"])
    of_study = select(LedgerEntry.source).where(is_of_study).distinct()
    bundles = select(LedgerEntry.source).where((LedgerEntry.path == "") & (LedgerEntry.format == "bundle")).distinct()

    def names(session: Session) -> frozenset[str]:
        are_bundles = set(session.scalars(bundles))
        return frozenset(BUNDLE if name in are_bundles else name for name in session.scalars(of_study))

    return lake.read(names)


def _places(lake: Lake) -> Mapping[str, Mapping[str, int]]:
    """Return the trial_ids of each study by the digests of the places that their runs were read from.

    The places of a trial that moved don't count: its number may be another one's. Those of withdrawn trials do.
    """
    query = select(LedgerEntry.outcome, LedgerEntry.path, LedgerEntry.sha256)
    query = query.where(LedgerEntry.outcome.in_([PLACED, MOVED])).order_by(LedgerEntry.id)
    by_study: dict[str, dict[str, int]] = defaultdict(dict)
    for outcome, path, digest in lake.read(lambda session: session.execute(query).all()):
        study, _, number = path.rpartition("/")
        if outcome == PLACED:
            by_study[study][str(digest)] = int(number)
        else:
            by_study[study] = {place: other for place, other in by_study[study].items() if other != int(number)}
    return by_study


def withdrawn_trials(lake: Lake) -> Mapping[Study, Withdrawn]:
    """Return the trials that are withdrawn and weren't restored since, of each study of which any was withdrawn."""
    names = select(LedgerEntry.path).where(LedgerEntry.outcome == WITHDRAWN)
    outcomes = LedgerEntry.outcome.in_([WITHDRAWN, RESTORED, MOVED, PLACED])
    query = select(LedgerEntry).where(outcomes, LedgerEntry.path.in_(names)).order_by(LedgerEntry.id)
    active: dict[tuple[str, str], WithdrawnTrial] = {}
    places: dict[str, set[str]] = defaultdict(set)
    by_study: dict[Study, list[WithdrawnTrial]] = {}
    for entry in lake.read(lambda session: session.scalars(query).all()):
        path, digest, trial = entry.path, entry.sha256 or "", Trial.parse(entry.path)
        if entry.outcome == PLACED:
            places[path].add(digest)
        elif entry.outcome == MOVED:
            places[path].clear()
        elif entry.outcome == WITHDRAWN:
            # The number may go to another run, whose place isn't withdrawn.
            active[path, digest] = WithdrawnTrial(trial, digest, entry.reason or "", frozenset(places.pop(path, ())))
            by_study[trial.study] = []
        elif (path, digest) in active:
            places[path] |= active.pop((path, digest)).places
    for each in active.values():
        by_study[each.trial.study].append(each)
    return {study: Withdrawn(trials) for study, trials in by_study.items()}


def trial_entry(
    trial: Trial, digest: str, outcome: str, reason: str, source: str, at: datetime, study: Study | None = None
) -> LedgerEntry:
    """Return the entry for a withdrawn, restored, moved or placed trial. study: None for its own."""
    return LedgerEntry(
        offered_at=at, source=source, path=str(trial), sha256=digest, format="", study=str(study or trial.study),
        outcome=outcome, reason=reason,
    )  # fmt: skip
