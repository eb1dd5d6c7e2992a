"""A release of a lake here, as the SQL shell asks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import duckdb

from losslake.cli.session import BATCH, Arrow, Question, Rows, in_a_thread
from losslake.cli.statements import check_writes_no_file, is_complete, one_line_errors, statements_of


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
