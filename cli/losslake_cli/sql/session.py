"""SQL sessions on a release, for `losslake sql` and its shell; here, on a lake in reach.

Statements that could write a file are refused.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

import duckdb

from losslake.index.read_only import check_read_only, gives_only_rows
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    import pyarrow as pa


ResultRow = tuple[Any, ...]
BATCH = 10_000
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Rows:
    """The result of a statement: column names, and batches of rows, which can be read once.

    limit: the limit of the service that truncated the result, None if it is complete.
    """

    names: Sequence[str]
    batches: Iterator[list[ResultRow]]
    limit: str | None = None


@dataclass(frozen=True)
class Arrow:
    """The result of a statement as Arrow batches."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    limit: str | None = None


class Query(Protocol):
    """A parsed statement. Statements without a result, such as SET, yield None."""

    def rows(self) -> AbstractContextManager[Rows | None]:
        """Run the statement and return its rows."""

    def arrow(self) -> AbstractContextManager[Arrow | None]:
        """Run the statement and return Arrow batches."""


class Session(Protocol):
    """A session in which SQL statements on a release are run."""

    @property
    def title(self) -> str:
        """The release and its location."""

    def queries(self, text: str) -> Sequence[Query]:
        """Return the statements in a text; raise LossLakeError if they are not valid SQL or not allowed."""

    def is_complete(self, text: str) -> bool:
        """Return True if a text is complete, False if it continues on the next line."""

    def run_interruptible(self, work: Callable[[Event], None]) -> None:
        """Do work that runs a statement; on Ctrl-C set its event, cancel the statement and raise KeyboardInterrupt.

        Ctrl-C also holds before the statement starts, and only the first one counts.
        """

    def columns(self, table: str) -> Sequence[tuple[str, str]]:
        """Return name and type of each column of a table."""

    def completions(self) -> Sequence[str]:
        """Return columns and quoted metrics for completion."""


def run_in_thread(work: Callable[[Event], None], cancel: Callable[[], object]) -> None:
    """Do work in another thread; on Ctrl-C, which the main thread receives, cancel it and raise KeyboardInterrupt.

    work: is given an event, which is set on Ctrl-C.
    cancel: is called until the work has ended, since an engine ignores it before it has started the statement.
    """
    with ctrl_c_noted() as pressed, ThreadPoolExecutor(1, "query") as pool:
        stop = Event()
        running = pool.submit(work, stop)
        while wait([running], _POLL_SECONDS).not_done:
            if pressed:
                stop.set()
                cancel()
    if pressed:
        raise KeyboardInterrupt
    running.result()


@contextmanager
def ctrl_c_noted(is_first_raised: bool = False) -> Iterator[list[int]]:
    """Yield a list, in which each Ctrl-C is noted instead of raising KeyboardInterrupt.

    is_first_raised: raise it for the first one, but not for others, which would interrupt the cleanup.
    """
    pressed: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        pressed.append(number)
        if is_first_raised and len(pressed) == 1:
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:  # as in a job that a script started in the background
        yield pressed
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)


def parse_statements(connection: duckdb.DuckDBPyConnection, text: str) -> list[duckdb.Statement]:
    """Return the statements in a text; raise LossLakeError if it is not valid SQL."""
    with one_line_errors():
        return connection.extract_statements(text)


def is_complete(connection: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Return True for a dot command, and for statements that end with a ';' outside of strings and comments."""
    stripped = text.strip()
    if not stripped or stripped.startswith("."):
        return True
    if not stripped.endswith(";"):
        return False
    try:
        connection.extract_statements(stripped)
    except duckdb.Error as error:
        return "unterminated" not in str(error) and 'near "$' not in str(error)
    return True


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Raise errors of DuckDB as LossLakeError with one line; the line of the statement and its caret are its notes."""
    try:
        yield
    except duckdb.InterruptException:
        raise LossLakeError("stopped") from None
    except (duckdb.Error, RuntimeError, UnicodeError, OverflowError) as error:
        if "interrupted" in str(error):
            raise LossLakeError("stopped") from None
        message, _, statement = str(error).partition("\nLINE ")
        failure = LossLakeError(" ".join(line.strip() for line in message.splitlines()[:3] if line.strip()))
        for line in f"LINE {statement}".splitlines()[:2] if statement else ():
            failure.add_note(line)
        raise failure from None


def add_caret(failure: LossLakeError, statement: str, line: int, column: int) -> None:
    """Add to an error, as its notes, a line of the statement and a caret below a column; both are counted from 1."""
    lines = statement.splitlines()
    if 1 <= line <= len(lines) and 1 <= column <= len(lines[line - 1]) + 1:
        shown = f"LINE {line}: "
        failure.add_note(f"{shown}{lines[line - 1]}")
        failure.add_note(" " * (len(shown) + column - 1) + "^")


class LocalSession:
    """A session on a connection to the DuckDB file of a release."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, title: str) -> None:
        self._connection = connection
        self.title = title

    def queries(self, text: str) -> Sequence[Query]:
        """Return the statements in a text."""
        statements = parse_statements(self._connection, text)
        for statement in statements:
            check_read_only(statement)
        return [_LocalQuery(self._connection, statement) for statement in statements]

    def is_complete(self, text: str) -> bool:
        """Return True if a text is complete."""
        return is_complete(self._connection, text)

    def run_interruptible(self, work: Callable[[Event], None]) -> None:
        """Do work in another thread, since DuckDB does not always react to Ctrl-C in the main thread."""
        run_in_thread(work, self._connection.interrupt)

    def columns(self, table: str) -> Sequence[tuple[str, str]]:
        """Return name and type of each column of a table."""
        rows = self._connection.execute(f"DESCRIBE {table}").fetchall()
        return [(name, kind) for name, kind, *_ in rows]

    def completions(self) -> Sequence[str]:
        """Return columns and quoted metrics for completion."""
        columns = self._connection.execute(
            "SELECT DISTINCT column_name FROM information_schema.columns WHERE table_schema = 'main' ORDER BY 1"
        ).fetchall()
        metrics = self._connection.execute("SELECT metric FROM metrics").fetchall()
        return [*(name for (name,) in columns), *(f"'{name}'" for (name,) in metrics)]


class _LocalQuery:
    def __init__(self, connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> None:
        self._connection = connection
        self._statement = statement

    @contextmanager
    def rows(self) -> Iterator[Rows | None]:
        """Run the statement and yield its rows."""
        with one_line_errors():
            result = self._connection.execute(self._statement)
            names = [column[0] for column in result.description or ()]
            yield Rows(names, iter(partial(result.fetchmany, BATCH), [])) if self._has_rows(names) else None

    @contextmanager
    def arrow(self) -> Iterator[Arrow | None]:
        """Run the statement and yield Arrow batches."""
        with one_line_errors():
            relation = self._connection.sql(self._statement)
            if not self._has_rows(relation.columns):
                yield None
                return
            reader = relation.to_arrow_reader(BATCH)
            yield Arrow(reader.schema, iter(reader))

    def _has_rows(self, names: Sequence[str]) -> bool:
        """Return True if the statement has a result other than DuckDB's Count or Success."""
        return gives_only_rows(self._statement) or list(names) not in (["Count"], ["Success"], [])
