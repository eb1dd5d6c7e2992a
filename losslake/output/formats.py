"""The formats of answers: JSON, CSV, Arrow's IPC stream and Parquet, each written piece by piece."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from losslake.output.answer import Answer
from losslake.output.plain import blank_nulls, plain_answer
from losslake.output.texts import csv_column, is_json, json_column, json_text, json_texts, number_text

ROWS_AT_A_TIME = 32_768
ROWS_IN_A_GROUP = 131_072
FEW_ROWS = 1000


@dataclass(frozen=True)
class OutputFormat:
    """A format: the value of the parameter `format`, its media type, and how answers in plain types are written."""

    name: str
    media_type: str
    write: Callable[[Answer], Iterator[bytes]]

    def encode(self, answer: Answer) -> Iterator[bytes]:
        """The bytes of an answer, piece by piece."""
        return self.write(plain_answer(answer))


def json_pieces(answer: Answer) -> Iterator[bytes]:
    """One object: the facts, then the rows with an object for each."""
    facts = dict(answer.facts)
    if answer.total is not None:
        facts |= {"total": answer.total, "next_cursor": answer.next_cursor}
    head = json_text(facts)[:-1].encode()
    comma = b"," if facts else b""
    batches = _bounded(answer.batches)
    first = next(batches, None)
    yield head + comma + b'"' + answer.rows_name.encode() + b'":[' + (_json_rows(first) if first is not None else b"")
    for batch in batches:
        yield b"," + _json_rows(batch)
    yield b"]}"


def csv_pieces(answer: Answer) -> Iterator[bytes]:
    """A line of names, then one for each row; NaN, inf and -inf in words, nothing for null."""
    names = pl.DataFrame({field.name: [] for field in answer.schema})
    yield names.write_csv().encode()
    for batch in _bounded(answer.batches):
        series = [
            csv_column(column, field).alias(field.name)
            for column, field in zip(batch.columns, answer.schema, strict=True)
        ]
        yield pl.DataFrame(series).write_csv(include_header=False).encode()


def arrow_pieces(answer: Answer) -> Iterator[bytes]:
    """Arrow's IPC stream; the facts are in the schema's metadata, under `losslake`."""
    sink = _Pieces()
    with pa.ipc.new_stream(pa.PythonFile(sink, "w"), _with_facts(answer)) as writer:
        for batch in answer.batches:
            writer.write_batch(blank_nulls(batch))
            yield from sink.taken()
    yield from sink.taken()


def parquet_pieces(answer: Answer) -> Iterator[bytes]:
    """A Parquet file; the facts are in its metadata, under `losslake`."""
    sink = _Pieces()
    with pq.ParquetWriter(pa.PythonFile(sink, "w"), _with_facts(answer), compression="zstd") as writer:
        for table in _row_groups(answer):
            writer.write_table(table)
            yield from sink.taken()
    yield from sink.taken()


FORMATS = {
    each.name: each
    for each in (
        OutputFormat("json", "application/json", json_pieces),
        OutputFormat("csv", "text/csv; charset=utf-8", csv_pieces),
        OutputFormat("arrow", "application/vnd.apache.arrow.stream", arrow_pieces),
        OutputFormat("parquet", "application/vnd.apache.parquet", parquet_pieces),
    )
}


def _json_rows(batch: pa.RecordBatch) -> bytes:
    """The rows of a batch, not empty, with commas between them."""
    if batch.num_rows <= FEW_ROWS:
        return _few_json_rows(batch)
    pieces: list[pl.Expr] = []
    for number, (column, field) in enumerate(zip(batch.columns, batch.schema, strict=True)):
        pieces.append(pl.lit(("," if number else "{") + json_text(field.name) + ":"))
        pieces.append(pl.lit(json_column(column, field)))
    text: str = pl.select(pl.concat_str([*pieces, pl.lit("}")]).str.join(",")).item()
    return text.encode()


def _few_json_rows(batch: pa.RecordBatch) -> bytes:
    """The same without the cost of setting up for many."""
    names = batch.schema.names
    columns = [_few_values(column, field) for column, field in zip(batch.columns, batch.schema, strict=True)]
    return orjson.dumps([dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)])[1:-1]


def _few_values(column: pa.Array, field: pa.Field) -> list[Any]:
    """A column's values as orjson takes them."""
    kind = field.type
    if pa.types.is_floating(kind):
        return [value if value is None else number_text(value) for value in column.to_pylist()]
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or (pa.types.is_string(kind) and not is_json(field)):
        return list(column.to_pylist())
    return [orjson.Fragment(text) for text in json_texts(column, is_json(field)).to_pylist()]


def _bounded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches that are neither empty nor large."""
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS_AT_A_TIME):
            yield batch.slice(start, ROWS_AT_A_TIME)


def _with_facts(answer: Answer) -> pa.Schema:
    kept = answer.schema.metadata or {}
    return answer.schema.with_metadata(kept | {b"losslake": json_text(dict(answer.facts)).encode()})


def _row_groups(answer: Answer) -> Iterator[pa.Table]:
    """The rows in tables of about ROWS_IN_A_GROUP, at least one of them."""
    waiting: list[pa.RecordBatch] = []
    for batch in answer.batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= ROWS_IN_A_GROUP:
            yield pa.Table.from_batches(waiting, answer.schema)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting, answer.schema)


class _Pieces(io.RawIOBase):
    """A file to write to whose bytes are taken away as they come."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._waiting.append(piece)
        self._written += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._written

    def taken(self) -> Iterator[bytes]:
        """What was written since the last time, in one piece."""
        if self._waiting:
            yield b"".join(self._waiting)
            self._waiting = []
