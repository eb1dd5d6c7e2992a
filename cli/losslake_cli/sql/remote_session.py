"""SQL sessions on a release of a service, whose responses are Arrow streams."""

from __future__ import annotations

import decimal
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import Event
from typing import Any, cast

import duckdb
import httpx
import pyarrow as pa

from losslake.client.client import Client, RemoteError, TransientError
from losslake.client.service import Service
from losslake.index.view_texts import VIEWS
from losslake_cli.sql.session import Arrow, Query, ResultRow, Rows, add_caret, ctrl_c_noted, is_complete
from losslake_schema.errors import LossLakeError
from losslake_schema.tables import ALL_TABLES

SECONDS_TO_WAIT = 600
_ARROW = "application/vnd.apache.arrow.stream"


class RemoteSession:
    """A session on a release of a service. parser: only splits statements, the service checks them."""

    def __init__(self, client: Client, service: Service, release: int, parser: duckdb.DuckDBPyConnection) -> None:
        self._client = client
        self._service = service
        self._release = release
        self._parser = parser
        self.title = f"release {release} of {service.name}"

    def queries(self, text: str) -> Sequence[Query]:
        """Return the statements in a text."""
        try:
            statements = [statement.query for statement in self._parser.extract_statements(text)]
        except duckdb.Error:
            statements = [text]
        return [_RemoteQuery(self._client, self._service, self._release, statement) for statement in statements]

    def is_complete(self, text: str) -> bool:
        """Return True if a text is complete."""
        return is_complete(self._parser, text)

    def run_interruptible(self, work: Callable[[Event], None]) -> None:
        """Do work in the main thread, which receives Ctrl-C. Closing the connection stops the query in the service.

        A connection that is not closed, since a second Ctrl-C came in between, would block the next statement.
        """
        with ctrl_c_noted(is_first_raised=True):
            work(Event())

    def columns(self, table: str) -> Sequence[tuple[str, str]]:
        """Return name and type of each column of a table."""
        return [(name, kind) for name, kind, *_ in self._rows(f"DESCRIBE {table}")]

    def completions(self) -> Sequence[str]:
        """Return columns and metrics, or only the columns of stored tables if the service does not respond."""
        columns = dict.fromkeys(field.name for schema in ALL_TABLES.values() for field in schema)
        try:
            metrics = [f"'{metric}'" for (metric,) in self._rows("SELECT metric FROM metrics")]
            views = [name for view in VIEWS if view not in ALL_TABLES for name, _ in self.columns(view)]
        except LossLakeError:
            return list(columns)
        return [*(columns | dict.fromkeys(views)), *metrics]

    def _rows(self, statement: str) -> list[ResultRow]:
        with _RemoteQuery(self._client, self._service, self._release, statement).rows() as rows:
            return [row for batch in rows.batches for row in batch]


class _RemoteQuery:
    def __init__(self, client: Client, service: Service, release: int, statement: str) -> None:
        self._client = client
        self._url = service.url("v1/sql", format="arrow")
        self._statement = statement
        self._body = {"sql": statement, "release": release}

    @contextmanager
    def arrow(self) -> Iterator[Arrow]:
        """Run the statement and yield Arrow batches."""
        with ExitStack() as stack:
            response = self._client.retries.run(lambda: stack.enter_context(self._response()))
            if not response.headers.get("content-type", "").startswith(_ARROW):
                raise RemoteError(f"{self._url.host} does not return Arrow: is it a LossLake service?")
            with _one_line_errors():
                reader = pa.ipc.open_stream(io.BufferedReader(_Body(response.iter_bytes())))
            yield Arrow(reader.schema, _batches(reader), response.headers.get("losslake-truncated"))

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        """Run the statement and yield its rows."""
        with self.arrow() as arrow:
            yield Rows(arrow.schema.names, map(rows_of, arrow.batches), arrow.limit)

    @contextmanager
    def _response(self) -> Iterator[httpx.Response]:
        """Yield the response; retry only if the service states when, since a query may take long."""
        try:
            with self._client.stream("POST", self._url, {"Accept": _ARROW}, self._body) as response:
                yield response
        except TransientError as failure:
            if failure.retry_after is None:
                raise RemoteError(str(failure)) from None
            raise
        except RemoteError as failure:
            if failure.place is not None:
                add_caret(failure, self._statement, *failure.place)
            raise


def _batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    with _one_line_errors():
        yield from reader


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise RemoteError(f"the response was cut off ({str(error).splitlines()[0]}): run the statement again") from None


def rows_of(batch: pa.RecordBatch) -> list[ResultRow]:
    """Return the rows of a batch as the Python values that DuckDB would return."""
    columns = [_values(column) for column in batch.columns]
    return list(zip(*columns, strict=True)) if columns else []


def _values(column: pa.Array) -> list[Any]:
    if column.null_count == 0 and (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        return cast(list[Any], column.to_numpy().tolist())
    values = cast(list[Any], column.to_pylist(maps_as_pydicts="lossy"))
    if pa.types.is_decimal(column.type) and column.type.scale == 0:
        return [int(value) if isinstance(value, decimal.Decimal) else value for value in values]
    return values


class _Body(io.RawIOBase):
    """The body of a response as a file object."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read a part of the next chunk; return its length, 0 at the end."""
        rest = self._rest or memoryview(next(self._chunks, b""))
        size = min(len(buffer), len(rest))
        buffer[:size], self._rest = rest[:size], rest[size:]
        return size
