"""Making a release: new files and rows on top of the newest release, published by one INSERT."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlalchemy.exc import IntegrityError

from losslake.lake import iceberg
from losslake.lake.data_files import Written, stored_table, studies_in, write_small_table
from losslake.lake.lake import Lake
from losslake.lake.manifest import DataFile
from losslake.lake.publishing import FileChanges, commit_release, content_digest, following, store
from losslake.lake.store.store import Store
from losslake_ingest.changes import StudyChange, trials_of
from losslake_ingest.small_tables import collection_rows, goal_rows, metric_rows, without_studies
from losslake_schema.database import LedgerEntry, Release
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Study
from losslake_schema.registry import CollectionFacts, Goal
from losslake_schema.tables import PARTITIONED, STUDIES, TABLES

ATTEMPTS = 50


@dataclass(frozen=True)
class Published:
    """The release that was made, None if nothing had to change, and the studies that are new in it.

    files: those of the newest release, be it this one or the one that stays.
    """

    release: Release | None
    studies: frozenset[Study]
    files: Sequence[DataFile]


@dataclass(frozen=True)
class News:
    """What is to be published, and the content digests that the studies had when it was put together."""

    changes: Mapping[Study, StudyChange]
    based_on: Mapping[Study, str] = field(default_factory=dict)
    collections: Mapping[str, CollectionFacts] = field(default_factory=dict)
    goals: Sequence[Goal] = ()


class Overtaken(Exception):
    """Another ingest has changed a study to which this one adds: what it adds to has to be read again."""


Ledger = Callable[[frozenset[Study]], Sequence[LedgerEntry]]


def publish(lake: Lake, news: News, ledger: Ledger, notes: str) -> Published:
    """Publish the changes on top of the newest release, as far as they change anything.

    When another ingest publishes first, the changes are put on top of its release: both land. ledger: the entries for
    the studies that get published; they are stored in the same transaction as the release. Raises Overtaken.
    """
    branch = f"ingest-{uuid.uuid4().hex}"
    for _ in range(ATTEMPTS):
        base = lake.newest_release()
        draft = _Draft(lake, base, news)
        studies = frozenset(draft.changes)
        if not draft.is_new:
            if base is not None:
                # An ingest that was killed after it published may have left Iceberg's `main` behind.
                iceberg.settle(lake, base, branch)
            store(lake, None, ledger(studies))
            return Published(None, studies, draft.files.all)
        release = draft.commit(branch, notes)
        try:
            store(lake, release, ledger(studies))
        except IntegrityError:
            iceberg.drop_branch(lake, sorted(draft.files.added), branch)
            continue
        published = lake.release_ever(release.number) or release
        iceberg.settle(lake, published, branch)
        return Published(published, studies, draft.files.all)
    raise LossLakeError("other ingests kept publishing first: run the same command again")


class _Draft:
    """What the next release would be: the files that go, those that come, and the small tables written anew."""

    def __init__(self, lake: Lake, base: Release | None, news: News) -> None:
        self.lake = lake
        self.base = base
        self.files = FileChanges(lake.files(base) if base is not None else [])
        self.stored = {name: self._stored(name) for name in TABLES if name not in (*PARTITIONED, "trials")}
        tables = dict(self.stored)
        stored_digests = studies_in(tables["studies"], "content_digest")
        changes = news.changes
        for study, change in changes.items():
            if change.adds and stored_digests.get(study) != news.based_on.get(study):
                raise Overtaken(str(study))
        rows = {study: change.study_row() for study, change in changes.items()}
        self.changes = {s: changes[s] for s, row in rows.items() if stored_digests.get(s) != row["content_digest"]}
        replaced = set(self.changes)
        if replaced:
            new = pa.Table.from_pylist([rows[study] for study in self.changes], STUDIES)
            tables["studies"] = without_studies(tables["studies"], replaced, [new])
            trials = list(trials_of(self.changes.values()))
            tables["trials"] = without_studies(self._stored("trials"), replaced, trials)
        if base is not None or replaced:
            tables["collections"] = collection_rows(tables["collections"], tables["studies"], news.collections)
            tables["goals"] = goal_rows(tables["goals"], tables["studies"], news.goals)
        self.is_new = bool(replaced) or any(not table.equals(tables[name]) for name, table in self.stored.items())
        if self.is_new:
            self._swap_data_files(replaced)
            tables["metrics"] = metric_rows(tables["studies"])
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


def discard(store: Store, written: Sequence[Written]) -> None:
    """Delete data files that will not be published."""
    store.delete([file.file.path for file in written])
