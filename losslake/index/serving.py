"""A release as DuckDB databases: one that all who answer questions by SQL share, and small ones for clients over HTTP.

Schema `base` holds the small tables, sorted; the views and macros over them, and over the release's Parquet files, are
what users see. Each is a file in `losslake_schema/views` that begins with a comment that says what a row is. A client's
database has the same views, but for what is in `losslake_schema/views/remote`: trials, records and measurements stay
with the service.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from importlib import resources
from pathlib import Path

import duckdb
import pyarrow as pa

from losslake.index.shared import have, only_one_at_a_time, path_of
from losslake.lake.data_files import check_there
from losslake.lake.lake import Lake
from losslake.lake.machine import written_whole
from losslake.lake.manifest import places
from losslake.lake.store.store import DataFile
from losslake_schema.database import Release
from losslake_schema.tables import TABLES

SERVING_VERSION = 5
REMOTE_VERSION = 2
MOST_KEPT = 16
BASE_TABLES = ("studies", "trials", "metrics", "collections", "goals")
VIEWS = (
    "collections", "studies", "workloads", "trials", "metrics", "goals", "records", "measurements",
    "steps_to_target", "steps_to_result",
)  # fmt: skip
MACROS = ("steps_to", "result_at")
_NATIVE = ("studies", "metrics", "collections", "goals")
_OVER_HTTP = ("trials", "records", "measurements")
_SHARED = re.compile(r"\$(first_hits|best_trials)\b")


def serving_file(lake: Lake, release: Release) -> Path:
    """The DuckDB file of a release, built now if it isn't there; raises LakeBroken when a data file is missing.

    Its views name the data files by absolute path, so the place of the lake is part of the file's name.
    """
    place = hashlib.sha256(lake.store.url.encode()).hexdigest()
    path = path_of(lake, release, f"{place[:6]}-v{SERVING_VERSION}.duckdb")
    if not path.is_file():
        with only_one_at_a_time(path.parent):
            if not path.is_file():
                have(lake, path, partial(_make, path, lake, release))
    return path


def open_release(lake: Lake, release: Release) -> duckdb.DuckDBPyConnection:
    """A read-only connection to a release; use `.cursor()` for one per thread."""
    return connect(lake, serving_file(lake, release), release)


def connect(lake: Lake, serving: Path, release: Release) -> duckdb.DuckDBPyConnection:
    """A read-only connection to a release's DuckDB file, which may read the files of the release."""
    connection = duckdb.connect(str(serving), read_only=True)
    lake.store.attach(connection, partial(lake.files, release))
    return connection


def remote_file(lake: Lake, release: Release, files_url: str) -> Path:
    """The DuckDB file of a release for clients of this service, built now if it isn't there.

    files_url: where the files are, under their places as they are. The last 16 built are kept, of all releases.
    Raises LakeBroken when a data file is missing.
    """
    address = hashlib.sha256(files_url.encode()).hexdigest()[:12]
    path = path_of(lake, release, f"{address}-v{REMOTE_VERSION}.duckdb", "remote")
    if not path.is_file():
        with written_whole(path) as unfinished:
            _build_remote(unfinished, lake, lake.files(release), files_url)
        _forget_the_oldest(path.parent)
    return path


def sql(name: str) -> str:
    """Return the statement of `losslake_schema/views/<name>.sql`.

    `$first_hits` and `$best_trials` stand for the text that a macro and a view share: that file, without its comment
    and without the lines that are only for the other one.
    """
    return _SHARED.sub(lambda match: _shared_text(match[1], name), _text(name))


def _shared_text(shared: str, name: str) -> str:
    lines = (line.partition("  -- only: ") for line in _text(shared).splitlines() if not line.startswith("--"))
    return "\n".join(line for line, _, only in lines if only in ("", name))


def _text(name: str) -> str:
    return resources.files("losslake_schema.views").joinpath(f"{name}.sql").read_text("utf-8")


def _make(path: Path, lake: Lake, release: Release) -> None:
    with written_whole(path) as unfinished:
        _build(unfinished, lake, lake.files(release))


def _build(path: Path, lake: Lake, files: list[DataFile]) -> None:
    check_there(lake.store, files)
    ordered = sorted(files, key=_order)
    with duckdb.connect(str(path)) as connection:
        lake.store.attach(connection, lambda: files)
        connection.execute("CREATE SCHEMA base")
        _read_small_tables(connection, lake, ordered, BASE_TABLES)
        for name in ("base_records", *VIEWS, *MACROS):
            table = name.removeprefix("base_")
            paths = [lake.store.name_for_queries(file.path) for file in ordered if file.table == table]
            connection.execute(sql(name).replace("$files", _list_of(paths)))
        connection.execute("CHECKPOINT")


def _order(file: DataFile) -> tuple[str | int, ...]:
    keys = (file.collection, file.dataset, file.model, file.optimizer)
    return (*(key or "" for key in keys), file.batch_size or 0, file.path)


def _read_small_tables(
    connection: duckdb.DuckDBPyConnection, lake: Lake, files: Sequence[DataFile], names: Sequence[str]
) -> None:
    """Make the tables of `base` from the files of a release; raises LakeBroken when a data file is missing."""
    for name in names:
        of_table = [file for file in files if file.table == name]
        check_there(lake.store, of_table)
        paths = [str(lake.store.local(file.path, file.bytes)) for file in of_table]
        connection.execute(f"SET VARIABLE {name}_files = $paths", {"paths": paths})
        connection.execute(sql(f"base_{name}"))


def _list_of(files: list[str]) -> str:
    """A list as DuckDB's SQL. Paths in one text, without what all begin with, are read in half the time of a list."""
    if not files:
        return "[]"
    start = os.path.commonprefix(files)  # noqa: RUF071 characters are meant: URLs are no paths
    rest = "|".join(file.removeprefix(start) for file in files)  # below the lake, names are percent-encoded
    return f"list_transform(string_split({_quoted(rest)}, '|'), lambda path: {_quoted(start)} || path)"


def _forget_the_oldest(folder: Path) -> None:
    def built_at(path: Path) -> float:
        try:
            return path.stat().st_mtime
        except FileNotFoundError:
            return 0.0

    for path in sorted(folder.glob("remote-*.duckdb"), key=built_at)[:-MOST_KEPT]:
        path.unlink(missing_ok=True)


def _build_remote(path: Path, lake: Lake, files: Sequence[DataFile], files_url: str) -> None:
    place_of = places(files)
    urls: dict[str, list[str]] = defaultdict(list)
    for file in sorted(files, key=lambda f: place_of[f.path]):
        urls[file.table].append(_quoted(f"{files_url}/{place_of[file.path]}"))
    with duckdb.connect() as connection:
        connection.execute(_remote_sql("attach").replace("$path", _quoted(str(path))))
        connection.execute("CREATE SCHEMA base")
        _read_small_tables(connection, lake, files, _NATIVE)
        every_column = {field.name: field for table in _OVER_HTTP for field in TABLES[table]}
        connection.register("stand_in", pa.schema(list(every_column.values())).empty_table())
        connection.execute(_remote_sql("read_parquet"))
        for name in ("base_trials", "base_records", *VIEWS, *MACROS):
            of_table = ", ".join(urls[name.removeprefix("base_")])
            connection.execute(_remote_sql(name).replace("$files", f"[{of_table}]"))
        connection.execute("CHECKPOINT losslake")


def _remote_sql(name: str) -> str:
    """Return the statement of `losslake_schema/views/remote/<name>.sql`, or that of the serving file."""
    remote = resources.files("losslake_schema.views.remote").joinpath(f"{name}.sql")
    return remote.read_text("utf-8") if remote.is_file() else sql(name)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
