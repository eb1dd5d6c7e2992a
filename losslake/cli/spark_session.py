"""A release as the SQL shell asks it of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import sqlglot
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Row as SparkRow
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from losslake.cli.session import BATCH, Arrow, Question, Row, Rows, in_a_thread
from losslake.spark.session import in_a_line, reason_of
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MAY_BEGIN = {"SELECT", "WITH", "FROM", "VALUES", "TABLE", "(", "DESCRIBE", "DESC", "SHOW", "EXPLAIN", "SET"}


class SparkRelease:
    """Asks a Spark session in which a release is registered; statements are in Spark's SQL."""

    def __init__(self, spark: SparkSession, title: str) -> None:
        self._spark = spark
        self.title = title

    def questions(self, text: str) -> Sequence[Question]:
        try:
            statements = list(_statements(text))
        except SqlglotError as error:
            raise LossLakeError(f"this is no SQL: {in_a_line(str(error))}") from None
        for _, tokens in statements:
            _check_only_reads(tokens)
        return [_SparkQuestion(self._spark, statement) for statement, _ in statements]

    def is_complete(self, text: str) -> bool:
        stripped = text.strip()
        if not stripped or stripped.startswith("."):
            return True
        try:
            tokens = sqlglot.tokenize(stripped, read="spark")
        except SqlglotError:
            return False
        return bool(tokens) and tokens[-1].token_type is TokenType.SEMICOLON

    def carry_out(self, work: Callable[[], None], stop: Callable[[], None]) -> None:
        """In a thread of its own, so that Ctrl-C can end the jobs that it waits for."""
        in_a_thread(work, stop, self._spark.sparkContext.cancelAllJobs)

    def columns(self, table: str) -> Sequence[tuple[str, str]]:
        return [(field.name, field.dataType.simpleString()) for field in self._spark.table(table).schema]

    def words(self) -> Sequence[str]:
        names = {name for view in self._spark.catalog.listTables() for name in self._spark.table(view.name).columns}
        metrics = self._spark.table("metrics").select("metric").collect()
        return [*sorted(names), *(f"'{row.metric}'" for row in metrics)]


class _SparkQuestion:
    def __init__(self, spark: SparkSession, statement: str) -> None:
        self._spark = spark
        self._statement = statement

    @contextmanager
    def rows(self) -> Iterator[Rows | None]:
        with _one_line_errors():
            result = self._spark.sql(self._statement)
            yield Rows(result.columns, _batches(result)) if result.columns else None

    @contextmanager
    def arrow(self) -> Iterator[Arrow | None]:
        with _one_line_errors():
            result = self._spark.sql(self._statement)
            if not result.columns:
                yield None
                return
            table = result.toArrow()
            yield Arrow(table.schema, iter(table.to_batches(BATCH)))


def _statements(text: str) -> Iterator[tuple[str, list[Token]]]:
    """The statements of a text, without the semicolons after them, and the tokens of each."""
    tokens: list[Token] = []
    for token in [*sqlglot.tokenize(text, read="spark"), None]:
        if token is not None and token.token_type is not TokenType.SEMICOLON:
            tokens.append(token)
        elif tokens:
            yield text[tokens[0].start : tokens[-1].end + 1], tokens
            tokens = []


def _check_only_reads(tokens: Sequence[Token]) -> None:
    """Raise LossLakeError for a statement that could write: INSERT may stand behind WITH, FROM and EXPLAIN, too."""
    bare = [token.text.upper() for token in tokens if token.token_type is not TokenType.STRING]
    if tokens[0].text.upper() not in _MAY_BEGIN or "INSERT" in bare:
        raise LossLakeError(f"{tokens[0].text.upper()} is off, the lake is only read: use --output for results")


def _batches(result: DataFrame) -> Iterator[list[Row]]:
    rows = result.toLocalIterator(prefetchPartitions=True)
    while batch := [tuple(map(_plain, row)) for row in islice(rows, BATCH)]:
        yield batch


def _plain(value: Any) -> Any:
    """A value of Spark's as DuckDB would give it: structs are dicts."""
    if isinstance(value, SparkRow):
        return {name: _plain(item) for name, item in value.asDict().items()}
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Turn what Spark complains of into one line."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        reason = reason_of(error)
        raise LossLakeError("stopped" if "cancelled" in reason else reason) from None
