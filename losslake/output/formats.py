"""The formats of answers: JSON, CSV, Arrow IPC stream and Parquet, each written in pieces."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.output.answer import Answer, Part
from losslake.output.columns import Column, Nullable, Rows
from losslake.output.plain import blank_nulls, plain_answer
from losslake.output.texts import csv_column, is_json, json_column, json_text, json_texts
from losslake.record.numbers import json_number

ROWS_AT_A_TIME = 32_768
ROWS_IN_A_GROUP = 131_072
FEW_ROWS = 1000
Piece = bytes | memoryview
# Types by number: for few rows, pyarrow's own tests of types take longer than their values.
_TEXTS = pa.string().id
_FLOATS = {kind.id for kind in (pa.float16(), pa.float32(), pa.float64())}
_WHOLE = {kind.id for kind in (pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64())}
_WHOLE |= {kind.id for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())}


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
    pieces = _json_of_parts(answer.parts)
    rows = next(pieces, b",")[1:]
    yield head + comma + b'"' + answer.rows_name.encode() + b'":[' + rows
    yield from pieces
    yield b"]}"


def csv_pieces(answer: Answer) -> Iterator[bytes]:
    """Yield a header line, then a line per row; floats may be NaN, inf and -inf, null is empty."""
    yield pl.DataFrame({field.name: [] for field in answer.schema}).write_csv().encode()
    for batch in _bounded(answer.batches):
        series = [
            csv_column(column, field).alias(field.name)
            for column, field in zip(batch.columns, answer.schema, strict=True)
        ]
        yield pl.DataFrame(series).write_csv(include_header=False).encode()


def arrow_pieces(answer: Answer) -> Iterator[bytes]:
    """Yield an Arrow IPC stream, with the facts in the schema's metadata under `losslake`."""
    sink = _Pieces()
    with pa.ipc.new_stream(pa.PythonFile(sink, "w"), _with_facts(answer)) as writer:
        for batch in answer.batches:
            writer.write_batch(blank_nulls(batch))
            yield from sink.drain()
    yield from sink.drain()


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


def _json_of_parts(parts: Iterable[Part]) -> Iterator[Piece]:
    """Yield the rows in pieces, each row after a comma."""
    for part in parts:
        if isinstance(part, Rows) and 0 < part.n_rows <= FEW_ROWS:
            values = [_few_of_rows(part.values(column), column, part.n_rows) for column in part.shape.columns]
            yield _few_json_rows([column.name for column in part.shape.columns], values)
        else:
            yield from map(_json_rows, _bounded([part.batch() if isinstance(part, Rows) else part]))


def _json_rows(batch: pa.RecordBatch) -> Piece:
    """Return the rows of a non-empty batch, each after a comma."""
    if batch.num_rows <= FEW_ROWS:
        columns = zip(batch.columns, batch.schema, strict=True)
        return _few_json_rows(batch.schema.names, [_few_values(column, field) for column, field in columns])
    pieces: list[pa.Array | pa.Scalar] = []
    text = ",{"
    for number, (column, field) in enumerate(zip(batch.columns, batch.schema, strict=True), start=1):
        is_last = number == batch.num_columns
        text += json_text(field.name) + ":"
        # At least one column is written row by row.
        if _is_constant(column) and (pieces or not is_last):
            text += "null" if column.null_count else json_column(column.slice(0, 1), field)[0].as_py()
        elif not is_last and _is_all_numbers(column):
            pieces += [_text(text), _numbers_and_commas(column)]
            text = ""
            continue
        else:
            pieces += [_text(text), json_column(column, field)]
            text = ""
        text += "}" if is_last else ","
    rows = pc.binary_join_element_wise(*pieces, _text(text), _text(""))
    # Arrow keeps texts one after the other: these are the rows.
    _, offsets, texts = rows.buffers()
    return memoryview(texts)[: int(np.frombuffer(offsets, np.int64)[batch.num_rows])]


def _is_all_numbers(column: pa.Array) -> bool:
    """Return True for integers and finite float64s without a null."""
    if column.null_count:
        return False
    is_float = pa.types.is_float64(column.type)
    return pa.types.is_integer(column.type) or (is_float and bool(np.isfinite(column.to_numpy()).all()))


def _numbers_and_commas(column: pa.Array) -> pa.LargeStringArray:
    """Return each number as a text, with a comma after it: orjson writes them in a third of the time of polars."""
    texts = orjson.dumps(column.to_numpy(), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1] + b","
    ends = np.flatnonzero(np.frombuffer(texts, np.uint8) == ord(",")) + 1
    offsets = np.concatenate([[0], ends])
    return pa.LargeStringArray.from_buffers(len(column), pa.py_buffer(offsets), pa.py_buffer(texts))


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _is_constant(column: pa.Array) -> bool:
    """Return True if all rows have the same text or integer, or null."""
    if column.null_count:
        return bool(column.null_count == len(column))
    kind = column.type
    is_text_or_integer = pa.types.is_string(kind) or pa.types.is_integer(kind)
    is_possible = is_text_or_integer and column[0] == column[-1]
    return bool(is_possible and pc.all(pc.equal(column, column[0])).as_py())


def _few_json_rows(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> bytes:
    """Return few rows, each after a comma, without the set-up cost of polars. columns: as orjson accepts them."""
    return b"," + orjson.dumps([dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)])[1:-1]


def _few_of_rows(values: Any, column: Column, n_rows: int) -> Sequence[Any]:
    """Return the values of a column of Rows as orjson accepts them, without Arrow where it isn't needed."""
    if values is None:
        return [None] * n_rows
    listed: Sequence[Any]
    match values if column.is_scalar else None:
        case Nullable():
            listed = values.listed()
        case np.ndarray():
            listed = values.tolist()
        case list() | tuple():
            listed = values
        case str() | int() | float():
            listed = [values] * n_rows
        case _:
            return _few_values(column.array(values, n_rows), column.field)
    return _json_numbers(listed) if column.kind == "number" else listed


def _json_numbers(values: Iterable[float | None]) -> list[float | str | None]:
    return [value if value is None else json_number(value) for value in values]


def _few_values(column: pa.Array, field: pa.Field) -> list[Any]:
    """Return the values of a column as orjson accepts them."""
    kind = column.type.id
    if kind in _FLOATS:
        return _json_numbers(column.to_pylist())
    if kind in _WHOLE or (kind == _TEXTS and not is_json(field)):
        return list(column.to_pylist())
    return [orjson.Fragment(text) for text in json_texts(column, is_json(field)).to_pylist()]


def _bounded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in batches of 1 to ROWS_AT_A_TIME rows."""
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS_AT_A_TIME):
            yield batch.slice(start, ROWS_AT_A_TIME)


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
