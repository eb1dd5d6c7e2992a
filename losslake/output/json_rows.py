"""Rows as JSON objects, by number: each way is the fastest for so many.

Few rows become dictionaries. Up to a thousand of numbers only are put together from the numbers of each column. Of
more, each column becomes texts, and Arrow joins these with what is between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from losslake.output.answer import Part
from losslake.output.columns import Column, Nullable, Rows
from losslake.output.texts import is_json, json_column, json_text, json_texts
from losslake.record.numbers import json_number
from losslake_schema.reached import Integers

ROWS_AT_A_TIME = 32_768
FEW_ROWS = 1000
LEAST_NUMBERS = 100
# Rows for each change of a value that is not written row by row.
ROWS_ALIKE = 8
Piece = bytes | memoryview
# Types by number: for few rows, pyarrow's own tests of types take longer than their values.
_TEXTS = pa.string().id
_FLOATS = {kind.id for kind in (pa.float16(), pa.float32(), pa.float64())}
_WHOLE = {kind.id for kind in (pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64())}
_WHOLE |= {kind.id for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())}


def json_rows(parts: Iterable[Part]) -> Iterator[Piece]:
    """Yield the rows in pieces, each row after a comma."""
    for part in parts:
        if isinstance(part, Rows) and 0 < part.n_rows <= FEW_ROWS:
            values = [_few_of_rows(part.values(column), column, part.n_rows) for column in part.shape.columns]
            yield _objects([column.name for column in part.shape.columns], values)
        else:
            yield from map(_json_rows, bounded([part.batch() if isinstance(part, Rows) else part]))


def _json_rows(batch: pa.RecordBatch) -> Piece:
    """Return the rows of a non-empty batch, each after a comma."""
    if batch.num_rows <= FEW_ROWS:
        return _few_json_rows(batch)
    n_first, starts, before = _first_columns(batch)
    pieces: list[pa.Array | pa.Scalar] = []
    text = ""
    for number in range(n_first, batch.num_columns):
        column, field, is_last = batch.column(number), batch.schema.field(number), number + 1 == batch.num_columns
        text += json_text(field.name) + ":"
        # At least one column is written row by row.
        if _is_constant(column) and (pieces or not is_last):
            text += _constant_json(column, field)
        else:
            is_quick = not is_last and _is_all_numbers(column)
            pieces += [_text(text), _numbers_and_commas(column) if is_quick else json_column(column, field)]
            text = ""
            if is_quick:
                continue
        text += "}" if is_last else ","
    # Two texts with another between them take two thirds of the time of three texts with nothing between them.
    texts = [pieces[1], pieces[3], pieces[2]] if len(pieces) == 4 else [*pieces[1:], _text("")]
    before = [each + pieces[0].as_py() for each in before]
    return _joined(pc.binary_join_element_wise(*texts), starts, before, text)


def _first_columns(batch: pa.RecordBatch) -> tuple[int, Integers, list[str]]:
    """Return the number of first columns that rarely change, the rows where one does, and their text from there on.

    These are not written row by row.
    """
    first_values: list[Any] = []
    starts = np.zeros(1, np.int64)
    for column, field in zip(batch.columns[:-1], batch.schema, strict=False):
        if _is_constant(column):
            first_values.append(_constant_json(column, field))
            continue
        is_countable = pa.types.is_integer(column.type) and not column.null_count
        changes = np.flatnonzero(np.diff(column.to_numpy())) + 1 if is_countable else ()
        if not 0 < len(changes) <= batch.num_rows // ROWS_ALIKE:
            break
        starts = np.union1d(starts, changes)
        first_values.append(column.to_numpy())
    texts = [",{"] * len(starts)
    for name, values in zip(batch.schema.names, first_values, strict=False):
        of_start = [values] * len(starts) if isinstance(values, str) else values[starts].tolist()
        texts = [f"{text}{json_text(name)}:{value}," for text, value in zip(texts, of_start, strict=True)]
    return len(first_values), starts, texts


def _constant_json(column: pa.Array, field: pa.Field) -> str:
    if column.null_count or not is_json(field):
        return json_text(column[0].as_py())
    return str(json_texts(column.slice(0, 1), is_json=True)[0])


def _joined(texts: pa.LargeStringArray, starts: Integers, before: Sequence[str], after: str) -> memoryview:
    """Return texts one after the other. before: by start, what comes before each text from there on. after: each."""
    # An empty text is inserted at each start, and two after the end: so Arrow writes what is between any two.
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[: len(texts) + 1]
    ends = np.append(np.insert(ends[:-1], starts, ends[starts]), [ends[-1]] * 3)
    padded = pa.LargeStringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), data)
    groups = np.append(starts + np.arange(len(starts)), [len(ends) - 3, len(ends) - 1])
    between = pa.array([*(after + text for text in before), after], pa.large_string())
    _, offsets, data = pc.binary_join(pa.LargeListArray.from_arrays(groups, padded), between).buffers()
    return memoryview(data)[len(after.encode()) : int(np.frombuffer(offsets, np.int64)[len(between)])]


def _is_all_numbers(column: pa.Array) -> bool:
    """Return True for integers and finite float64s without a null."""
    if column.null_count:
        return False
    is_float = pa.types.is_float64(column.type)
    return pa.types.is_integer(column.type) or (is_float and bool(np.isfinite(column.to_numpy()).all()))


def _numbers_and_commas(column: pa.Array) -> pa.LargeStringArray:
    """Return each number as a text, with a comma after it: orjson writes them in a third of the time of polars."""
    texts = _numbers(column) + b","
    ends = np.flatnonzero(np.frombuffer(texts, np.uint8) == ord(",")) + 1
    offsets = np.concatenate([[0], ends])
    return pa.LargeStringArray.from_buffers(len(column), pa.py_buffer(offsets), pa.py_buffer(texts))


def _numbers(column: pa.Array) -> bytes:
    """Return numbers with commas between them."""
    return orjson.dumps(column.to_numpy(), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1]


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _is_constant(column: pa.Array) -> bool:
    """Return True if all rows have the same text or integer, or null."""
    if column.null_count:
        return bool(column.null_count == len(column))
    if pa.types.is_integer(column.type):
        values = column.to_numpy()
        return bool(values[0] == values[-1] and (values == values[0]).all())
    is_possible = pa.types.is_string(column.type) and column[0] == column[-1]
    return bool(is_possible and pc.all(pc.equal(column, column[0])).as_py())


def _few_json_rows(batch: pa.RecordBatch) -> bytes:
    """Return the rows of a small batch, each after a comma."""
    if batch.num_rows >= LEAST_NUMBERS and (rows := _rows_of_numbers(batch)) is not None:
        return rows
    columns = zip(batch.columns, batch.schema, strict=True)
    return _objects(batch.schema.names, [_few_values(column, field) for column, field in columns])


def _rows_of_numbers(batch: pa.RecordBatch) -> bytes | None:
    """Return the same if each column is constant or all numbers, and not all are constant; else None."""
    pieces: list[Sequence[bytes]] = []
    text = ",{"
    for column, field in zip(batch.columns, batch.schema, strict=True):
        text += json_text(field.name) + ":"
        if _is_constant(column):
            text += _constant_json(column, field)
        elif _is_all_numbers(column):
            pieces += [[text.encode()] * batch.num_rows, _numbers(column).split(b",")]
            text = ""
        else:
            return None
        text += ","
    if not pieces:
        return None
    pieces.append([text[:-1].encode() + b"}"] * batch.num_rows)
    return b"".join(chain.from_iterable(zip(*pieces, strict=True)))


def _objects(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> bytes:
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


def bounded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in batches of 1 to ROWS_AT_A_TIME rows."""
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS_AT_A_TIME):
            yield batch.slice(start, ROWS_AT_A_TIME)
