"""Conversion of answers to types that every format and its usual clients support; SQL has more types than Parquet.

Dictionaries and runs are decoded, views become text and bytes, half floats become floats, intervals ISO 8601 texts and
UUIDs texts. A union, an empty struct or a decimal of more than 38 digits becomes JSON text. Column names are made
distinct. The memory under nulls is zeroed, so that the bytes of an answer are reproducible and leak nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from losslake.output.answer import Answer
from losslake.output.texts import interval_text, is_list, json_text, with_leaves

_INTEGERS = {kind.bit_width: kind for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())}
_PLAIN = frozenset(
    kind.id
    for kind in (
        pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
        pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(1), pa.string(), pa.large_string(),
        pa.binary(), pa.large_binary(), pa.binary(1), pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us"),
        pa.timestamp("us"), pa.duration("us"),
    )
)  # fmt: skip


def plain_answer(answer: Answer) -> Answer:
    """Return the answer in plain types with distinct names; the same object if it has these already."""
    if answer.is_plain:
        return answer
    names = distinct(answer.schema.names)
    if names == answer.schema.names and all(_is_plain(field.type) for field in answer.schema):
        return answer
    fields = [
        pa.field(name, _plain(pa.nulls(0, field.type)).type, metadata=field.metadata)
        for name, field in zip(names, answer.schema, strict=True)
    ]
    schema = pa.schema(fields, answer.schema.metadata)
    batches = (pa.RecordBatch.from_arrays(list(map(_plain, batch.columns)), schema=schema) for batch in answer.batches)
    return dataclasses.replace(answer, schema=schema, parts=batches)


def distinct(names: Sequence[str]) -> list[str]:
    """Return the names, with the first suitable suffix _1, _2 … added to those that repeat an earlier one."""
    unique: dict[str, None] = {}
    for name in names:
        candidate, number = name, 0
        while candidate in unique or (number and candidate in names):
            number += 1
            candidate = f"{name}_{number}"
        unique[candidate] = None
    return list(unique)


def _is_plain(kind: pa.DataType) -> bool:
    if kind.id in _PLAIN:
        return True
    if pa.types.is_map(kind):
        return _is_plain(kind.key_type) and _is_plain(kind.item_type)
    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(_is_plain(kind.field(at).type) for at in range(kind.num_fields))
    return is_list(kind) and _is_plain(kind.value_type)


def _plain(array: pa.Array) -> pa.Array:
    return array if _is_plain(array.type) else with_leaves(array, _plain_leaf)


def _plain_leaf(array: pa.Array) -> pa.Array:
    kind = array.type
    if _is_plain(kind):
        return array
    if pa.types.is_dictionary(kind):
        return _plain(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return _plain(pc.run_end_decode(array))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return array.cast(pa.string() if pa.types.is_string_view(kind) else pa.binary())
    if pa.types.is_float16(kind):
        return array.cast(pa.float32())
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return array.cast(pa.decimal128(kind.precision, kind.scale))
    if pa.types.is_interval(kind):
        return _texts(None if value is None else interval_text(*value) for value in array.to_pylist())
    if isinstance(kind, pa.UuidType):
        return _texts(None if value is None else str(value) for value in array.to_pylist())
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(array.storage)
    return _texts(None if value is None else json_text(value) for value in array.to_pylist())


def _texts(values: Iterator[str | None]) -> pa.Array:
    return pa.array(list(values), pa.string())


def blank_nulls(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch of plain types with zeros under each null."""
    arrays = [with_leaves(column, _blank) if _may_hide(column) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def _may_hide(array: pa.Array) -> bool:
    return bool(pa.types.is_nested(array.type)) or (array.null_count > 0 and _is_fixed(array.type))


def _is_fixed(kind: pa.DataType) -> bool:
    """Return True if nulls occupy space among the values."""
    return not (pa.types.is_null(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
                or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))  # fmt: skip


def _blank(array: pa.Array) -> pa.Array:
    if not array.null_count or not _is_fixed(array.type):
        return array
    size, kind = len(array), array.type
    if array.null_count == size:
        return pa.nulls(size, kind)
    if pa.types.is_boolean(kind):
        values = _bitmap(pc.fill_null(array, False))
    else:
        width = kind.bit_width // 8
        raw = _INTEGERS.get(kind.bit_width)
        filled = pc.fill_null(array.view(raw or pa.binary(width)), bytes(width) if raw is None else 0)
        values = filled.buffers()[1].slice(filled.offset * width, size * width)
    return pa.Array.from_buffers(kind, size, [_bitmap(array.is_valid()), values])


def _bitmap(flags: pa.Array) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags.to_numpy(zero_copy_only=False), bitorder="little").tobytes())


def finite(values: npt.NDArray[np.float64]) -> pa.Array:
    """Return numbers as an Arrow array; null for NaN and infinities."""
    return pa.array(values, mask=~np.isfinite(values))


def whole(values: npt.NDArray[Any]) -> pa.Array:
    """Return numbers as 64-bit integers; null for NaN, infinities and values that are too large. Exact up to 2^53."""
    is_known = np.isfinite(values) & (np.abs(values) < 2.0**63)
    return pa.array(np.where(is_known, values, 0).astype(np.int64), mask=~is_known)
