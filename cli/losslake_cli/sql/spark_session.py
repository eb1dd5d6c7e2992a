"""SQL sessions on a release in Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from threading import Event
from typing import TYPE_CHECKING, Any

import sqlglot
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Row as SparkRow
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from losslake.spark.session import error_place, error_reason, first_error_line
from losslake_cli.sql.session import BATCH, Arrow, Query, ResultRow, Rows, add_caret, run_in_thread
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_READING_STATEMENTS = {"SELECT", "WITH", "FROM", "VALUES", "TABLE", "(", "DESCRIBE", "DESC", "SHOW", "EXPLAIN", "SET"}


class SparkRelease:
    """A session on a Spark session in which a release is registered; statements are in Spark's SQL."""

    def __init__(self, spark: SparkSession, title: str) -> None:
        self._spark = spark
        self.title = title

    def queries(self, text: str) -> Sequence[Query]:
        """Return the statements in a text."""
        try:
            statements = list(_statements(text))
        except SqlglotError as error:
            raise LossLakeError(f"invalid SQL: {first_error_line(str(error))}") from None
        for _, tokens in statements:
            _check_only_reads(tokens)
        return [_SparkQuery(self._spark, statement) for statement, _ in statements]

    def is_complete(self, text: str) -> bool:
        """Return True if a text is complete."""
        stripped = text.strip()
        if not stripped or stripped.startswith("."):
            return True
        try:
            tokens = sqlglot.tokenize(stripped, read="spark")
        except SqlglotError:
            return False
        return bool(tokens) and tokens[-1].token_type is TokenType.SEMICOLON

    def run_interruptible(self, work: Callable[[Event], None]) -> None:
        """Do work in another thread, so that Ctrl-C can cancel its jobs."""
        run_in_thread(work, self._spark.sparkContext.cancelAllJobs)

    def columns(self, table: str) -> Sequence[tuple[str, str]]:
        """Return name and type of each column of a table."""
        return [(field.name, field.dataType.simpleString()) for field in self._spark.table(table).schema]

    def completions(self) -> Sequence[str]:
        """Return columns and quoted metrics for completion."""
        names = {name for view in self._spark.catalog.listTables() for name in self._spark.table(view.name).columns}
        metrics = self._spark.table("metrics").select("metric").collect()
        return [*sorted(names), *(f"'{row.metric}'" for row in metrics)]


class _SparkQuery:
    def __init__(self, spark: SparkSession, statement: str) -> None:
        self._spark = spark
        self._statement = statement

    @contextmanager
    def rows(self) -> Iterator[Rows | None]:
        """Run the statement and yield its rows."""
        with _one_line_errors(self._statement):
            result = self._spark.sql(self._statement)
            yield Rows(result.columns, _batches(result)) if result.columns else None

    @contextmanager
    def arrow(self) -> Iterator[Arrow | None]:
        """Run the statement and yield Arrow batches."""
        with _one_line_errors(self._statement):
            result = self._spark.sql(self._statement)
            if not result.columns:
                yield None
                return
            table = result.toArrow()
            yield Arrow(table.schema, iter(table.to_batches(BATCH)))


def _statements(text: str) -> Iterator[tuple[str, list[Token]]]:
    """Yield the statements in a text, without their semicolons, and the tokens of each."""
    tokens: list[Token] = []
    for token in [*sqlglot.tokenize(text, read="spark"), None]:
        if token is not None and token.token_type is not TokenType.SEMICOLON:
            tokens.append(token)
        elif tokens:
            yield text[tokens[0].start : tokens[-1].end + 1], tokens
            tokens = []


def _check_only_reads(tokens: Sequence[Token]) -> None:
    """Raise LossLakeError for a statement that could write: INSERT may also follow WITH, FROM and EXPLAIN."""
    bare = [token.text.upper() for token in tokens if token.token_type is not TokenType.STRING]
    if tokens[0].text.upper() not in _READING_STATEMENTS or "INSERT" in bare:
        raise LossLakeError(f"{tokens[0].text.upper()} is disabled, the lake is read-only: use --output for results")


def _batches(result: DataFrame) -> Iterator[list[ResultRow]]:
    rows = result.toLocalIterator(prefetchPartitions=True)
    while batch := [tuple(map(_plain, row)) for row in islice(rows, BATCH)]:
        yield batch


def _plain(value: Any) -> Any:
    """Return a value of Spark as DuckDB would: structs are dicts."""
    if isinstance(value, SparkRow):
        return {name: _plain(item) for name, item in value.asDict().items()}
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


@contextmanager
def _one_line_errors(statement: str) -> Iterator[None]:
    """Raise errors of Spark as LossLakeError with one line; its notes show the place in the statement."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        reason = error_reason(error)
        failure = LossLakeError("stopped" if "cancelled" in reason else reason)
        place = error_place(error)
        if place is not None:
            add_caret(failure, statement, *place)
        raise failure from None
