"""A release that answers SQL, as the SQL shell and `losslake sql` use it; here, one of a lake on this machine.

The database is opened read-only, but DuckDB would still write files beside it, the lake's data files included: so
statements that could write a file are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import duckdb

from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    import pyarrow as pa


Row = tuple[Any, ...]
BATCH = 10_000


@dataclass(frozen=True)
class Rows:
    """The result of a statement: names of its columns, and its rows, many at a time, to be drawn once.

    cut: what the service says of a limit that cut the result short; None if it is whole.
    """

    names: Sequence[str]
    batches: Iterator[list[Row]]
    cut: str | None = None


@dataclass(frozen=True)
class Arrow:
    """The same as Arrow batches."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    cut: str | None = None


class Question(Protocol):
    """A statement, ready to be run; what has no result, such as SET, gives None."""

    def rows(self) -> AbstractContextManager[Rows | None]:
        """Run it for its rows."""

    def arrow(self) -> AbstractContextManager[Arrow | None]:
        """Run it for Arrow batches."""


class Session(Protocol):
    """A release that answers SQL."""

    @property
    def title(self) -> str: ...

    def questions(self, text: str) -> Sequence[Question]:
        """The statements of a text; raises LossLakeError if it is no SQL, or not allowed."""

    def is_complete(self, text: str) -> bool:
        """Whether a text can be run as it is, or goes on in the next line."""

    def carry_out(self, work: Callable[[], None], stop: Callable[[], None]) -> None:
        """Do work that runs a statement; on Ctrl-C call stop, end the statement and raise KeyboardInterrupt."""

    def columns(self, table: str) -> Sequence[tuple[str, str]]:
        """Name and type of each column of a table."""

    def words(self) -> Sequence[str]:
        """Columns and quoted metrics, for completion."""


def in_a_thread(work: Callable[[], None], *ends: Callable[[], object]) -> None:
    """Do work that waits for a statement; on Ctrl-C, which the main thread hears, call what ends it, and raise."""
    with ThreadPoolExecutor(1, "query") as pool:
        running = pool.submit(work)
        try:
            running.result()
        except KeyboardInterrupt:
            for end in ends:
                end()
            raise


_WRITES_FILES = {"COPY", "COPY_DATABASE", "EXPORT", "ATTACH"}
_HOLDS_ANOTHER = {"EXPLAIN", "PREPARE", "PRAGMA", "CALL", "SET", "VARIABLE_SET", "MULTI"}
_WORDS = {
    "copy", "export", "import", "attach",
    "profiling_output", "profile_output", "log_query_path", "enable_logging", "logging_storage",
}  # fmt: skip


def statements_of(connection: duckdb.DuckDBPyConnection, text: str) -> list[duckdb.Statement]:
    """The statements of a text; raises LossLakeError if it is no SQL."""
    with one_line_errors():
        return connection.extract_statements(text)


def check_writes_no_file(statement: duckdb.Statement) -> None:
    """Raise LossLakeError for a statement that could write a file, also from within EXPLAIN, PREPARE and the like."""
    kind = statement.type.name
    if kind in _WRITES_FILES or (kind in _HOLDS_ANOTHER and _WORDS & set(_bare_words(statement.query))):
        raise LossLakeError("COPY, EXPORT, ATTACH and their like are off, they could write into the lake: use --output")


def is_complete(connection: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Whether a text can be run as it is: a dot command, or statements up to a ';' that is in no string or comment."""
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
    """Turn what DuckDB complains of into one line."""
    try:
        yield
    except duckdb.InterruptException:
        raise LossLakeError("stopped") from None
    except (duckdb.Error, RuntimeError, UnicodeError, OverflowError) as error:
        if "interrupted" in str(error):
            raise LossLakeError("stopped") from None
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise LossLakeError(" ".join(line for line in lines[:3] if not set(line) <= set("^ ~"))) from None


def _bare_words(text: str) -> Iterator[str]:
    """The words of a statement outside of strings and comments, in lower case."""
    tokens = duckdb.tokenize(text)
    ends = [start for start, _ in tokens[1:]] + [len(text.encode())]
    data = text.encode()
    for (start, kind), end in zip(tokens, ends, strict=True):
        if kind in (duckdb.token_type.keyword, duckdb.token_type.identifier):
            yield data[start:end].decode(errors="replace").strip().strip('"').lower()


class LocalSession:
    """Asks a connection to a release's DuckDB file."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, title: str) -> None:
        self._connection = connection
        self.title = title

    def questions(self, text: str) -> Sequence[Question]:
        statements = statements_of(self._connection, text)
        for statement in statements:
            check_writes_no_file(statement)
        return [_LocalQuestion(self._connection, statement) for statement in statements]

    def is_complete(self, text: str) -> bool:
        return is_complete(self._connection, text)

    def carry_out(self, work: Callable[[], None], stop: Callable[[], None]) -> None:
        """In a thread of its own: DuckDB does not always hear Ctrl-C in the main one."""
        in_a_thread(work, stop, self._connection.interrupt)

    def columns(self, table: str) -> Sequence[tuple[str, str]]:
        found = self._connection.execute(f"DESCRIBE {table}").fetchall()
        return [(name, kind) for name, kind, *_ in found]

    def words(self) -> Sequence[str]:
        columns = self._connection.execute(
            "SELECT DISTINCT column_name FROM information_schema.columns WHERE table_schema = 'main' ORDER BY 1"
        ).fetchall()
        metrics = self._connection.execute("SELECT metric FROM metrics").fetchall()
        return [*(name for (name,) in columns), *(f"'{name}'" for (name,) in metrics)]


class _LocalQuestion:
    def __init__(self, connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> None:
        self._connection = connection
        self._statement = statement

    @contextmanager
    def rows(self) -> Iterator[Rows | None]:
        with one_line_errors():
            result = self._connection.execute(self._statement)
            names = [column[0] for column in result.description or ()]
            yield Rows(names, iter(partial(result.fetchmany, BATCH), [])) if self._has_rows(names) else None

    @contextmanager
    def arrow(self) -> Iterator[Arrow | None]:
        with one_line_errors():
            relation = self._connection.sql(self._statement)
            if relation is None or not self._has_rows(relation.columns):
                yield None
                return
            reader = relation.to_arrow_reader(BATCH)
            yield Arrow(reader.schema, iter(reader))

    def _has_rows(self, names: Sequence[str]) -> bool:
        """Whether the statement answers with rows of its own, not only with DuckDB's Count or Success."""
        return self._statement.expected_result_type == [duckdb.ExpectedResultType.QUERY_RESULT] or (
            list(names) not in (["Count"], ["Success"], [])
        )
