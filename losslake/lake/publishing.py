"""A release from its files: the commit of every Iceberg table, the manifest, and the INSERT that publishes it.

`adopt` takes a release over from another lake: the same number, time, notes and content, in files that lie here now.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from losslake.lake import iceberg
from losslake.lake.connecting import SECONDS_TO_WRITE, patiently
from losslake.lake.data_files import Written, studies_in
from losslake.lake.lake import Lake
from losslake.lake.manifest import write_manifest
from losslake.lake.store.store import DataFile
from losslake_schema.database import LedgerEntry, Release, ReleaseSnapshot
from losslake_schema.errors import LossLakeError
from losslake_schema.tables import TABLES, file_schema


@dataclass
class FileChanges:
    """How the files of a release differ from those of the one before it, by table."""

    kept: Sequence[DataFile] = ()
    removed: dict[str, list[DataFile]] = field(default_factory=dict)
    added: dict[str, list[Written]] = field(default_factory=dict)

    @property
    def all(self) -> list[DataFile]:
        """The files of the release."""
        return [*self.kept, *(written.file for added in self.added.values() for written in added)]


@dataclass(frozen=True)
class ReleaseFacts:
    """What a release says of itself, beside its files and counts."""

    number: int
    created_at: datetime
    notes: str
    content_digest: str


def following(base: Release | None, notes: str, digest: str) -> ReleaseFacts:
    """The facts of the release that comes after another one."""
    if base is None:
        return ReleaseFacts(1, datetime.now(UTC), notes, digest)
    # Later than the release before by whatever clock that was made.
    created_at = max(datetime.now(UTC), base.created_at + timedelta(microseconds=1))
    return ReleaseFacts(base.number + 1, created_at, notes, digest)


def commit_release(
    lake: Lake, base: Release | None, branch: str, changes: FileChanges, facts: ReleaseFacts, studies: pa.Table
) -> Release:
    """Commit every changed table to the branch, write the manifest, and return the release, not yet published.

    All of it is on the disk then, and nothing else is waited for.
    """
    snapshots = {s.table: s.snapshot_id for s in base.snapshots} if base is not None else {}
    for name, written in changes.added.items():
        removed = changes.removed.get(name, [])
        if name in snapshots and not (written or removed):
            continue
        snapshots[name] = iceberg.commit(lake, name, snapshots.get(name), branch, removed, written)
    manifest = f"releases/{uuid.uuid4().hex}.parquet"
    manifest_sha256 = write_manifest(lake.store, manifest, changes.all)
    new = [written.file.path for added in changes.added.values() for written in added]
    lake.store.settle([*new, manifest])
    return Release(
        number=facts.number,
        created_at=facts.created_at,
        notes=facts.notes,
        content_digest=facts.content_digest,
        manifest=manifest,
        manifest_sha256=manifest_sha256,
        n_studies=studies.num_rows,
        n_trials=sum(studies["n_trials"].to_pylist()),
        n_evaluations=sum(studies["n_evaluations"].to_pylist()),
        n_measurements=sum(studies["n_measurements"].to_pylist()),
        snapshots=[ReleaseSnapshot(table=name, snapshot_id=snapshot) for name, snapshot in snapshots.items()],
    )


def store(lake: Lake, release: Release | None, ledger: Sequence[LedgerEntry]) -> None:
    """One transaction: the release, if there is one, and the ledger's entries; raises IntegrityError if overtaken."""
    for entry in ledger:
        entry.release = release.number if release is not None and entry.outcome == "ingested" else None
    attempts = 0

    def work() -> None:
        nonlocal attempts
        attempts += 1
        with Session(lake.engine, expire_on_commit=False) as session:
            # A connection that is lost in a commit doesn't tell whether that came about.
            if attempts > 1 and _is_stored(session, release, ledger):
                return
            session.add_all(ledger)
            if release is not None:
                session.add(release)
            session.commit()

    patiently(work, SECONDS_TO_WRITE)


def _is_stored(session: Session, release: Release | None, ledger: Sequence[LedgerEntry]) -> bool:
    """Whether an earlier attempt has come about after all; each manifest and each moment of an offer is unique."""
    if release is not None:
        found = session.scalar(select(Release.manifest).where(Release.number == release.number))
        return found == release.manifest
    if not ledger:
        return True
    first = ledger[0]
    same = (LedgerEntry.offered_at == first.offered_at, LedgerEntry.source == first.source)
    return session.scalar(select(LedgerEntry.id).where(*same).limit(1)) is not None


def land(
    lake: Lake, release: Release, ledger: Sequence[LedgerEntry], branch: str, tables: Sequence[str]
) -> Release | None:
    """Publish a release whose tables are committed to a branch; return None if another release came first."""
    try:
        store(lake, release, ledger)
    except IntegrityError:
        iceberg.drop_branch(lake, tables, branch)
        return None
    published = lake.release_ever(release.number) or release
    iceberg.settle(lake, published, branch)
    return published


def content_digest(tables: Mapping[str, pa.Table]) -> str:
    """sha256 over what a release says, whatever files it lies in."""
    studies = sorted((str(s), digest) for s, digest in studies_in(tables["studies"], "content_digest").items())
    small = {name: tables[name].to_pylist() for name in ("collections", "metrics", "goals")}
    return hashlib.sha256(json.dumps([studies, small], sort_keys=True).encode()).hexdigest()


def adopt(
    lake: Lake, facts: ReleaseFacts, files: Sequence[DataFile], studies: pa.Table, ledger: Sequence[LedgerEntry]
) -> Release:
    """Publish a release of exactly these files, which lie in the lake already, as the newest one.

    studies: the table `studies` of the release, from which its counts come. Raises LossLakeError when another release
    is published meanwhile.
    """
    base = lake.newest_release()
    before = {file.path: file for file in lake.files(base)} if base is not None else {}
    here = {file.path for file in files}
    changes = FileChanges(
        [file for file in files if file.path in before],
        {table: [] for table in TABLES},
        {table: [] for table in TABLES},
    )
    for path, file in before.items():
        if path not in here:
            changes.removed[file.table].append(file)
    for file in files:
        if file.path not in before:
            metadata = pq.read_metadata(lake.store.open(file.path, file.bytes))
            changes.added[file.table].append(Written.of(file, metadata))
    branch = f"adopt-{uuid.uuid4().hex}"
    release = commit_release(lake, base, branch, changes, facts, studies)
    published = land(lake, release, ledger, branch, sorted(changes.added))
    if published is None:
        raise LossLakeError(f"another release was published in {lake} meanwhile: run the same again")
    return published


def why_not_a_data_file(lake: Lake, file: DataFile) -> str | None:
    """Why a file can't be the data file that it is said to be; None if it can."""
    try:
        metadata = pq.read_metadata(lake.store.open(file.path, file.bytes))
        found = metadata.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        return f"is no Parquet file ({str(error).splitlines()[0]})"
    if metadata.num_rows != file.rows:
        return f"has {metadata.num_rows:,} rows, not {file.rows:,}"
    expected = file_schema(file.table)
    if found.names != expected.names:
        return f"has other columns than {file.table}: this may be the layout of a newer LossLake"
    for here, there in zip(found, expected, strict=True):
        if not _plain(here.type).equals(_plain(there.type)):
            return f"has a column {here.name} of type {here.type}, not {_plain(there.type)}"
    return None


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type without what Parquet may leave out: dictionaries, and the names within maps and lists."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, kind.item_type)
    return pa.list_(kind.value_type) if pa.types.is_list(kind) else kind
