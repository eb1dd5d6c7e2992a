"""Making a release: new files and rows on top of the newest release, published by one INSERT."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from ingest import iceberg
from ingest.changes import StudyChange
from ingest.small_tables import collection_rows, goal_rows, metric_rows, stored_table, studies_in, without_studies
from ingest.write import Written, write_small_table
from schema.database import LedgerEntry, Release, ReleaseSnapshot
from schema.errors import LossLakeError
from schema.lake import Lake
from schema.manifest import DataFile, write_manifest
from schema.names import Study
from schema.registry import CollectionFacts, Goal
from schema.tables import PARTITIONED, TABLES

ATTEMPTS = 50


@dataclass(frozen=True)
class Published:
    """The release that was made, None if nothing had to change, and the studies that are new in it."""

    release: Release | None
    studies: frozenset[Study]


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
            _store(lake, None, ledger(studies))
            return Published(None, studies)
        release = draft.commit(branch, notes)
        os.sync()
        try:
            _store(lake, release, ledger(studies))
        except IntegrityError:
            iceberg.drop_branch(lake, sorted(draft.added), branch)
            continue
        published = lake.release(release.number)
        iceberg.settle(lake, published, branch)
        return Published(published, studies)
    raise LossLakeError("other ingests kept publishing first: run the same command again")


class _Draft:
    """What the next release would be: the files that go, those that come, and the small tables written anew."""

    def __init__(self, lake: Lake, base: Release | None, news: News) -> None:
        self.lake = lake
        self.base = base
        self.kept = lake.files(base) if base is not None else []
        self.removed: dict[str, list[DataFile]] = {}
        self.added: dict[str, list[Written]] = {}
        tables = {name: self._stored(name) for name in TABLES if name not in PARTITIONED}
        stored_digests = studies_in(tables["studies"], "content_digest")
        changes = news.changes
        for study, change in changes.items():
            if change.adds and stored_digests.get(study) != news.based_on.get(study):
                raise Overtaken(str(study))
        rows = {study: (change.trials(), change) for study, change in changes.items()}
        studies = {study: change.study_row(trials) for study, (trials, change) in rows.items()}
        new = {study: row["content_digest"][0].as_py() for study, row in studies.items()}
        self.changes = {s: changes[s] for s, digest in new.items() if stored_digests.get(s) != digest}
        replaced = set(self.changes)
        if replaced:
            tables["studies"] = without_studies(tables["studies"], replaced, [studies[s] for s in self.changes])
            tables["trials"] = without_studies(tables["trials"], replaced, [rows[s][0] for s in self.changes])
        said = {name: tables[name] for name in ("collections", "goals")}
        if base is not None or replaced:
            tables["collections"] = collection_rows(tables["collections"], tables["studies"], news.collections)
            tables["goals"] = goal_rows(tables["goals"], tables["studies"], news.goals)
        self.is_new = bool(replaced) or any(not said[name].equals(tables[name]) for name in said)
        if self.is_new:
            self._swap_data_files(replaced)
            tables["metrics"] = metric_rows(tables["studies"])
            self.tables = tables

    def _stored(self, name: str) -> pa.Table:
        return stored_table(self.lake.folder, self.kept, name)

    def _swap_data_files(self, replaced: set[Study]) -> None:
        gone = [file for file in self.kept if file.study in replaced]
        self.kept = [file for file in self.kept if file.study not in replaced]
        for name in PARTITIONED:
            self.removed[name] = [file for file in gone if file.table == name]
            self.added[name] = [w for c in self.changes.values() for w in c.written if w.file.table == name]

    def commit(self, branch: str, notes: str) -> Release:
        """Write the small tables, commit every table to the branch and return the release, not yet published."""
        for name, table in self.tables.items():
            self._write_if_changed(name, table)
        snapshots = {s.table: s.snapshot_id for s in self.base.snapshots} if self.base is not None else {}
        for name, written in self.added.items():
            removed = self.removed.get(name, [])
            if name in snapshots and not (written or removed):
                continue
            snapshots[name] = iceberg.commit(self.lake, name, snapshots.get(name), branch, removed, written)
        files = [*self.kept, *(w.file for added in self.added.values() for w in added)]
        manifest = f"releases/{uuid.uuid4().hex}.parquet"
        manifest_sha256 = write_manifest(self.lake.folder / manifest, files)
        studies = self.tables["studies"]
        return Release(
            number=self.base.number + 1 if self.base is not None else 1,
            created_at=datetime.now(UTC),
            notes=notes,
            content_digest=self._content_digest(),
            manifest=manifest,
            manifest_sha256=manifest_sha256,
            n_studies=studies.num_rows,
            n_trials=sum(studies["n_trials"].to_pylist()),
            n_evaluations=sum(studies["n_evaluations"].to_pylist()),
            n_measurements=sum(studies["n_measurements"].to_pylist()),
            snapshots=[ReleaseSnapshot(table=name, snapshot_id=snapshot) for name, snapshot in snapshots.items()],
        )

    def _write_if_changed(self, name: str, table: pa.Table) -> None:
        old = [file for file in self.kept if file.table == name]
        if old and table.equals(self._stored(name)):
            return
        self.kept = [file for file in self.kept if file.table != name]
        self.removed[name] = old
        self.added[name] = [write_small_table(self.lake.folder, name, table)]

    def _content_digest(self) -> str:
        """sha256 over what the release says, whatever files it lies in."""
        studies = sorted((str(s), digest) for s, digest in studies_in(self.tables["studies"], "content_digest").items())
        small = {name: self.tables[name].to_pylist() for name in ("collections", "metrics", "goals")}
        return hashlib.sha256(json.dumps([studies, small], sort_keys=True).encode()).hexdigest()


def _store(lake: Lake, release: Release | None, ledger: Sequence[LedgerEntry]) -> None:
    """One transaction: the release, if there is one, and the ledger's entries."""
    with Session(lake.engine, expire_on_commit=False) as session:
        for entry in ledger:
            entry.release = release.number if release is not None and entry.outcome == "ingested" else None
        session.add_all(ledger)
        if release is not None:
            session.add(release)
        session.commit()


def discard(lake: Path, written: Sequence[Written]) -> None:
    """Delete data files that will not be published."""
    for file in written:
        (lake / file.file.path).unlink(missing_ok=True)
