"""A release that a service answers for, as the SQL shell asks it: its answers come as an Arrow stream."""

from __future__ import annotations

import decimal
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import duckdb
import httpx
import pyarrow as pa

from losslake.cli.session import Arrow, Question, Row, Rows, is_complete
from losslake.client.client import Client, Interrupted, RemoteError
from losslake.client.service import Service
from losslake.index.serving import VIEWS
from losslake_schema.errors import LossLakeError
from losslake_schema.tables import TABLES

SECONDS_TO_WAIT = 600
_ARROW = "application/vnd.apache.arrow.stream"
_TRUNCATED = "losslake-truncated"


class RemoteSession:
    """Asks a service about one release; parser only tells where a statement ends, the service judges it."""

    def __init__(self, client: Client, service: Service, release: int, parser: duckdb.DuckDBPyConnection) -> None:
        self._client = client
        self._service = service
        self._release = release
        self._parser = parser
        self.title = f"release {release} of {service.name}"

    def questions(self, text: str) -> Sequence[Question]:
        try:
            statements = [statement.query for statement in self._parser.extract_statements(text)]
        except duckdb.Error:
            statements = [text]
        return [_RemoteQuestion(self._client, self._service, self._release, statement) for statement in statements]

    def is_complete(self, text: str) -> bool:
        return is_complete(self._parser, text)

    def carry_out(self, work: Callable[[], None], stop: Callable[[], None]) -> None:
        """In the main thread, where Ctrl-C is heard; leaving it closes the connection, which ends the query there."""
        work()

    def columns(self, table: str) -> Sequence[tuple[str, str]]:
        return [(name, kind) for name, kind, *_ in self._rows(f"DESCRIBE {table}")]

    def words(self) -> Sequence[str]:
        """Columns and metrics; only the columns of stored tables where the service doesn't answer."""
        columns = dict.fromkeys(field.name for schema in TABLES.values() for field in schema)
        try:
            metrics = [f"'{metric}'" for (metric,) in self._rows("SELECT metric FROM metrics")]
            views = [name for view in VIEWS if view not in TABLES for name, _ in self.columns(view)]
        except LossLakeError:
            return list(columns)
        return [*(columns | dict.fromkeys(views)), *metrics]

    def _rows(self, statement: str) -> list[Row]:
        with _RemoteQuestion(self._client, self._service, self._release, statement).rows() as rows:
            return [row for batch in rows.batches for row in batch]


class _RemoteQuestion:
    def __init__(self, client: Client, service: Service, release: int, statement: str) -> None:
        self._client = client
        self._url = service.url("v1/sql", format="arrow")
        self._body = {"sql": statement, "release": release}

    @contextmanager
    def arrow(self) -> Iterator[Arrow]:
        with ExitStack() as stack:
            response = self._client.patience.keep_trying(lambda: stack.enter_context(self._asked()))
            if not response.headers.get("content-type", "").startswith(_ARROW):
                raise RemoteError(f"{self._url.host} does not answer with Arrow: is it a LossLake service?")
            with _one_line_errors():
                reader = pa.ipc.open_stream(_Body(response.iter_bytes()))
            yield Arrow(reader.schema, _batches(reader), response.headers.get(_TRUNCATED))

    @contextmanager
    def rows(self) -> Iterator[Rows]:
        with self.arrow() as arrow:
            yield Rows(arrow.schema.names, map(rows_of, arrow.batches), arrow.cut)

    @contextmanager
    def _asked(self) -> Iterator[httpx.Response]:
        """The response; asked again only if the service says when: it may have worked on this for long."""
        try:
            with self._client.answer("POST", self._url, {"Accept": _ARROW}, self._body) as response:
                yield response
        except Interrupted as failure:
            if failure.after is None:
                raise RemoteError(str(failure)) from None
            raise


def _batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    with _one_line_errors():
        yield from reader


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise RemoteError(f"the answer broke off ({str(error).splitlines()[0]}): ask again") from None


def rows_of(batch: pa.RecordBatch) -> list[Row]:
    """The rows of a batch as Python values, as DuckDB itself would give them."""
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
    """The body of a response as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, less only at the end: Arrow takes a short read for the end."""
        filled = 0
        while filled < len(buffer):
            if not self._rest:
                self._rest = memoryview(next(self._chunks, b""))
                if not self._rest:
                    break
            taken = min(len(buffer) - filled, len(self._rest))
            buffer[filled : filled + taken] = self._rest[:taken]
            self._rest = self._rest[taken:]
            filled += taken
        return filled
