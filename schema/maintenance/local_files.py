"""What this machine keeps of a lake beside its data: serving files, and downloads that never ended."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from schema.building import only_one_at_a_time
from schema.database import Release
from schema.errors import LakeBroken
from schema.file_list import FILE_LIST_VERSION
from schema.lake import Lake
from schema.maintenance.terms import Terms, needed_releases
from schema.remote import REMOTE_VERSION
from schema.serving import SERVING_VERSION
from schema.workload_files import WORKLOAD_VERSION
from schema.workload_index import INDEX_VERSION, folders_in

_DOWNLOADS = "downloading"
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


def delete_serving_files(lake: Lake, terms: Terms) -> list[LocalFile]:
    """Delete the serving files of releases that are gone, and those of other versions of LossLake."""
    folder = lake.folder / "serving"
    if not folder.is_dir():
        return []
    with only_one_at_a_time(folder):
        return _delete(_unneeded(folder, needed_releases(lake, terms), terms), terms)


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


def _unneeded(folder: Path, releases: Sequence[Release], terms: Terms) -> Iterator[Path]:
    needed = {(f"{release.number:06d}", release.manifest_sha256[:12]) for release in releases}
    workloads: set[str] = set()
    for path in folder.iterdir():
        match = _OF_A_RELEASE.fullmatch(path.name)
        if match is not None and (match["number"], match["manifest"]) in needed:
            workloads |= _workloads_in(path) if match["index"] else set()
        elif path.is_file() and not path.name.startswith(".") and _is_old(path, terms):
            yield path
    for path in _entries(folder / "workloads"):
        if path.name not in workloads and _is_old(path, terms):
            yield path


def _workloads_in(index: Path) -> set[str]:
    try:
        return folders_in(index)
    except LakeBroken:
        return set()  # it is made again, with its folders, when the release is opened


def _entries(folder: Path) -> Iterable[Path]:
    return folder.iterdir() if folder.is_dir() else ()


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
