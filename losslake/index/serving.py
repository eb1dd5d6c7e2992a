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
import logging
import os
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from losslake.index.derived import derive_tables
from losslake.index.shared import ensure, exclusive, is_in_use, path_of
from losslake.index.view_texts import MACROS, SERVING_VERSION, VIEWS, list_of, overridden, quoted, sql
from losslake.index.workloads import index_path, open_workloads
from losslake.lake.data_files import check_files_exist
from losslake.lake.lake import Lake
from losslake.lake.machine import atomic_write
from losslake.lake.public_paths import public_paths
from losslake.lake.store.store import DataFile
from losslake_schema.errors import LossLakeError
from losslake_schema.release import Release
from losslake_schema.tables import OPTIONAL_TABLES, TABLES

REMOTE_VERSION = 15
MOST_REMOTE_FILES = 16
BASE_TABLES = ("studies", "trials", "metrics", "collections", "goals", "contributors", "copies")
# Those of the serving file that other engines take over, since they are made from the measurements.
MADE_TABLES = ("studies", "flags", "missed", "equal_curves", "also_submitted")
_log = logging.getLogger(__name__)


_kept_views: list[bytes] = []
"""The views and macros of this process: a database without tables; empty before the first is built."""


def serving_file(lake: Lake, release: Release) -> Path:
    """Return the DuckDB file of a release, building it if necessary. Raises LakeBroken if a data file is missing."""
    path = _serving_path(lake, release)
    if not path.is_file():
        with exclusive(path.parent):
            if not path.is_file():
                ensure(lake, path, partial(_make, path, lake, release))
    return path


def is_built(lake: Lake, release: Release) -> bool:
    """Return True if the serving files of a release are on this machine, so that it opens at once."""
    return _serving_path(lake, release).is_file() and index_path(lake, release).is_file()


def build_if_used(lake: Lake, base: Release, release: Release) -> None:
    """Build the serving files of a release before it is published, if a service has `base`, the one before, open.

    Then services switch to it at once. If that fails, they report why.
    """
    used, path = _serving_path(lake, base), _serving_path(lake, release)
    if not is_in_use(used):
        return
    try:
        with open_release(lake, release) as connection:
            open_workloads(lake, release, connection)
        # Built isn't used: without services, ingests soon stop building.
        os.utime(path, (path.stat().st_atime, used.stat().st_mtime))
    except (LossLakeError, OSError, duckdb.Error) as error:
        _log.warning("services have to build the serving files of release %d (%s)", release.number, error)


def _serving_path(lake: Lake, release: Release) -> Path:
    """Return the path of a DuckDB file, which has a hash of the lake's location: its views name files by path."""
    place = hashlib.sha256(lake.store.url.encode()).hexdigest()
    return path_of(lake, release, f"{place[:6]}-v{SERVING_VERSION}.duckdb")


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
    files = lake.files(release)
    try:
        with atomic_write(path) as unfinished:
            _build(unfinished, lake, files, _nearest(path, release))
    except duckdb.Error:  # the other file may be damaged, or was deleted
        with atomic_write(path) as unfinished:
            _build(unfinished, lake, files, None)


def _nearest(path: Path, release: Release) -> Path | None:
    """Return the DuckDB file, at the same location and of the same version, of the release with the nearest number."""
    others = path.parent.glob(f"release-*-{path.name.split('-', 3)[3]}")
    return min(others, key=lambda other: abs(int(other.name.split("-")[1]) - release.number), default=None)


def _build(path: Path, lake: Lake, files: list[DataFile], earlier: Path | None) -> None:
    check_files_exist(lake.store, files)
    ordered = sorted(files, key=_order)
    texts = {name: overridden("serving", name) for name in ("base_records", *VIEWS, *MACROS)}
    of_release = [name for name in texts if "$files" in texts[name]]
    views = _kept_views[0] if _kept_views else b""  # once: another thread may set it meanwhile
    if views:
        path.write_bytes(views)
    with duckdb.connect(str(path)) as connection:
        lake.store.attach(connection, lambda: files)
        connection.execute("CREATE SCHEMA IF NOT EXISTS base")
        _read_small_tables(connection, lake, ordered, BASE_TABLES)
        derive_tables(connection, lake, ordered, earlier)
        for name in of_release if views else texts:
            table = name.removeprefix("base_")
            paths = [lake.store.name_for_queries(file.path) for file in ordered if file.table == table]
            connection.execute(texts[name].replace("$files", list_of(paths)))
        connection.execute("CHECKPOINT")
        if not views:
            _kept_views[:] = [_views_alone(connection, of_release)]


def _views_alone(connection: duckdb.DuckDBPyConnection, of_release: Sequence[str]) -> bytes:
    """Return a database with the views and macros of a serving file, without those of its release."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "views.duckdb"
        release = connection.execute("SELECT current_database()").fetchall()[0][0].replace('"', '""')
        connection.execute(f"ATTACH {quoted(str(file))} AS alone")
        connection.execute(f'COPY FROM DATABASE "{release}" TO alone (SCHEMA)')
        for name in of_release:
            if name in VIEWS:
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
        urls[file.table].append(quoted(f"{files_url}/{public_path[file.path]}"))
    with duckdb.connect() as connection:
        connection.execute(overridden("remote", "attach").replace("$path", quoted(str(path))))
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
