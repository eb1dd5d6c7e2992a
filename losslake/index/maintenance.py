"""Maintenance of a lake: deletes what no release needs, in an order that is safe to interrupt at any time.

First expired Iceberg snapshots and orphaned files (`losslake.lake.retention`), then serving files of deleted releases,
on this machine and in the store, and incomplete downloads.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text

from losslake.index.file_list import FILE_LIST_VERSION
from losslake.index.serving import REMOTE_VERSION
from losslake.index.shared import FOLDER, PACKED, exclusive, fetch, is_shared
from losslake.index.view_texts import SERVING_VERSION
from losslake.index.workloads import INDEX_VERSION, WORKLOAD_VERSION, folders_in
from losslake.lake.croissant import CROISSANT_VERSION
from losslake.lake.lake import Lake
from losslake.lake.machine import locked
from losslake.lake.retention import RetentionPolicy, delete_orphans, expire
from losslake_schema.errors import LakeBroken, LossLakeError

_WORKLOADS = "workloads"
_NEVER_DELETED = (_WORKLOADS, ".building")
_MAINTAINING = 5_355_322  # key of the PostgreSQL advisory lock
_OF_A_RELEASE = re.compile(
    r"(release|remote)-(?P<number>\d{6,})-(?P<manifest>[0-9a-f]{12})-"
    rf"((?P<tables>[0-9a-f]+-v{SERVING_VERSION}\.duckdb)|[0-9a-f]+-v{REMOTE_VERSION}\.duckdb|"
    rf"files-v{FILE_LIST_VERSION}\.parquet|[0-9a-f]+-v{CROISSANT_VERSION}\.json|"
    rf"(?P<index>workloads-v{SERVING_VERSION}\.{WORKLOAD_VERSION}\.{INDEX_VERSION}\.arrow))"
)


@dataclass(frozen=True)
class Deleted:
    """The number of deleted files or folders of a kind, and their bytes."""

    count: int
    bytes: int


@dataclass(frozen=True)
class CleanupReport:
    """The result of a cleanup; snapshots: of Iceberg, in all tables; branches: left by interrupted ingests."""

    snapshots: int
    branches: int
    orphans: Deleted
    serving_files: Deleted
    downloads: Deleted


def clean(lake: Lake, policy: RetentionPolicy) -> CleanupReport:
    """Delete what no release needs. Raises LakeBroken, before deleting any file, if that can't be determined."""
    expired = [expire(lake, name, policy) for name in lake.table_versions()]
    orphans = [file.bytes for file in delete_orphans(lake, policy)]
    serving = [*_delete_serving_files(lake, policy), *_delete_shared_serving_files(lake, policy)]
    downloads = _delete_downloads(lake, policy)
    return CleanupReport(
        snapshots=sum(len(each.snapshots) for each in expired),
        branches=len({branch for each in expired for branch in each.branches}),
        orphans=Deleted(len(orphans), sum(orphans)),
        serving_files=Deleted(len(serving), sum(serving)),
        downloads=Deleted(len(downloads), sum(downloads)),
    )


@contextmanager
def maintenance_lock(lake: Lake) -> Iterator[None]:
    """Hold the maintenance lock of a lake. Raises LossLakeError if another process has it; a crash releases it."""
    busy = LossLakeError(f"another process is already maintaining the lake {lake}: wait until it has finished")
    if lake.engine.dialect.name == "postgresql":
        with lake.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            if not connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": _MAINTAINING}):
                raise busy
            try:
                yield
            finally:
                connection.invalidate()  # ends the session, and the lock with it
        return
    lake.folder.mkdir(parents=True, exist_ok=True)
    with locked(lake.folder / ".maintaining", busy):
        yield


def _needed(lake: Lake, policy: RetentionPolicy, names: Iterable[str]) -> dict[str, re.Match[str]]:
    """Return the parts of the names of files that belong to a remaining release and this version of LossLake."""
    remaining = [release for release in lake.releases(include_unlisted=True) if policy.needs(release)]
    releases = {(f"{release.number:06d}", release.manifest_sha256[:12]) for release in remaining}
    matches = {name: _OF_A_RELEASE.fullmatch(name) for name in names}
    return {name: match for name, match in matches.items() if match and match.group("number", "manifest") in releases}


def _delete_serving_files(lake: Lake, policy: RetentionPolicy) -> list[int]:
    """Delete serving files of deleted releases and other versions of LossLake; return the bytes of each.

    Also the databases of earlier releases that no service has had open within the grace time: they are built again from
    what releases share.
    """
    folder = lake.folder / FOLDER
    if not folder.is_dir():
        return []
    with exclusive(folder):
        paths = list(folder.iterdir())
        needed = _needed(lake, policy, (path.name for path in paths))
        indexes = (folder / name for name, match in needed.items() if match["index"])
        workloads = {name for index in indexes for name in _folders_named_by(index)}
        databases = {name: int(match["number"]) for name, match in needed.items() if match["tables"]}
        earlier = {name for name, number in databases.items() if number < max(databases.values())}
        kept = {*_NEVER_DELETED, *needed} - earlier
        unneeded = [path for path in paths if path.name not in kept]
        unneeded += (path for path in (folder / _WORKLOADS).glob("*") if path.name not in workloads)
        return _delete(unneeded, policy)


def _delete_shared_serving_files(lake: Lake, policy: RetentionPolicy) -> list[int]:
    """Delete unneeded serving files in the store; return the bytes of each."""
    if not is_shared(lake):
        return []
    listed = {file.path.removeprefix(f"{FOLDER}/"): file for file in lake.store.list_files(FOLDER)}
    needed = _needed(lake, policy, (path.removesuffix(PACKED) for path in listed if path.endswith(PACKED)))
    remaining = {f"{name}{PACKED}" for name in needed}
    for index in (lake.folder / FOLDER / name for name, match in needed.items() if match["index"]):
        if index.is_file() or fetch(lake, index):
            remaining |= {f"{_WORKLOADS}/{folder}{PACKED}" for folder in _folders_named_by(index)}
    unneeded = [file for path, file in listed.items() if path not in remaining and file.modified < policy.before]
    if not policy.dry_run:
        lake.store.delete([file.path for file in unneeded])
    return [file.bytes for file in unneeded]


def _delete_downloads(lake: Lake, policy: RetentionPolicy) -> list[int]:
    """Delete incomplete downloads, unless one is in progress; return the bytes of each."""
    folder = lake.folder / "downloading"
    if not folder.is_dir():
        return []
    try:
        with locked(folder, BlockingIOError()):
            return _delete(folder.iterdir(), policy)
    except BlockingIOError:
        return []


def _folders_named_by(index: Path) -> set[str]:
    """Return the workload folders that an index names; none if it is damaged, since it is rebuilt with its folders."""
    try:
        return folders_in(index)
    except LakeBroken:
        return set()


def _delete(paths: Iterable[Path], policy: RetentionPolicy) -> list[int]:
    """Delete the files and folders that are older than the grace time; return the bytes of each."""
    sizes = []
    for path in [path for path in paths if _is_old(path, policy)]:
        inside = path.rglob("*") if path.is_dir() else [path]
        sizes.append(sum(file.lstat().st_size for file in inside if file.is_file()))
        if policy.dry_run:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return sizes


def _is_old(path: Path, policy: RetentionPolicy) -> bool:
    try:
        return path.stat().st_mtime < policy.before.timestamp()
    except FileNotFoundError:
        return False
