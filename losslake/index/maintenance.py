"""All that a lake's maintenance deletes, in an order in which it may be killed at any time.

Iceberg's snapshots and the files that nothing needs come first (`losslake.lake.retention`), then serving files of
releases that are gone, on this machine and in the store, and downloads that never ended.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text

from losslake.index.file_list import FILE_LIST_VERSION
from losslake.index.serving import REMOTE_VERSION, SERVING_VERSION
from losslake.index.shared import FOLDER, PACKED, fetched, is_shared, only_one_at_a_time
from losslake.index.workloads import INDEX_VERSION, WORKLOAD_VERSION, folders_in
from losslake.lake import iceberg
from losslake.lake.lake import Lake
from losslake.lake.machine import locked
from losslake.lake.retention import Terms, delete_orphans, expire
from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_schema.tables import TABLES

_DOWNLOADS = "downloading"
_WORKLOADS = "workloads"
_KEPT = (_WORKLOADS, ".building")
_MAINTAINING = 5_355_322  # the number of the lock that PostgreSQL keeps meanwhile
_OF_A_RELEASE = re.compile(
    r"(release|remote)-(?P<number>\d{6,})-(?P<manifest>[0-9a-f]{12})-"
    rf"([0-9a-f]+-v{SERVING_VERSION}\.duckdb|[0-9a-f]+-v{REMOTE_VERSION}\.duckdb|files-v{FILE_LIST_VERSION}\.parquet|"
    rf"(?P<index>workloads-v{SERVING_VERSION}\.{WORKLOAD_VERSION}\.{INDEX_VERSION}\.arrow))"
)


@dataclass(frozen=True)
class Gone:
    """So many of a kind, and their bytes."""

    count: int
    bytes: int


@dataclass(frozen=True)
class Cleaned:
    """What went. snapshots: of Iceberg, in all tables; branches: left over by killed ingests."""

    snapshots: int
    branches: int
    orphans: Gone
    serving_files: Gone
    downloads: Gone


def clean(lake: Lake, terms: Terms) -> Cleaned:
    """Delete whatever nothing needs. Raises LakeBroken, before any file goes, where that can't be told."""
    newest = lake.newest_release()
    if newest is not None and not terms.only_look:
        # An ingest that was killed after it published may have left Iceberg's `main` behind.
        iceberg.settle(lake, newest, "")
    expired = [expire(lake, name, terms) for name in TABLES]
    orphans = [file.bytes for file in delete_orphans(lake, terms)]
    serving = [*_delete_serving_files(lake, terms), *_delete_shared_serving_files(lake, terms)]
    downloads = _delete_downloads(lake, terms)
    return Cleaned(
        snapshots=sum(len(each.snapshots) for each in expired),
        branches=len({branch for each in expired for branch in each.branches}),
        orphans=Gone(len(orphans), sum(orphans)),
        serving_files=Gone(len(serving), sum(serving)),
        downloads=Gone(len(downloads), sum(downloads)),
    )


@contextmanager
def alone(lake: Lake) -> Iterator[None]:
    """Raises LossLakeError while another process is in here for this lake; a killed one holds nothing up."""
    busy = LossLakeError(f"the lake {lake} is being maintained already: let that finish")
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
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(lake.folder / ".maintaining", wait=False))
        except BlockingIOError:
            raise busy from None
        yield


class _Needed:
    """Tells which serving files the releases that stay are answered from, by their names."""

    def __init__(self, lake: Lake, terms: Terms) -> None:
        staying = [release for release in lake.releases(unlisted=True) if terms.needs(release)]
        self._releases = {(f"{release.number:06d}", release.manifest_sha256[:12]) for release in staying}

    def match(self, name: str) -> re.Match[str] | None:
        """The name's parts, if the file is of one of the releases, and of this version of LossLake."""
        match = _OF_A_RELEASE.fullmatch(name)
        is_needed = match is not None and (match["number"], match["manifest"]) in self._releases
        return match if is_needed else None


def _delete_serving_files(lake: Lake, terms: Terms) -> list[int]:
    """Delete the serving files of releases that are gone, and those of other versions; returns the bytes of each."""
    folder = lake.folder / FOLDER
    if not folder.is_dir():
        return []
    with only_one_at_a_time(folder):
        return _delete(_unneeded(folder, _Needed(lake, terms)), terms)


def _unneeded(folder: Path, needed: _Needed) -> Iterator[Path]:
    workloads: set[str] = set()
    for path in _entries(folder):
        match = needed.match(path.name)
        if match is not None:
            workloads |= _folders_named_by(path) if match["index"] else set()
        elif path.name not in _KEPT:
            yield path
    yield from (path for path in _entries(folder / _WORKLOADS) if path.name not in workloads)


def _delete_shared_serving_files(lake: Lake, terms: Terms) -> list[int]:
    """The same in the store."""
    if not is_shared(lake):
        return []
    listed = {file.path: file for file in lake.store.listed(FOLDER)}
    needed, staying = _Needed(lake, terms), set()
    for path in listed:
        name = path.removeprefix(f"{FOLDER}/").removesuffix(PACKED)
        match = needed.match(name) if path.endswith(PACKED) else None
        if match is not None:
            staying.add(path)
            index = lake.folder / FOLDER / name
            if match["index"] and (index.is_file() or fetched(lake, index)):
                staying |= {f"{FOLDER}/{_WORKLOADS}/{folder}{PACKED}" for folder in _folders_named_by(index)}
    going = [file for path, file in listed.items() if path not in staying and file.modified < terms.before]
    if not terms.only_look:
        lake.store.delete([file.path for file in going])
    return [file.bytes for file in going]


def _delete_downloads(lake: Lake, terms: Terms) -> list[int]:
    """Delete what downloads left that never ended, unless one is under way."""
    folder = lake.folder / _DOWNLOADS
    if not folder.is_dir():
        return []
    try:
        with locked(folder, wait=False):
            return _delete(folder.iterdir(), terms)
    except BlockingIOError:
        return []


def _folders_named_by(index: Path) -> set[str]:
    """The folders of the workloads that an index names; none if it is harmed: it is made again, with its folders."""
    try:
        return folders_in(index)
    except LakeBroken:
        return set()


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _delete(paths: Iterable[Path], terms: Terms) -> list[int]:
    """Delete those of these files and folders that are older than the grace time; returns the bytes of each."""
    sizes = []
    for path in [path for path in paths if _is_old(path, terms)]:
        inside = path.rglob("*") if path.is_dir() else [path]
        sizes.append(sum(file.lstat().st_size for file in inside if file.is_file()))
        if terms.only_look:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return sizes


def _is_old(path: Path, terms: Terms) -> bool:
    try:
        return path.stat().st_mtime < terms.before.timestamp()
    except FileNotFoundError:
        return False
