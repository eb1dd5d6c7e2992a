"""Publishing a release: its Iceberg tables and manifest are written, then one SQL transaction makes them visible.

`adopt` publishes a release of another lake with the same number, time, notes and content, from files in this lake.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import func, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from losslake.lake import iceberg
from losslake.lake.connecting import SECONDS_TO_WRITE, with_retries
from losslake.lake.data_files import WrittenFile, column_by_study
from losslake.lake.lake import Lake
from losslake.lake.manifest import known_ranges, manifest_table, write_manifest
from losslake.lake.notices import ERASED
from losslake.lake.store.store import DataFile
from losslake_schema.database import LedgerEntry, ReleaseRow
from losslake_schema.errors import LossLakeError
from losslake_schema.release import Release
from losslake_schema.tables import ALL_TABLES, OPTIONAL_TABLES, TABLES, file_schema

_ENTRIES_PER_BATCH = 5000
_LEDGER_COLUMNS = [column.name for column in LedgerEntry.__table__.columns if column.name != "id"]
Also = Callable[[Session, Release | None], None]
"""Further changes in the transaction of a publication; release: None if nothing new is published."""
Build = Callable[[Lake, Release, Release], None]
"""Builds what services need of a release, before it is published, from the lake, the release before and this one."""


@dataclass
class FileChanges:
    """The changes of files from one release to the next, by table."""

    kept: Sequence[DataFile] = ()
    removed: dict[str, list[DataFile]] = field(default_factory=dict)
    added: dict[str, list[WrittenFile]] = field(default_factory=dict)

    @property
    def all(self) -> list[DataFile]:
        """The files of the release."""
        return [*self.kept, *(written.file for added in self.added.values() for written in added)]


@dataclass(frozen=True)
class ReleaseMetadata:
    """The metadata of a release, except its files and counts."""

    number: int
    created_at: datetime
    notes: str
    content_digest: str


def next_release(base: Release | None, notes: str, digest: str) -> ReleaseMetadata:
    """Return the metadata of the release after `base`."""
    if base is None:
        return ReleaseMetadata(1, datetime.now(UTC), notes, digest)
    return ReleaseMetadata(base.number + 1, _time_after(base), notes, digest)


def _time_after(base: Release) -> datetime:
    """Return the time, later than that of the previous release, whatever clock that one was created by."""
    return max(datetime.now(UTC), base.created_at + timedelta(microseconds=1))


@dataclass(frozen=True)
class StagedRelease:
    """A release whose files are durable, and the new versions of its tables; `publish_release` makes them visible."""

    release: Release
    tables: Sequence[iceberg.StagedTable]


def stage_release(
    lake: Lake, base: Release | None, changes: FileChanges, metadata: ReleaseMetadata, studies: pa.Table
) -> StagedRelease:
    """Write a new version of every Iceberg table and the manifest of a release on top of `base`.

    studies: the table `studies` of the release, from which its counts are computed.
    """
    snapshots = dict(base.snapshots) if base is not None else {}
    names = {*TABLES, *snapshots, *(name for name, added in changes.added.items() if added)}
    new = names - snapshots.keys()
    tag, tables = f"release-{metadata.number}", list[iceberg.StagedTable]()
    for name, table in iceberg.current_tables(lake, names, new).items():
        removed, added = changes.removed.get(name, []), changes.added.get(name, [])
        staged, snapshots[name] = iceberg.stage_changes(lake, table, snapshots.get(name), tag, removed, added)
        tables.append(staged)
    manifest = f"releases/{uuid.uuid4().hex}.parquet"
    added_files = {written.file.path: written.ranges for added in changes.added.values() for written in added}
    former = manifest_table(lake.store, base.manifest, base.manifest_sha256, with_ranges=True) if base else None
    manifest_sha256 = write_manifest(lake.store, manifest, changes.all, known_ranges(former, added_files))
    iceberg.sync(lake, tables, [*added_files, manifest])
    release = Release(
        **vars(metadata),
        manifest=manifest,
        manifest_sha256=manifest_sha256,
        n_studies=studies.num_rows,
        **{name: sum(studies[name].to_pylist()) for name in ("n_trials", "n_evaluations", "n_measurements")},
        snapshots=snapshots,
    )
    return StagedRelease(release, tables)


def build_for_services(lake: Lake, base: Release, staged: StagedRelease, build: Build) -> StagedRelease:
    """Let services open a release at once when it is published; return it with the time after that."""
    build(lake, base, staged.release)
    return replace(staged, release=replace(staged.release, created_at=_time_after(base)))


class ErasedMeanwhile(Exception):
    """Trials were erased since an ingest began: its files may be deleted."""


class PublicationRefused(LossLakeError):
    """A further change in the transaction can't be made, so that nothing is published."""


def last_erasure(lake: Lake) -> int:
    """Return a number that differs after an erasure."""
    return lake.read(_last_erasure)


def _last_erasure(session: Session) -> int:
    return session.scalar(select(func.max(LedgerEntry.id)).where(LedgerEntry.outcome == ERASED)) or 0


def save_ledger(lake: Lake, ledger: Iterable[LedgerEntry], also: Also | None = None) -> None:
    """Insert ledger entries of an ingest that publishes nothing; see `publish_release`."""
    _save(lake, None, ledger, None, also)


def publish_release(
    lake: Lake,
    staged: StagedRelease,
    ledger: Iterable[LedgerEntry],
    erasure: int | None = None,
    also: Also | None = None,
) -> Release | None:
    """Publish a release, its tables and ledger entries in one transaction; return None if another process was first.

    erasure: `last_erasure` before any file of the release was written; raises ErasedMeanwhile if it is another now.
    ledger: iterated again if the transaction is tried again; no more than _ENTRIES_PER_BATCH of it are kept in memory.
    also: called last in the transaction, once the ledger has its entries; may raise PublicationRefused.
    """
    try:
        _save(lake, staged, ledger, erasure, also)
    except (IntegrityError, iceberg.TablesChanged):
        return None
    iceberg.delete_outdated(lake, staged.tables)
    return staged.release


def _save(
    lake: Lake,
    staged: StagedRelease | None,
    ledger: Iterable[LedgerEntry],
    erasure: int | None,
    also: Also | None,
) -> None:
    attempts = 0

    def work() -> None:
        nonlocal attempts
        attempts += 1
        release = staged.release if staged is not None else None
        with Session(lake.engine) as session:
            # If the connection was lost during a commit, the commit may have succeeded.
            if attempts > 1 and _is_stored(session, release, ledger):
                return
            if staged is not None:
                session.add(ReleaseRow.of(staged.release))
                # A number that is taken is noticed before a hundred thousand entries are inserted.
                session.flush()
                # With the row inserted, an erasure has to wait.
                if erasure is not None and _last_erasure(session) != erasure:
                    raise ErasedMeanwhile
                iceberg.publish(session, staged.tables)
            rows = (_ledger_row(entry, release) for entry in ledger)
            while batch := list(islice(rows, _ENTRIES_PER_BATCH)):
                session.execute(insert(LedgerEntry), batch)
            if also is not None:
                also(session, release)
            session.commit()

    with_retries(work, SECONDS_TO_WRITE)


def _ledger_row(entry: LedgerEntry, release: Release | None) -> dict[str, object]:
    """Return the columns of a new entry, except its id."""
    row = {name: getattr(entry, name) for name in _LEDGER_COLUMNS}
    is_of_release = entry.outcome in ("ingested", "moved", "withdrawn", "erased")
    row["release"] = release.number if release is not None and is_of_release else None
    return row


def _is_stored(session: Session, release: Release | None, ledger: Iterable[LedgerEntry]) -> bool:
    """Return True if an earlier attempt was committed; manifests and times of ledger entries are unique."""
    if release is not None:
        manifest = session.scalar(select(ReleaseRow.manifest).where(ReleaseRow.number == release.number))
        return manifest == release.manifest
    first = next(iter(ledger), None)
    if first is None:
        return True
    is_first = (LedgerEntry.offered_at == first.offered_at, LedgerEntry.source == first.source)
    return session.scalar(select(LedgerEntry.id).where(*is_first).limit(1)) is not None


def content_digest(tables: Mapping[str, pa.Table]) -> str:
    """Return a sha256 over the content of a release, independent of how it is split into files.

    A comparator that is strict isn't in it: goals had none in lakes of layout 2, whose digests stay. Neither are
    contributors where there are none.
    """
    studies = sorted((str(s), digest) for s, digest in column_by_study(tables["studies"], "content_digest").items())
    small = {name: tables[name].to_pylist() for name in ("collections", "metrics", "goals")}
    small["goals"] = [
        {name: value for name, value in goal.items() if (name, value) != ("comparator", "strict")}
        for goal in small["goals"]
    ]
    small |= {name: tables[name].to_pylist() for name in OPTIONAL_TABLES if name in tables and tables[name].num_rows}
    return hashlib.sha256(json.dumps([studies, small], sort_keys=True).encode()).hexdigest()


def adopt(
    lake: Lake, metadata: ReleaseMetadata, files: Sequence[DataFile], studies: pa.Table, ledger: Iterable[LedgerEntry]
) -> Release:
    """Publish these files, which are in the lake already, as its newest release.

    studies: see `stage_release`. Raises LossLakeError if another process changes the lake in the meantime.
    """
    base = lake.newest_release()
    old_files = {file.path: file for file in lake.files(base)} if base is not None else {}
    new_paths = {file.path for file in files}
    kept = [file for file in files if file.path in old_files]
    changes = FileChanges(kept, {table: [] for table in ALL_TABLES}, {table: [] for table in ALL_TABLES})
    for path, file in old_files.items():
        if path not in new_paths:
            changes.removed[file.table].append(file)
    for file in files:
        if file.path not in old_files:
            footer = pq.read_metadata(lake.store.open(file.path, file.bytes))
            changes.added[file.table].append(WrittenFile.of(file, footer))
    published = publish_release(lake, stage_release(lake, base, changes, metadata, studies), ledger)
    if published is None:
        raise LossLakeError(f"another process changed {lake} in the meantime: run the same command again")
    return published


def data_file_problem(lake: Lake, file: DataFile) -> str | None:
    """Return why a stored file does not match its description as a data file, or None if it does."""
    try:
        metadata = pq.read_metadata(lake.store.open(file.path, file.bytes))
        return schema_problem(metadata, file.rows, file_schema(file.table), file.table)
    except (pa.ArrowException, OSError) as error:
        return f"is not a Parquet file ({str(error).splitlines()[0]})"


def schema_problem(metadata: pq.FileMetaData, rows: int, expected: pa.Schema, table: str) -> str | None:
    """Return why a Parquet file does not have these rows and the columns of a table, or None if it does."""
    schema = metadata.schema.to_arrow_schema()
    if metadata.num_rows != rows:
        return f"has {metadata.num_rows:,} rows, not {rows:,}"
    if schema.names != expected.names:
        return f"has other columns than {table}: it may be from a newer LossLake"
    for actual, wanted in zip(schema, expected, strict=True):
        if not _plain(actual.type).equals(_plain(wanted.type)):
            return f"has a column {actual.name} of type {actual.type}, not {_plain(wanted.type)}"
    return None


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return a type without dictionaries and the names within maps and lists, which Parquet may omit."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, kind.item_type)
    return pa.list_(kind.value_type) if pa.types.is_list(kind) else kind
