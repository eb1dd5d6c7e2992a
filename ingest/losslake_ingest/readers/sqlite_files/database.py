"""An SQLite file, read from its bytes: no file is opened, nothing in it is executed, and the work is bounded.

Source: SQLite, "Defense Against The Dark Arts" (sqlite.org/security.html).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_schema.package_files import read_text

MAGIC = b"SQLite format 3\0"
SUFFIXES = (".db", ".sqlite", ".sqlite3")
SqliteRow = Sequence[Any]
Stream = Callable[[str], Iterator[Sequence[SqliteRow]]]
_CHUNK = 1024
_LONGEST_CELL = 2**16
_LEAST_ROW = 8
_OPERATIONS_PER_CALL = 100_000
_OPERATIONS_PER_BYTE = 10
_LEAST_OPERATIONS = 10_000_000
_PAGE_SIZE, _LOG_MODE = slice(16, 18), slice(18, 20)
_WRITTEN_AHEAD = "database with a write-ahead log: changes that were not yet checkpointed are not in the file"


@dataclass(frozen=True)
class SqliteFile:
    """An open database. stream: yields the rows of a statement in chunks; texts are bytes."""

    stream: Stream
    remarks: Mapping[str, int]


def query(name: str) -> str:
    """Return one of the SQL statements in the `queries` folder."""
    return read_text("losslake_ingest.readers.sqlite_files.queries", f"{name}.sql")


def text_of(value: object) -> str:
    """Return a text, which SQLite needn't store in UTF-8, or any other value as a text."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def is_written_ahead(data: bytes) -> bool:
    """Return True if a database has a write-ahead log."""
    return data[_LOG_MODE] == b"\2\2"


@contextmanager
def open_sqlite(data: bytes, tables: Set[str], advice: str) -> Iterator[SqliteFile]:
    """Open a database that has these tables; whatever goes wrong while it is open becomes a Refusal with the advice."""
    try:
        with closing(_open_database(data)) as connection:
            rows = connection.execute(query("tables")).fetchmany(_CHUNK)
            missing = sorted(tables - {name.decode("utf-8", "replace") for (name,) in rows if isinstance(name, bytes)})
            if missing:
                message = f"the SQLite database has no table {', '.join(missing)}: {advice}"
                raise Refusal(Rule.UNREADABLE_LOG, message)
            stream = _stream(connection, len(data) // _LEAST_ROW)
            yield SqliteFile(stream, {_WRITTEN_AHEAD: 1} if is_written_ahead(data) else {})
    except (sqlite3.Error, ValueError, OverflowError, MemoryError) as error:
        reason = " ".join(str(error).split())
        message = f"the SQLite database is damaged or has an unknown schema ({reason}): {advice}"
        raise Refusal(Rule.UNREADABLE_LOG, message) from None


def _open_database(data: bytes) -> sqlite3.Connection:
    """Open the database in memory, with everything forbidden that could do harm."""
    page = int.from_bytes(data[_PAGE_SIZE], "big")
    if len(data) % (page if page > 1 else 1 << 16):
        raise ValueError("it is cut short within a page")
    connection = sqlite3.connect(":memory:")
    if is_written_ahead(data):
        # A database in memory can't have a write-ahead log: mark the file as having none.
        data = data[: _LOG_MODE.start] + b"\1\1" + data[_LOG_MODE.stop :]
    connection.deserialize(data)
    for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "temp_store=MEMORY"):
        connection.execute(f"PRAGMA {pragma}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_CELL)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.text_factory = bytes
    remaining = _LEAST_OPERATIONS + _OPERATIONS_PER_BYTE * len(data)

    def is_too_much() -> bool:
        nonlocal remaining
        remaining -= _OPERATIONS_PER_CALL
        return remaining < 0

    connection.set_progress_handler(is_too_much, _OPERATIONS_PER_CALL)
    (problem,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if problem != b"ok":
        raise ValueError(problem.decode("utf-8", "replace"))
    connection.set_authorizer(_authorize)
    return connection


def _authorize(action: int, _first: str | None, second: str | None, _database: str | None, _by: str | None) -> int:
    """Allow only reads, and only the functions of our statements; generated columns can't call others."""
    allowed = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
    allowed = allowed or (action == sqlite3.SQLITE_FUNCTION and second in ("coalesce", "count", "like"))
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _stream(connection: sqlite3.Connection, most: int) -> Stream:
    """Return a stream of statements' rows in chunks, limited to the rows that a file of its size can hold."""
    remaining = most

    def rows_of(statement: str) -> Iterator[Sequence[SqliteRow]]:
        nonlocal remaining
        cursor = connection.execute(statement)
        while rows := cursor.fetchmany(_CHUNK):
            remaining -= len(rows)
            if remaining < 0:
                raise ValueError("it returns more rows than a file of its size can hold")
            yield rows

    return rows_of
