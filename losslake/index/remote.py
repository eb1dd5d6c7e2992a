"""A release as a small DuckDB database whose views read its Parquet files over HTTP.

It holds the small tables; trials, records and measurements stay with the service. Views and macros are those of the
serving file (`schema/losslake_schema/views`), but for what is in `schema/losslake_schema/views/remote`.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import duckdb
import pyarrow as pa

from losslake.index.serving import MACROS, VIEWS, quoted, read_small_tables, sql
from losslake.index.shared import path_of
from losslake.lake.lake import Lake
from losslake.lake.machine import written_whole
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
    address = hashlib.sha256(files_url.encode()).hexdigest()[:12]
    path = path_of(lake, release, f"{address}-v{REMOTE_VERSION}.duckdb", "remote")
    if not path.is_file():
        with written_whole(path) as unfinished:
            _build(unfinished, lake, lake.files(release), files_url)
        _forget_the_oldest(path.parent)
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
    place_of = places(files)
    urls: dict[str, list[str]] = defaultdict(list)
    for file in sorted(files, key=lambda f: place_of[f.path]):
        urls[file.table].append(quoted(f"{files_url}/{place_of[file.path]}"))
    with duckdb.connect() as connection:
        connection.execute(_sql("attach").replace("$path", quoted(str(path))))
        connection.execute("CREATE SCHEMA base")
        read_small_tables(connection, lake, files, _NATIVE)
        every_column = {field.name: field for table in _OVER_HTTP for field in TABLES[table]}
        connection.register("stand_in", pa.schema(list(every_column.values())).empty_table())
        connection.execute(_sql("read_parquet"))
        for name in ("base_trials", "base_records", *VIEWS, *MACROS):
            of_table = ", ".join(urls[name.removeprefix("base_")])
            connection.execute(_sql(name).replace("$files", f"[{of_table}]"))
        connection.execute("CHECKPOINT losslake")


def _sql(name: str) -> str:
    """Return the statement of `losslake_schema/views/remote/<name>.sql`, or that of the serving file."""
    remote = resources.files("losslake_schema.views.remote").joinpath(f"{name}.sql")
    return remote.read_text("utf-8") if remote.is_file() else sql(name)
