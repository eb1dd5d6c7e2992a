"""The formats of answers: JSON, CSV, Arrow IPC stream and Parquet, each written in pieces."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from losslake.output.answer import Answer
from losslake.output.json_rows import Piece, bounded, json_rows
from losslake.output.plain import blank_nulls, plain_answer
from losslake.output.texts import csv_column, json_text

ROWS_IN_A_GROUP = 131_072
LARGE_PIECE = 1 << 16
# https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format
_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


@dataclass(frozen=True)
class OutputFormat:
    """A format: the value of the parameter `format`, its media type, and the writer for answers in plain types."""

    name: str
    media_type: str
    write: Callable[[Answer], Iterator[Piece]]

    def encode(self, answer: Answer) -> Iterator[Piece]:
        """Yield the bytes of an answer in pieces."""
        return self.write(plain_answer(answer))


def json_pieces(answer: Answer) -> Iterator[Piece]:
    """Yield one JSON object: the facts, then the rows as a list of objects."""
    facts = dict(answer.facts)
    if answer.total is not None:
        facts |= {"total": answer.total, "next_cursor": answer.next_cursor}
    head = json_text(facts)[:-1].encode()
    comma = b"," if facts else b""
    pieces = json_rows(answer.parts)
    rows = next(pieces, b",")[1:]
    yield from _gathered(chain([head + comma + b'"' + answer.rows_name.encode() + b'":[', rows], pieces, [b"]}"]))


def csv_pieces(answer: Answer) -> Iterator[bytes]:
    """Yield a header line, then a line per row; floats may be NaN, inf and -inf, null is empty."""
    yield pl.DataFrame({field.name: [] for field in answer.schema}).write_csv().encode()
    for batch in bounded(answer.batches):
        series = [
            csv_column(column, field).alias(field.name)
            for column, field in zip(batch.columns, answer.schema, strict=True)
        ]
        yield pl.DataFrame(series).write_csv(include_header=False).encode()


def arrow_pieces(answer: Answer) -> Iterator[Piece]:
    """Yield an Arrow IPC stream, with the facts in the schema's metadata under `losslake`."""
    yield memoryview(_with_facts(answer).serialize())
    for batch in answer.batches:
        yield memoryview(blank_nulls(batch).serialize())
    yield _END_OF_STREAM


def parquet_pieces(answer: Answer) -> Iterator[bytes]:
    """Yield a Parquet file, with the facts in its metadata under `losslake`."""
    sink = _Pieces()
    with pq.ParquetWriter(pa.PythonFile(sink, "w"), _with_facts(answer), compression="zstd") as writer:
        for table in _row_groups(answer):
            writer.write_table(table)
            yield from sink.drain()
    yield from sink.drain()


FORMATS = {
    each.name: each
    for each in (
        OutputFormat("json", "application/json", json_pieces),
        OutputFormat("csv", "text/csv; charset=utf-8", csv_pieces),
        OutputFormat("arrow", "application/vnd.apache.arrow.stream", arrow_pieces),
        OutputFormat("parquet", "application/vnd.apache.parquet", parquet_pieces),
    )
}


def _gathered(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the same bytes with small pieces put together: to send one takes as long as to write many rows."""
    waiting: list[Piece] = []
    size = 0
    for piece in pieces:
        if size + len(piece) > LARGE_PIECE and waiting:
            yield b"".join(waiting)
            waiting, size = [], 0
        if len(piece) > LARGE_PIECE:
            yield piece
        else:
            waiting.append(piece)
            size += len(piece)
    yield b"".join(waiting)


def _with_facts(answer: Answer) -> pa.Schema:
    metadata = answer.schema.metadata or {}
    return answer.schema.with_metadata(metadata | {b"losslake": json_text(dict(answer.facts)).encode()})


def _row_groups(answer: Answer) -> Iterator[pa.Table]:
    """Yield the rows in tables of at least ROWS_IN_A_GROUP rows, except the last."""
    waiting: list[pa.RecordBatch] = []
    for batch in answer.batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= ROWS_IN_A_GROUP:
            yield pa.Table.from_batches(waiting, answer.schema)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting, answer.schema)


class _Pieces(io.BytesIO):
    """A writable file whose bytes are drained as they are written."""

    _drained = 0

    def tell(self) -> int:
        """Return the number of bytes written so far."""
        return self._drained + super().tell()

    def drain(self) -> Iterator[bytes]:
        """Yield what was written since the last call, in one piece."""
        if piece := self.getvalue():
            self._drained += len(piece)
            self.seek(0)
            self.truncate()
            yield piece
