"""MLflow's SQL store in an SQLite file, read from its bytes: no file is opened, and no work is unbounded.

Source: SQLite, "Defense Against The Dark Arts" (sqlite.org/security.html).
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing

from losslake_ingest.mlflow_stores.sql import TABLES, Row, read_tables, statement
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Rule
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.member import Member

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


class _TooMuch(Exception):
    """A database that makes more work than its size explains."""


def read_sqlite(source: str, member: Member) -> Iterator[RunLog | Quarantined]:
    """The runs of a database's bytes."""
    try:
        with closing(_opened(member.data)) as connection:
            missing = sorted(TABLES - _tables(connection))
            if missing:
                message = f"the SQLite database has no table {', '.join(missing)}: it is none of MLflow's"
                yield Quarantined(source, member.path, Rule.UNREADABLE_LOG, message)
                return
            sha256 = hashlib.sha256(member.data).hexdigest()
            remarks = {_WRITTEN_AHEAD: 1} if member.data[_LOG_MODE] == b"\2\2" else {}
            stream = _Rows(connection, len(member.data) // _LEAST_ROW)
            yield from read_tables(source, member.path, stream.of, sha256, remarks)
    except (sqlite3.Error, ValueError, OverflowError, MemoryError, _TooMuch) as error:
        reason = " ".join(str(error).split())
        message = f"the SQLite database is damaged, or not as MLflow makes it ({reason}): try `mlflow db upgrade`"
        yield Quarantined(source, member.path, Rule.UNREADABLE_LOG, message)


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
    found = connection.execute(statement("tables")).fetchmany(_CHUNK)
    return {name.decode("utf-8", "replace") for (name,) in found if isinstance(name, bytes)}


class _Rows:
    """Rows in chunks, no more of them than a file of its size can hold."""

    def __init__(self, connection: sqlite3.Connection, most: int) -> None:
        self._connection = connection
        self._left = most

    def of(self, query: str) -> Iterator[Sequence[Row]]:
        cursor = self._connection.execute(query)
        while rows := cursor.fetchmany(_CHUNK):
            self._left -= len(rows)
            if self._left < 0:
                raise _TooMuch("it yields more rows than its size explains")
            yield rows
