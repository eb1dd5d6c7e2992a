"""Verification of a release: re-read every data file and compare it with what was published."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile, Store
from losslake_schema.errors import LakeBroken
from losslake_schema.release import Release
from losslake_schema.tables import PARTITIONED

if TYPE_CHECKING:
    from pyiceberg.table import Table

_LOCAL = "file://"


@dataclass(frozen=True)
class Verification:
    """The counts of what was checked, and the problems, one line each; without problems, the release is intact."""

    release: int
    files: int
    bytes: int
    rows: int
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Checked:
    """Results of checks of other releases, which share most files.

    problems: of data files, None for intact ones. tables: of Iceberg, by name. listed: the data files with rows in a
    manifest of Iceberg, by its path.
    """

    problems: dict[DataFile, str | None] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    listed: dict[str, frozenset[str]] = field(default_factory=dict)


def verify(
    lake: Lake,
    release: Release,
    progress: Callable[[int, int], None] | None = None,
    checked: Checked | None = None,
) -> Verification:
    """Check a release's file list, the size, sha256 and row count of each file, and Iceberg's list of files.

    progress: called with the number of files done and the total. checked: for other releases, extended by this one.
    """
    checked = checked or Checked()
    try:
        files = lake.files(release)
    except LakeBroken as error:
        return Verification(release.number, 0, 0, 0, (str(error),))
    problems: list[str] = []
    new = [file for file in files if file not in checked.problems]
    with ThreadPoolExecutor(2) as pool:
        for done, found in enumerate(pool.map(lambda file: _file_problem(lake.store, file), new), start=1):
            checked.problems[new[done - 1]] = found
            if progress:
                progress(len(files) - len(new) + done, len(files))
    problems += filter(None, map(checked.problems.__getitem__, files))
    problems += _wrong_counts(lake, release, files, problems)
    problems += _iceberg_differs(lake, release, files, checked)
    n_bytes, n_rows = (sum(getattr(file, name) for file in files) for name in ("bytes", "rows"))
    return Verification(release.number, len(files), n_bytes, n_rows, tuple(problems))


def _file_problem(store: Store, file: DataFile) -> str | None:
    try:
        data = store.read(file.path)
        if data.size != file.bytes:
            return f"{file.path}: {data.size:,} bytes, published with {file.bytes:,}: restore the file"
        if hashlib.sha256(data).hexdigest() != file.sha256:
            return f"{file.path}: its bytes were altered (sha256 differs): restore the file"
        rows = pq.read_metadata(pa.BufferReader(data)).num_rows
    except FileNotFoundError:
        return f"{file.path}: the file is missing: restore it"
    except (OSError, pa.ArrowException) as error:
        return f"{file.path}: it can't be read ({str(error).splitlines()[0]}): restore the file"
    if rows != file.rows:
        return f"{file.path}: {rows:,} rows, published with {file.rows:,}"
    if file.study is not None and f"/{file.study.folder()}/" not in f"/{file.path}":
        return f"{file.path}: is not in the partition of its study {file.study}"
    return None


def _wrong_counts(lake: Lake, release: Release, files: list[DataFile], problems: list[str]) -> Iterator[str]:
    """Yield the counts of the release that differ from its files; check evaluations only if no file is damaged."""
    counts = [
        ("rows of measurements", release.n_measurements, _rows_of(files, "measurements")),
        ("trials", release.n_trials, _rows_of(files, "trials")),
        ("studies", release.n_studies, _rows_of(files, "studies")),
    ]
    if not problems:
        evaluations = sum(read_small_table(lake.store, files, "studies")["n_evaluations"].to_pylist())
        counts.append(("evaluations", release.n_evaluations, evaluations))
    for what, published, counted in counts:
        if published != counted:
            yield f"release {release.number} was published with {published:,} {what}, its files have {counted:,}"


def _rows_of(files: list[DataFile], table: str) -> int:
    return sum(file.rows for file in files if file.table == table)


def _iceberg_differs(lake: Lake, release: Release, files: list[DataFile], checked: Checked) -> Iterator[str]:
    """Yield the differences between Iceberg's list of files, which other engines read, and the release's."""
    for table in sorted({*PARTITIONED, *(file.table for file in files)}):
        try:
            by_iceberg = _listed_by_iceberg(lake, release, table, checked)
        except Exception as error:  # noqa: BLE001 - whatever damaged metadata makes PyIceberg raise
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            yield f"{table}: Iceberg's metadata can't be read ({reason}): restore it for other engines"
            continue
        outside = sorted(path for path in by_iceberg if path.startswith("/") or "://" in path)
        if outside:
            problem = f"Iceberg refers to files outside of the lake, such as {outside[0]}: the lake was moved or copied"
            yield f"{problem}, other engines can read it only in its original location"
            return
        by_manifest = {file.path for file in files if file.table == table and file.rows}
        for path in sorted(by_iceberg ^ by_manifest)[:1]:
            where = "Iceberg" if path in by_iceberg else "the file list"
            yield f"{table}: {path} is only in {where} ({len(by_iceberg ^ by_manifest)} such files)"


def _listed_by_iceberg(lake: Lake, release: Release, name: str, checked: Checked) -> set[str]:
    """Return the files with rows in a table's snapshot, relative to the lake if they are in it."""
    number = release.snapshots.get(name)
    if number is None:
        return set()
    from losslake.lake.snapshots import read_entries

    table = checked.tables.get(name)
    if table is None or table.snapshot_by_id(number) is None:
        table = checked.tables[name] = lake.table(name)
    snapshot = table.snapshot_by_id(number)
    if snapshot is None:
        raise ValueError(f"Snapshot not found: {number}")
    manifests = snapshot.manifests(table.io)
    new = [manifest for manifest in manifests if manifest.manifest_path not in checked.listed]
    for manifest, entries in zip(new, read_entries(table.io, new), strict=True):
        files = (entry.data_file for entry in entries if entry.data_file.record_count)
        paths = (_within(lake.store.url, file.file_path) for file in files)
        checked.listed[manifest.manifest_path] = frozenset(paths)
    return set[str]().union(*(checked.listed[manifest.manifest_path] for manifest in manifests))


def _within(store: str, file: str) -> str:
    """Return a file's path relative to the store, also through symbolic links, or its full path if it is elsewhere."""
    if file.startswith(f"{store}/"):
        return file.removeprefix(f"{store}/")
    folder, path = Path(store.removeprefix(_LOCAL)).resolve(), Path(file.removeprefix(_LOCAL))
    if store.startswith(_LOCAL) and file.startswith(_LOCAL) and path.resolve().is_relative_to(folder):
        return str(path.resolve().relative_to(folder))
    return file.removeprefix(_LOCAL)
