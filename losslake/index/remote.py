"""A release as a small DuckDB database whose views read its Parquet files over HTTP.

It holds the small tables; trials, records and measurements stay with the service. Views and macros are those of the
serving file (`schema/losslake_schema/views`), but for what is in `schema/losslake_schema/views/remote`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

import duckdb
import pyarrow as pa

from losslake.index.serving import MACROS, VIEWS, name_files, sql
from losslake.lake.lake import Lake
from losslake.lake.manifest import places
from losslake.lake.store.store import DataFile
from losslake_schema.database import Release
from losslake_schema.tables import TABLES

REMOTE_VERSION = 2
MOST_KEPT = 16
_NATIVE = ("studies", "metrics", "collections", "goals")
_OVER_HTTP = ("trials", "records", "measurements")


def remote_file(lake: Lake, release: Release, files_url: str) -> Path:
    """The DuckDB file of a release for clients of this service, built now if it isn't there.

    files_url: where the files are, under their places as they are. The last 16 built are kept, of all releases.
    Raises LakeBroken when a data file is missing.
    """
    folder = lake.folder / "serving"
    address = hashlib.sha256(files_url.encode()).hexdigest()[:12]
    path = folder / f"remote-{release.number:06d}-{release.manifest_sha256[:12]}-{address}-v{REMOTE_VERSION}.duckdb"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        try:
            _build(unfinished, lake, lake.files(release), files_url)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
        _forget_the_oldest(folder)
    return path


def _forget_the_oldest(folder: Path) -> None:
    def built_at(path: Path) -> float:
        try:
            return path.stat().st_mtime
        except FileNotFoundError:
            return 0.0

    for path in sorted(folder.glob("remote-*.duckdb"), key=built_at)[:-MOST_KEPT]:
        path.unlink(missing_ok=True)


def _build(path: Path, lake: Lake, files: Sequence[DataFile], files_url: str) -> None:
    path.unlink(missing_ok=True)
    place_of = places(files)
    urls: dict[str, list[str]] = {table: [] for table in TABLES}
    for file in sorted(files, key=lambda f: place_of[f.path]):
        urls[file.table].append(f"{files_url}/{place_of[file.path]}")
    with duckdb.connect() as connection:
        connection.execute(_remote_sql("attach").replace("$path", _quoted(str(path))))
        _fill(connection, lake, files)
        connection.register("stand_in", _every_column_over_http().empty_table())
        connection.execute(_remote_sql("read_parquet"))
        for name in ("base_trials", "base_records", *VIEWS, *MACROS):
            _make_view(connection, name, urls)
        connection.execute("CHECKPOINT losslake")


def _fill(connection: duckdb.DuckDBPyConnection, lake: Lake, files: Sequence[DataFile]) -> None:
    """The small tables, as in the serving file."""
    connection.execute("CREATE SCHEMA base")
    for table in _NATIVE:
        name_files(connection, lake, table, files)
        connection.execute(sql(f"base_{table}"))


def _every_column_over_http() -> pa.Schema:
    fields = {field.name: field for table in _OVER_HTTP for field in TABLES[table]}
    return pa.schema(list(fields.values()))


def _make_view(connection: duckdb.DuckDBPyConnection, name: str, urls: Mapping[str, Sequence[str]]) -> None:
    is_ours = resources.files("losslake_schema.views.remote").joinpath(f"{name}.sql").is_file()
    text = _remote_sql(name) if is_ours else sql(name)
    of_table = urls.get(name.removeprefix("base_"), ())
    connection.execute(text.replace("$files", f"[{', '.join(map(_quoted, of_table))}]"))


def _remote_sql(name: str) -> str:
    return resources.files("losslake_schema.views.remote").joinpath(f"{name}.sql").read_text("utf-8")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
