"""All that a lake's maintenance deletes, in an order in which it may be killed at any time.

What this machine keeps of a lake beside its data: serving files, and downloads that never ended.
Serving files that lie in the store for all machines.
Only one process maintains a lake at a time.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text

from losslake.index.file_list import FILE_LIST_VERSION
from losslake.index.remote import REMOTE_VERSION
from losslake.index.serving import SERVING_VERSION
from losslake.index.shared import FOLDER, fetched, is_shared, only_one_at_a_time
from losslake.index.workload_files import WORKLOAD_VERSION
from losslake.index.workload_index import INDEX_VERSION, folders_in
from losslake.lake import iceberg
from losslake.lake.lake import Lake
from losslake.lake.maintenance.orphans import delete_orphans
from losslake.lake.maintenance.snapshots import expire
from losslake.lake.maintenance.unlisting import Terms, needed_releases
from losslake.lake.store.store import StoredFile
from losslake_schema.database import Release
from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_schema.tables import TABLES

_DOWNLOADS = "downloading"
_KEPT = ("workloads", ".building")
_OF_A_RELEASE = re.compile(
    r"(?P<kind>release|remote)-(?P<number>\d{6,})-(?P<manifest>[0-9a-f]{12})-"
    rf"([0-9a-f]+-v{SERVING_VERSION}\.duckdb|[0-9a-f]+-v{REMOTE_VERSION}\.duckdb|files-v{FILE_LIST_VERSION}\.parquet|"
    rf"(?P<index>workloads-v{SERVING_VERSION}\.{WORKLOAD_VERSION}\.{INDEX_VERSION}\.arrow))"
)


@dataclass(frozen=True)
class LocalFile:
    """A file, or a folder with all that is in it."""

    path: Path
    bytes: int


class Serving:
    """Tells which serving files releases are answered from, by their names."""

    def __init__(self, releases: Iterable[Release]) -> None:
        self._releases = {(f"{release.number:06d}", release.manifest_sha256[:12]) for release in releases}

    def needs(self, name: str) -> bool:
        """Whether a file is of one of the releases, and of this version of LossLake."""
        match = _OF_A_RELEASE.fullmatch(name)
        return match is not None and (match["number"], match["manifest"]) in self._releases

    def is_index(self, name: str) -> bool:
        """Whether a file names the folders of a release's workloads."""
        match = _OF_A_RELEASE.fullmatch(name)
        return match is not None and match["index"] is not None


def folders_named_by(index: Path) -> set[str]:
    """The folders of the workloads that an index names; none if it is harmed: it is made again, with its folders."""
    try:
        return folders_in(index)
    except LakeBroken:
        return set()


def delete_serving_files(lake: Lake, terms: Terms) -> list[LocalFile]:
    """Delete the serving files of releases that are gone, and those of other versions of LossLake."""
    folder = lake.folder / "serving"
    if not folder.is_dir():
        return []
    with only_one_at_a_time(folder):
        return _delete(_unneeded(folder, Serving(needed_releases(lake, terms)), terms), terms)


def delete_downloads(lake: Lake, terms: Terms) -> list[LocalFile]:
    """Delete what downloads left that never ended, unless one is under way."""
    folder = lake.folder / _DOWNLOADS
    if not folder.is_dir():
        return []
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _delete([path for path in folder.iterdir() if _is_old(path, terms)], terms)
    except BlockingIOError:
        return []
    finally:
        os.close(opened)


def _unneeded(folder: Path, serving: Serving, terms: Terms) -> Iterator[Path]:
    workloads: set[str] = set()
    for path in _entries(folder):
        if serving.needs(path.name):
            workloads |= folders_named_by(path) if serving.is_index(path.name) else set()
        elif path.name not in _KEPT and _is_old(path, terms):
            yield path
    for path in _entries(folder / "workloads"):
        if path.name not in workloads and _is_old(path, terms):
            yield path


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _is_old(path: Path, terms: Terms) -> bool:
    try:
        return path.stat().st_mtime < terms.before.timestamp()
    except FileNotFoundError:
        return False


def _delete(paths: Iterable[Path], terms: Terms) -> list[LocalFile]:
    found = [LocalFile(path, _bytes(path)) for path in paths]
    if not terms.only_look:
        for file in found:
            if file.path.is_dir() and not file.path.is_symlink():
                shutil.rmtree(file.path, ignore_errors=True)
            else:
                file.path.unlink(missing_ok=True)
    return found


def _bytes(path: Path) -> int:
    inside = path.rglob("*") if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in inside if file.is_file())


_PACKED = ".tar.zst"
_WORKLOADS = f"{FOLDER}/workloads/"


def delete_shared_serving_files(lake: Lake, terms: Terms) -> list[StoredFile]:
    """Delete the serving files in the store of releases that are gone, and those of other versions of LossLake."""
    if not is_shared(lake):
        return []
    listed = list(lake.store.listed(FOLDER))
    serving = Serving(needed_releases(lake, terms))
    needed = _needed(lake, serving, (file.path for file in listed))
    going = [file for file in listed if file.path not in needed and file.modified < terms.before]
    if not terms.only_look:
        lake.store.delete([file.path for file in going])
    return going


def _needed(lake: Lake, serving: Serving, paths: Iterable[str]) -> set[str]:
    """Those of these files that a release is answered from, and the workloads that it names."""
    needed: set[str] = set()
    for path in paths:
        name = path.removeprefix(f"{FOLDER}/").removesuffix(_PACKED)
        if not path.endswith(_PACKED) or not serving.needs(name):
            continue
        needed.add(path)
        if serving.is_index(name):
            index = lake.folder / FOLDER / name
            if index.is_file() or fetched(lake, index):
                needed |= {f"{_WORKLOADS}{folder}{_PACKED}" for folder in folders_named_by(index)}
    return needed


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
    orphans = delete_orphans(lake, terms)
    serving = [file.bytes for file in delete_serving_files(lake, terms)]
    serving += [file.bytes for file in delete_shared_serving_files(lake, terms)]
    downloads = delete_downloads(lake, terms)
    return Cleaned(
        snapshots=sum(len(each.snapshots) for each in expired),
        branches=len({branch for each in expired for branch in each.branches}),
        orphans=Gone(len(orphans), sum(file.bytes for file in orphans)),
        serving_files=Gone(len(serving), sum(serving)),
        downloads=Gone(len(downloads), sum(file.bytes for file in downloads)),
    )


_MAINTAINING = 5_355_322  # the number of the lock that PostgreSQL keeps meanwhile


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
    opened = os.open(lake.folder / ".maintaining", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise busy from None
    finally:
        os.close(opened)
