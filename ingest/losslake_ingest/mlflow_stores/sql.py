"""MLflow's SQL store: the tables `experiments`, `runs`, `metrics`, `params` and `tags` of any database.

Everything comes ordered by run, as one stream per table, so that one run is in memory at a time. An SQLite file is read
from its bytes: no file is opened, and no work is unbounded.
Sources: mlflow/store/tracking/dbmodels/models.py; for NaN and infinities `sanitize_metric_value` in
sqlalchemy_store.py; SQLite, "Defense Against The Dark Arts" (sqlite.org/security.html).
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from importlib import resources
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from losslake_ingest.mlflow_stores.run import DELETED, Metric, StoredRun, as_floats
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Refusal, Rule
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.member import Member

TABLES = frozenset({"experiments", "runs", "metrics", "params", "tags"})
Row = Sequence[Any]
Stream = Callable[[str], Iterator[Sequence[Row]]]
INFINITE = 1.7976931348623157e308
_INFINITIES = "largest float64 read as infinity, for which an SQL store of MLflow writes it"
_NOT_A_NUMBER = "value of a metric left out: it, its step or its time is no number"
_NUMBERS = {int, float, bool}
MAGIC = b"SQLite format 3\0"
SUFFIXES = (".db", ".sqlite", ".sqlite3")
_CHUNK = 1024
_LONGEST_CELL = 2**18
_LEAST_ROW = 8
_OPERATIONS_PER_CALL = 100_000
_OPERATIONS_PER_BYTE = 10
_LEAST_OPERATIONS = 10_000_000
_FUNCTIONS = ("coalesce", "count", "like")
_LOG_MODE = slice(18, 20)
_WRITTEN_AHEAD = "database with a write-ahead log: what it had not yet taken over is not in its file"


def statement(name: str) -> str:
    """One of the SQL statements beside this module."""
    return resources.files("losslake_ingest.mlflow_stores.queries").joinpath(f"{name}.sql").read_text("utf-8")


def read_tables(
    source: str, path: str, stream: Stream, sha256: str | None, remarks: Mapping[str, int]
) -> Iterator[RunLog | Quarantined]:
    """The runs of a database, in order of their ids.

    stream: yields the rows of a statement, many at a time. sha256: of the database's file; without it, every run has a
    digest over its own rows.
    """
    deleted = sum(int(row[0]) for rows in stream(statement("deleted_runs")) for row in rows)
    metrics, params, tags = (_Side(stream(statement(table))) for table in ("metrics", "params", "tags"))
    for rows in stream(statement("runs")):
        for row in rows:
            run_id = row[0]
            stored = _stored_run(path, row)
            stored.params = _texts(params.of(run_id))
            stored.tags |= _texts(tags.of(run_id))
            _add_metrics(stored, metrics.of(run_id))
            if not stored.rows:
                yield Quarantined(source, stored.run, Rule.NO_MEASUREMENTS, "the run has no metrics")
                continue
            stored.remarks.update({DELETED: deleted, **remarks})
            deleted = 0
            log = stored.log({})
            yield replace(log, files={path: sha256 or _digest(log)})
    if metrics.next or params.next or tags.next:
        message = "some metrics, params or tags come in another order than the runs they belong to, and are left out"
        yield Quarantined(source, path, Rule.UNREADABLE_LOG, f"{message}: try `mlflow db upgrade`")


class _Side:
    """The rows of a table of which every run has some, read run by run; next: a run and its rows, None at the end."""

    def __init__(self, chunks: Iterator[Sequence[Row]]) -> None:
        self._groups = ((run, list(group)) for chunk in chunks for run, group in groupby(chunk, key=itemgetter(0)))
        self.next = next(self._groups, None)

    def of(self, run: object) -> Iterator[list[Row]]:
        """The rows of a run, if they are next."""
        while self.next is not None and self.next[0] == run:
            yield self.next[1]
            self.next = next(self._groups, None)


def _stored_run(path: str, row: Row) -> StoredRun:
    run_id, name, status, start, experiment_id, experiment, has_user, has_code, has_paths = row
    facts = {
        "run_id": _text(run_id),
        "run_name": _text(name),
        "status": _text(status),
        "start_time": _text(start),
        "user_id": "left out" if has_user else None,
        "source_name": "left out" if has_code else None,
        "artifact_uri": "left out" if has_paths else None,
    }
    return StoredRun(f"{path}#{_text(run_id)}", facts, _text(experiment), _text(experiment_id))


def _texts(groups: Iterator[list[Row]]) -> dict[str, str]:
    return {_text(key) or "": _text(value) or "" for rows in groups for _, key, value in rows}


def _add_metrics(stored: StoredRun, groups: Iterator[list[Row]]) -> None:
    """The metrics of a run, each with its rows in order."""
    parts: dict[str, list[Metric]] = {}
    for rows in groups:
        for key, group in groupby(rows, key=itemgetter(1)):
            parts.setdefault(_text(key) or "", []).append(_metric(list(group), stored.remarks))
    for name, pieces in parts.items():
        metric = Metric(*(np.concatenate([piece[at] for piece in pieces]) for at in range(3)))
        if len(metric.values):
            stored.add(name, metric)


def _metric(rows: list[Row], remarks: Counter[str]) -> Metric:
    """Values as they were logged."""
    columns = list(zip(*rows, strict=True))[2:]
    if any(not set(map(type, column)) <= _NUMBERS for column in columns):
        whole = [row for row in rows if all(type(cell) in _NUMBERS for cell in row[2:])]
        remarks[_NOT_A_NUMBER] += len(rows) - len(whole)
        columns = list(zip(*whole, strict=True))[2:] if whole else [()] * 4
    steps, milliseconds, values, is_nan = (as_floats(column) for column in columns)
    infinite = np.abs(values) == INFINITE
    if infinite.any():
        remarks[_INFINITIES] += int(infinite.sum())
        values = np.where(infinite, np.copysign(np.inf, values), values)
    return Metric(steps, milliseconds, np.where(is_nan != 0, np.nan, values))


def _text(value: object) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return None if value is None else str(value)


def _digest(log: RunLog) -> str:
    """What tells whether a run has changed, where there is no file to take the sha256 of."""
    said = (sorted(log.fields.items()), sorted(log.parameters.items()), log.status, log.started_at)
    digest = hashlib.sha256(repr(said).encode("utf-8", "backslashreplace"))
    for name, column in (item for rows in log.rows for item in rows.columns.items()):
        digest.update(f"\0{len(name)} {name} {len(column)} ".encode("utf-8", "backslashreplace"))
        digest.update(column.tobytes())
    return digest.hexdigest()


class _TooMuch(Exception):
    """A database that makes more work than its size explains."""


def read_sqlite(source: str, member: Member) -> Iterator[RunLog | Quarantined]:
    """The runs of a database's bytes; raises Refusal."""
    try:
        with closing(_opened(member.data)) as connection:
            missing = sorted(TABLES - _tables(connection))
            if missing:
                message = f"the SQLite database has no table {', '.join(missing)}: it is none of MLflow's"
                raise Refusal(Rule.UNREADABLE_LOG, message)
            sha256 = hashlib.sha256(member.data).hexdigest()
            remarks = {_WRITTEN_AHEAD: 1} if member.data[_LOG_MODE] == b"\2\2" else {}
            stream = _stream(connection, len(member.data) // _LEAST_ROW)
            yield from read_tables(source, member.path, stream, sha256, remarks)
    except (sqlite3.Error, ValueError, OverflowError, MemoryError, _TooMuch) as error:
        reason = " ".join(str(error).split())
        message = f"the SQLite database is damaged, or not as MLflow makes it ({reason}): try `mlflow db upgrade`"
        raise Refusal(Rule.UNREADABLE_LOG, message) from None


def _opened(data: bytes) -> sqlite3.Connection:
    """The database in memory, with all that it could make SQLite do forbidden."""
    connection = sqlite3.connect(":memory:")
    if data[_LOG_MODE] == b"\2\2":
        # In memory there can be no write-ahead log: say that the file has none.
        data = data[: _LOG_MODE.start] + b"\1\1" + data[_LOG_MODE.stop :]
    connection.deserialize(data)
    for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "temp_store=MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_CELL)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.text_factory = bytes
    left = _LEAST_OPERATIONS + _OPERATIONS_PER_BYTE * len(data)

    def is_too_much() -> bool:
        nonlocal left
        left -= _OPERATIONS_PER_CALL
        return left < 0

    connection.set_progress_handler(is_too_much, _OPERATIONS_PER_CALL)
    connection.set_authorizer(_authorize)
    return connection


def _authorize(action: int, _first: str | None, second: str | None, _database: str | None, _by: str | None) -> int:
    """Only reading, and only the functions of our statements: none that a generated column could bring in."""
    allowed = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
    allowed = allowed or (action == sqlite3.SQLITE_FUNCTION and second in _FUNCTIONS)
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _tables(connection: sqlite3.Connection) -> set[str]:
    names = connection.execute(statement("tables")).fetchmany(_CHUNK)
    return {name.decode("utf-8", "replace") for (name,) in names if isinstance(name, bytes)}


def _stream(connection: sqlite3.Connection, most: int) -> Stream:
    """Streams the rows of statements in chunks, no more of them than a file of its size can hold."""
    left = most

    def rows_of(query: str) -> Iterator[Sequence[Row]]:
        nonlocal left
        cursor = connection.execute(query)
        while rows := cursor.fetchmany(_CHUNK):
            left -= len(rows)
            if left < 0:
                raise _TooMuch("it yields more rows than its size explains")
            yield rows

    return rows_of
