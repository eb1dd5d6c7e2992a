"""A release as a read-only DuckDB database: built once, shared by all who answer questions by SQL.

Schema `base` holds the small tables, sorted; the views and macros over them, and over the release's Parquet files, are
what users see. Each is a file in `losslake_schema/views` that begins with a comment that says what a row is.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from functools import partial
from importlib import resources
from pathlib import Path

import duckdb

from losslake.index.shared import FOLDER, have, only_one_at_a_time
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake_schema.database import Release
from losslake_schema.errors import LakeBroken
from losslake_schema.tables import TABLES

SERVING_VERSION = 5
BASE_TABLES = ("studies", "trials", "metrics", "collections", "goals")
VIEWS = (
    "collections", "studies", "workloads", "trials", "metrics", "goals", "records", "measurements",
    "steps_to_target", "steps_to_result",
)  # fmt: skip
MACROS = ("steps_to", "result_at")
_SHARED = re.compile(r"\$(first_hits|best_trials)\b")


def sql(name: str) -> str:
    """Return the statement of `losslake_schema/views/<name>.sql`.

    `$first_hits` and `$best_trials` stand for the text that a macro and a view share: that file, without its comment and
    without the lines that are only for another one.
    """
    return _SHARED.sub(lambda match: _shared_text(match[1], name), _text(name))


def _shared_text(shared: str, name: str) -> str:
    lines = (line.partition("  -- only: ") for line in _text(shared).splitlines() if not line.startswith("--"))
    return "\n".join(line for line, _, only in lines if only in ("", name))


def _text(name: str) -> str:
    return resources.files("losslake_schema.views").joinpath(f"{name}.sql").read_text("utf-8")


def serving_file(lake: Lake, release: Release) -> Path:
    """The DuckDB file of a release, built now if it isn't there; raises LakeBroken when a data file is missing.

    Its views name the data files by absolute path, so the place of the lake is part of the file's name.
    """
    folder = lake.folder / FOLDER
    place = hashlib.sha256(lake.store.url.encode()).hexdigest()
    path = folder / f"release-{release.number:06d}-{release.manifest_sha256[:12]}-{place[:6]}-v{SERVING_VERSION}.duckdb"
    if not path.is_file():
        with only_one_at_a_time(folder):
            if not path.is_file():
                have(lake, path, partial(_make, path, lake, release))
    return path


def _make(path: Path, lake: Lake, release: Release) -> None:
    unfinished = path.with_suffix(f".{os.getpid()}")
    try:
        _build(unfinished, lake, lake.files(release))
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def open_release(lake: Lake, release: Release) -> duckdb.DuckDBPyConnection:
    """A read-only connection to a release; use `.cursor()` for one per thread."""
    return connect(lake, serving_file(lake, release), release)


def connect(lake: Lake, serving: Path, release: Release) -> duckdb.DuckDBPyConnection:
    """A read-only connection to a release's DuckDB file, which may read the files of the release."""
    connection = duckdb.connect(str(serving), read_only=True)
    lake.store.attach(connection, partial(lake.files, release))
    return connection


def _build(path: Path, lake: Lake, files: list[DataFile]) -> None:
    path.unlink(missing_ok=True)
    ordered = sorted(
        files,
        key=lambda file: (
            str(file.collection),
            str(file.dataset),
            str(file.model),
            str(file.optimizer),
            file.batch_size or 0,
            file.path,
        ),
    )
    connection = duckdb.connect(str(path))
    lake.store.attach(connection, lambda: files)
    try:
        for table in TABLES:
            name_files(connection, lake, table, ordered)
        connection.execute("CREATE SCHEMA base")
        for name in BASE_TABLES:
            connection.execute(sql(f"base_{name}"))
        for name in ("base_records", *VIEWS, *MACROS):
            table = name.removeprefix("base_")
            _make_view(connection, name, [lake.store.name_for_queries(f.path) for f in ordered if f.table == table])
        connection.execute("CHECKPOINT")
    finally:
        connection.close()


def name_files(connection: duckdb.DuckDBPyConnection, lake: Lake, table: str, files: Sequence[DataFile]) -> None:
    """Set the variable from which `base_<table>.sql` reads; raises LakeBroken when a data file is missing."""
    own = [file for file in files if file.table == table]
    missing = lake.store.missing([file.path for file in own])
    if missing:
        what = f"the data file {lake.store.name_of(missing)} is missing"
        raise LakeBroken(f"{what}: restore it, or use another release")
    paths = [str(lake.store.local(file.path, file.bytes)) for file in own if file.study is None]
    connection.execute(f"SET VARIABLE {table}_files = $paths", {"paths": paths})


def _make_view(connection: duckdb.DuckDBPyConnection, name: str, files: list[str]) -> None:
    text = sql(name)
    connection.execute(text.replace("$files", _list_of(files)) if "$files" in text else text)


def _list_of(files: list[str]) -> str:
    """A list as DuckDB's SQL. Paths in one text, without what all begin with, are read in half the time of a list."""
    if not files:
        return "[]"
    start = os.path.commonprefix(files)  # noqa: RUF071 characters are meant: URLs are no paths
    rest = "|".join(file.removeprefix(start) for file in files)  # below the lake, names are percent-encoded
    return f"list_transform(string_split({_quoted(rest)}, '|'), lambda path: {_quoted(start)} || path)"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
