"""Make a release: new files and rows on top of the newest release, published by one INSERT."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from losslake.lake import iceberg
from losslake.lake.data_files import Written, stored_table, studies_in, write_small_table
from losslake.lake.lake import Lake
from losslake.lake.publishing import FileChanges, commit_release, content_digest, following, land, store
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.engine import WrittenPart
from losslake_ingest.study import source_digest, study_digest
from losslake_schema.database import LedgerEntry, Release
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Study, Workload
from losslake_schema.registry import CollectionFacts, Goal, collections, goals, metric_named, metrics
from losslake_schema.tables import COLLECTIONS, GOALS, METRICS, PARTITIONED, STATUSES, STUDIES, STUDY_KEYS, TABLES

ATTEMPTS = 50
_STUDIES_AT_ONCE = 1000
Ledger = Callable[[frozenset[Study]], Sequence[LedgerEntry]]


@dataclass
class StudyChange:
    """All that one ingest brought of a study. adds: its trials come beside the stored ones, they are not the whole."""

    study: Study
    source: str
    format: str
    reader_version: str
    adds: bool = False
    parts: list[WrittenPart] = field(default_factory=list)
    source_files: dict[str, str] = field(default_factory=dict)
    n_quarantined: int = 0

    @property
    def source_digest(self) -> str:
        return source_digest(self.reader_version, self.source_files)

    @property
    def trial_ids(self) -> set[int]:
        return {trial_id for part in self.parts for trial_id in part.trials["trial_id"].to_pylist()}

    @property
    def written(self) -> list[Written]:
        return [written for part in self.parts for written in part.written]

    def trials(self) -> pa.Table:
        """The rows of `trials` for this study, in any order."""
        return pa.concat_tables([part.trials for part in self.parts])

    def study_row(self) -> dict[str, object]:
        """The row of `studies` for this study."""
        facts, trials = self.parts[0].facts, self.trials()
        statuses = trials["status"].to_pylist()
        digests = dict(zip(trials["trial_id"].to_pylist(), trials["content_digest"].to_pylist(), strict=True))
        measurements = sum(w.file.rows for w in self.written if w.file.table == "measurements")
        return {
            **self.study.key(),
            **{name: value for name, value in vars(facts).items() if name != "study"},
            "metrics": sorted(frozenset[str]().union(*(part.metrics for part in self.parts))),
            "n_trials": len(statuses),
            **{f"n_{status.lower()}": statuses.count(status) for status in STATUSES},
            "n_quarantined": self.n_quarantined,
            "n_evaluations": sum(trials["n_evaluations"].to_pylist()),
            "n_measurements": measurements,
            "n_nonfinite": sum(trials["n_nonfinite"].to_pylist()),
            "format": self.format,
            "source": self.source,
            "source_digest": self.source_digest,
            "content_digest": study_digest(facts, digests),
        }


@dataclass(frozen=True)
class Published:
    """The release that was made, None if nothing had to change, and the studies that are new in it.

    files: those of the newest release, be it this one or the one that stays.
    """

    release: Release | None
    studies: frozenset[Study]
    files: Sequence[DataFile]


@dataclass(frozen=True)
class Changes:
    """What is to be published, and the content digests that the studies had when it was put together."""

    studies: Mapping[Study, StudyChange]
    based_on: Mapping[Study, str] = field(default_factory=dict)
    collections: Mapping[str, CollectionFacts] = field(default_factory=dict)
    goals: Sequence[Goal] = ()


class Overtaken(Exception):
    """Another ingest has changed a study to which this one adds: what it adds to has to be read again."""


def publish(lake: Lake, changes: Changes, ledger: Ledger, notes: str) -> Published:
    """Publish the changes on top of the newest release, as far as they change anything.

    When another ingest publishes first, the changes are put on top of its release: both land. ledger: the entries for
    the studies that get published; they are stored in the same transaction as the release. Raises Overtaken.
    """
    branch = f"ingest-{uuid.uuid4().hex}"
    for _ in range(ATTEMPTS):
        base = lake.newest_release()
        draft = _Draft(lake, base, changes)
        studies = frozenset(draft.changes)
        if not draft.is_new:
            if base is not None:
                # An ingest that was killed after it published may have left Iceberg's `main` behind.
                iceberg.settle(lake, base, branch)
            store(lake, None, ledger(studies))
            return Published(None, studies, draft.files.all)
        release = land(lake, draft.commit(branch, notes), ledger(studies), branch, sorted(draft.files.added))
        if release is not None:
            return Published(release, studies, draft.files.all)
    raise LossLakeError("other ingests kept publishing first: run the same command again")


def discard(store: Store, written: Sequence[Written]) -> None:
    """Delete data files that will not be published."""
    store.delete([file.file.path for file in written])


class _Draft:
    """What the next release would be: the files that go, those that come, and the small tables written anew."""

    def __init__(self, lake: Lake, base: Release | None, changes: Changes) -> None:
        self.lake = lake
        self.base = base
        self.files = FileChanges(lake.files(base) if base is not None else [])
        self.stored = {name: self._stored(name) for name in TABLES if name not in (*PARTITIONED, "trials")}
        tables = dict(self.stored)
        stored_digests = studies_in(tables["studies"], "content_digest")
        for study, change in changes.studies.items():
            if change.adds and stored_digests.get(study) != changes.based_on.get(study):
                raise Overtaken(str(study))
        rows = {study: change.study_row() for study, change in changes.studies.items()}
        is_new = {study: stored_digests.get(study) != row["content_digest"] for study, row in rows.items()}
        self.changes = {study: change for study, change in changes.studies.items() if is_new[study]}
        replaced = set(self.changes)
        if replaced:
            new = pa.Table.from_pylist([rows[study] for study in self.changes], STUDIES)
            tables["studies"] = _without_studies(tables["studies"], replaced, [new])
            trials = list(_trials_of(self.changes.values()))
            tables["trials"] = _without_studies(self._stored("trials"), replaced, trials)
        if base is not None or replaced:
            tables["collections"] = _collection_rows(tables["collections"], tables["studies"], changes.collections)
            tables["goals"] = _goal_rows(tables["goals"], tables["studies"], changes.goals)
        self.is_new = bool(replaced) or any(not table.equals(tables[name]) for name, table in self.stored.items())
        if self.is_new:
            self._swap_data_files(replaced)
            tables["metrics"] = _metric_rows(tables["studies"])
            self.tables = tables

    def _stored(self, name: str) -> pa.Table:
        return stored_table(self.lake.store, self.files.kept, name)

    def _swap_data_files(self, replaced: set[Study]) -> None:
        gone = [file for file in self.files.kept if file.study in replaced]
        self.files.kept = [file for file in self.files.kept if file.study not in replaced]
        for name in PARTITIONED:
            self.files.removed[name] = [file for file in gone if file.table == name]
            self.files.added[name] = [w for c in self.changes.values() for w in c.written if w.file.table == name]

    def commit(self, branch: str, notes: str) -> Release:
        """Write the small tables, commit every table to the branch and return the release, not yet published."""
        for name, table in self.tables.items():
            self._write_if_changed(name, table)
        facts = following(self.base, notes, content_digest(self.tables))
        return commit_release(self.lake, self.base, branch, self.files, facts, self.tables["studies"])

    def _write_if_changed(self, name: str, table: pa.Table) -> None:
        old = [file for file in self.files.kept if file.table == name]
        if old and name in self.stored and table.equals(self.stored[name]):
            return
        self.files.kept = [file for file in self.files.kept if file.table != name]
        self.files.removed[name] = old
        self.files.added[name] = [write_small_table(self.lake.store, name, table)]


def _trials_of(changes: Iterable[StudyChange]) -> Iterator[pa.Table]:
    """The rows of `trials` for some studies, those of many in each table."""
    left = iter(changes)
    while some := [change.trials() for change in islice(left, _STUDIES_AT_ONCE)]:
        yield pa.concat_tables(some).combine_chunks()


def _without_studies(table: pa.Table, replaced: Collection[Study], new: Sequence[pa.Table]) -> pa.Table:
    """The table without the rows of the replaced studies but with the new ones, in order of study (and trial)."""
    replaced_names = pa.array([str(study) for study in replaced], pa.string())
    kept = table.filter(pc.invert(pc.is_in(study_names(table), replaced_names)))
    return in_order(pa.concat_tables([kept, *new]))


def study_names(table: pa.Table) -> pa.ChunkedArray:
    """Return the study of each row of `studies` or `trials`."""
    return pc.binary_join_element_wise(*(table[key].cast(pa.string()) for key in STUDY_KEYS), "/")


def in_order(table: pa.Table) -> pa.Table:
    """Return the rows of `studies` or `trials` in order of study (and trial)."""
    order = [(key, "ascending") for key in (*STUDY_KEYS, "trial_id") if key in table.column_names]
    return table.sort_by(order).combine_chunks()


def _collection_rows(stored: pa.Table, studies: pa.Table, said: Mapping[str, CollectionFacts]) -> pa.Table:
    """A row for each collection that has studies: what was said of it now, else what is stored, else what is known.

    What nobody says now stays as it was, field by field.
    """
    known = {c.collection: c for c in collections()}
    rows = {row["collection"]: row for row in stored.to_pylist()}
    result = []
    for name in sorted(set(studies["collection"].to_pylist())):
        facts = known.get(name) or known.get(name.split("/")[0]) or CollectionFacts(name, licence="not stated")
        row = rows.get(name) or vars(facts) | {"collection": name}
        new = {key: text for key, text in vars(said.get(name, CollectionFacts(name))).items() if text}
        result.append({**row, **new})
    return pa.Table.from_pylist(result, COLLECTIONS)


def _metric_rows(studies: pa.Table) -> pa.Table:
    """A row for each registered metric, and for each other one that a study measures."""
    measured = {name for names in studies["metrics"].to_pylist() for name in names}
    rows = [{"metric": name, **vars(metric_named(name))} for name in sorted(measured | set(metrics()))]
    return pa.Table.from_pylist(rows, METRICS)


def _goal_rows(stored: pa.Table, studies: pa.Table, said: Sequence[Goal]) -> pa.Table:
    """A row for each goal: those that LossLake knows, those said now, and the stored ones of workloads that are there.

    A goal is identified by its workload, metric and target; said again, it takes the new source.
    """
    keys = STUDY_KEYS[:4]
    workloads = {Workload(*row) for row in zip(*(studies[key].to_pylist() for key in keys), strict=True)}
    kept = [
        Goal(Workload(*(row[key] for key in keys)), row["metric"], row["target"], row["source"])
        for row in stored.to_pylist()
    ]
    known = _by_identity(goals())
    for identity, goal in _by_identity(goal for goal in kept if goal.workload in workloads).items():
        known.setdefault(identity, goal)
    known |= _by_identity(goal for goal in said if goal.workload in workloads)
    return pa.Table.from_pylist([vars(goal.workload) | vars(goal) for goal in known.values()], GOALS)


def _by_identity(goals: Iterable[Goal]) -> dict[tuple[Workload, str, float], Goal]:
    return {(goal.workload, goal.metric, goal.target): goal for goal in goals}
