"""DuckDB databases of a release: the serving file for SQL on this machine, and small files for clients over HTTP.

Schema `base` holds the small tables, sorted. Users see views and macros over these and over the release's Parquet
files; each is a file in `losslake_schema/views`, with a comment on what a row is. Those in `views/serving` are of the
serving file alone, which answers `result_at` from ranges of targets. A client's database has the same views, apart from
those in `losslake_schema/views/remote`: trials, records and measurements are read from the service.

To create the views and macros takes half of the time of a small serving file. So a process keeps them in an empty one,
from the first that it builds, and begins with a copy of that. Those that name data files are of one release only.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from losslake.index.shared import ensure, exclusive, path_of
from losslake.index.view_texts import MACROS, SERVING_VERSION, VIEWS, overridden, sql
from losslake.index.workloads import target_ranges_of
from losslake.lake.data_files import check_files_exist
from losslake.lake.lake import Lake
from losslake.lake.machine import atomic_write
from losslake.lake.public_paths import public_paths
from losslake.lake.store.store import DataFile
from losslake_schema.release import Release
from losslake_schema.tables import OPTIONAL_TABLES, TABLES

REMOTE_VERSION = 13
MOST_REMOTE_FILES = 16
_DERIVED = (
    "base_records", "base_hits", "base_flags", "base_missed", "base_equal_curves", "base_also_submitted",
    "base_frontiers", "base_target_ranges",
)  # fmt: skip
BASE_TABLES = ("studies", "trials", "metrics", "collections", "goals", "contributors", "copies")
# Those of the serving file that other engines take over, since they are made from the measurements.
MADE_TABLES = ("studies", "flags", "missed", "equal_curves", "also_submitted")


_kept_views: list[bytes] = []
"""The views and macros of this process: a database without tables; empty before the first is built."""


def serving_file(lake: Lake, release: Release) -> Path:
    """Return the DuckDB file of a release, building it if necessary. Raises LakeBroken if a data file is missing.

    Its views name the data files by absolute path, so its name includes a hash of the lake's location.
    """
    place = hashlib.sha256(lake.store.url.encode()).hexdigest()
    path = path_of(lake, release, f"{place[:6]}-v{SERVING_VERSION}.duckdb")
    if not path.is_file():
        with exclusive(path.parent):
            if not path.is_file():
                ensure(lake, path, partial(_make, path, lake, release))
    return path


def open_release(lake: Lake, release: Release) -> duckdb.DuckDBPyConnection:
    """Return a read-only connection to a release; use `.cursor()` for one per thread."""
    return connect(lake, serving_file(lake, release), release)


def connect(lake: Lake, serving: Path, release: Release) -> duckdb.DuckDBPyConnection:
    """Return a read-only connection to a release's DuckDB file that may read the files of the release."""
    connection = duckdb.connect(str(serving), read_only=True)
    lake.store.attach(connection, partial(lake.files, release))
    return connection


def remote_file(lake: Lake, release: Release, files_url: str) -> Path:
    """Return the DuckDB file of a release for clients of this service, building it if necessary.

    files_url: the URL below which the service serves the files by public path. The latest 16 files of all releases are
    cached. Raises LakeBroken if a data file is missing.
    """
    address = hashlib.sha256(files_url.encode()).hexdigest()[:12]
    path = path_of(lake, release, f"{address}-v{REMOTE_VERSION}.duckdb", "remote")
    if not path.is_file():
        with atomic_write(path) as unfinished:
            with open_release(lake, release) as connection:
                made = {name: connection.sql(f"FROM base.{name}").to_arrow_table() for name in MADE_TABLES}
            _build_remote(unfinished, lake, lake.files(release), files_url, made)
        evict_oldest(path.parent, "remote-*.duckdb")
    return path


def _make(path: Path, lake: Lake, release: Release) -> None:
    with atomic_write(path) as unfinished:
        _build(unfinished, lake, lake.files(release))


def _build(path: Path, lake: Lake, files: list[DataFile]) -> None:
    check_files_exist(lake.store, files)
    ordered = sorted(files, key=_order)
    texts = {name: overridden("serving", name) for name in (*_DERIVED, *VIEWS, *MACROS)}
    of_release = [name for name in VIEWS if "$files" in texts[name]]
    views = _kept_views[0] if _kept_views else b""  # once: another thread may set it meanwhile
    if views:
        path.write_bytes(views)
    with duckdb.connect(str(path)) as connection:
        lake.store.attach(connection, lambda: files)
        connection.execute("CREATE SCHEMA IF NOT EXISTS base")
        _read_small_tables(connection, lake, ordered, BASE_TABLES)
        for name in (*_DERIVED, *of_release) if views else texts:
            if name == "base_target_ranges":
                connection.register("target_ranges", target_ranges_of(lake, files, connection))
            table = name.removeprefix("base_")
            paths = [lake.store.name_for_queries(file.path) for file in ordered if file.table == table]
            connection.execute(texts[name].replace("$files", _list_of(paths)))
        connection.execute("CHECKPOINT")
        if not views:
            _kept_views[:] = [_views_alone(connection, of_release)]


def _views_alone(connection: duckdb.DuckDBPyConnection, of_release: Sequence[str]) -> bytes:
    """Return a database with the views and macros of a serving file, without those of its release."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "views.duckdb"
        release = connection.execute("SELECT current_database()").fetchall()[0][0].replace('"', '""')
        connection.execute(f"ATTACH {_quoted(str(file))} AS alone")
        connection.execute(f'COPY FROM DATABASE "{release}" TO alone (SCHEMA)')
        for name in of_release:
            connection.execute(f"DROP VIEW alone.{name}")
        connection.execute("DROP SCHEMA alone.base CASCADE")
        connection.execute("CHECKPOINT alone")
        connection.execute("DETACH alone")
        return file.read_bytes()


def _order(file: DataFile) -> tuple[str | int, ...]:
    keys = (file.collection, file.dataset, file.model, file.optimizer)
    return (*(key or "" for key in keys), file.batch_size or 0, file.path)


def _read_small_tables(
    connection: duckdb.DuckDBPyConnection, lake: Lake, files: Sequence[DataFile], names: Sequence[str]
) -> None:
    """Create the tables of `base` from the files of a release. Raises LakeBroken if a data file is missing."""
    for name in names:
        of_table = [file for file in files if file.table == name]
        if name in OPTIONAL_TABLES and not of_table:
            connection.register("no_rows", OPTIONAL_TABLES[name].empty_table())
            connection.execute(f"CREATE TABLE base.{name} AS FROM no_rows")
            connection.unregister("no_rows")
            continue
        check_files_exist(lake.store, of_table)
        paths = [str(lake.store.local(file.path, file.bytes)) for file in of_table]
        connection.execute(f"SET VARIABLE {name}_files = $paths", {"paths": paths})
        connection.execute(sql(f"base_{name}"))


def _list_of(files: list[str]) -> str:
    """Return paths as a list in SQL; DuckDB parses one text without the common prefix twice as fast as a list."""
    if not files:
        return "[]"
    start = os.path.commonprefix(files)  # noqa: RUF071 by characters: URLs are not paths
    rest = "|".join(file.removeprefix(start) for file in files)  # below the lake, names are percent-encoded
    return f"list_transform(string_split({_quoted(rest)}, '|'), lambda path: {_quoted(start)} || path)"


def evict_oldest(folder: Path, pattern: str) -> None:
    """Delete all but the latest 16 files that match a pattern."""

    def built_at(path: Path) -> float:
        try:
            return path.stat().st_mtime
        except FileNotFoundError:
            return 0.0

    for path in sorted(folder.glob(pattern), key=built_at)[:-MOST_REMOTE_FILES]:
        path.unlink(missing_ok=True)


def _build_remote(
    path: Path, lake: Lake, files: Sequence[DataFile], files_url: str, made: Mapping[str, pa.Table]
) -> None:
    public_path = public_paths(files)
    urls: dict[str, list[str]] = defaultdict(list)
    for file in sorted(files, key=lambda f: public_path[f.path]):
        urls[file.table].append(_quoted(f"{files_url}/{public_path[file.path]}"))
    with duckdb.connect() as connection:
        connection.execute(overridden("remote", "attach").replace("$path", _quoted(str(path))))
        connection.execute("CREATE SCHEMA base")
        for name, table in made.items():
            connection.register("made", table)
            connection.execute(f"CREATE TABLE base.{name} AS FROM made")
        _read_small_tables(connection, lake, files, [name for name in BASE_TABLES if name not in ("trials", *made)])
        every_column = {field.name: field for table in ("trials", "records", "measurements") for field in TABLES[table]}
        connection.register("stand_in", pa.schema(list(every_column.values())).empty_table())
        connection.execute(overridden("remote", "read_parquet"))
        for name in ("base_trials", "base_records", *VIEWS, *MACROS):
            of_table = ", ".join(urls[name.removeprefix("base_")])
            connection.execute(overridden("remote", name).replace("$files", f"[{of_table}]"))
        connection.execute("CHECKPOINT losslake")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
