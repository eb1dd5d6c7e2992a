"""Text forms of values of any Arrow type, for JSON and CSV; the same in answers and in SQL results.

Floats round-trip; NaN and infinities are the strings "NaN", "Infinity" and "-Infinity". Times, durations and intervals
are ISO 8601, timestamps in UTC; decimals are numbers with all their digits; bytes are base64; maps are objects.
"""

from __future__ import annotations

import base64
import decimal
import json
from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any

import numpy as np
import orjson
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from losslake.record.numbers import NUMBER_WORDS, json_number

_PLAIN_VALUES = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def is_json(field: pa.Field) -> bool:
    """Return True if the texts of this column are JSON already."""
    return field.metadata is not None and field.metadata.get(b"json") == b"yes"


def json_column(array: pa.Array, field: pa.Field) -> pa.LargeStringArray:
    """Return each value as JSON text."""
    kind = field.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        texts = pl.Series(array).cast(pl.String).to_arrow()
    elif pa.types.is_floating(kind):
        texts = _floats(array)
    else:
        texts = json_texts(array, is_json(field))
    return pc.fill_null(texts.cast(pa.large_string()), "null")


def csv_column(array: pa.Array, field: pa.Field) -> pl.Series:
    """Return each value in a type that polars can write; nested values as JSON, floats may be NaN, inf and -inf."""
    kind = field.type
    if pa.types.is_floating(kind):
        return pl.Series(array.cast(pa.float64()))
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return pl.Series(array)
    if pa.types.is_nested(kind) or pa.types.is_decimal(kind) or is_json(field):
        return pl.Series(pc.if_else(array.is_valid(), json_texts(array, is_json(field)), None))
    return pl.Series(text_leaves(array).cast(pa.string()))


def json_text(value: Any) -> str:
    """Return a Python value as compact JSON; a lone surrogate, which UTF-8 can't encode, becomes U+FFFD."""
    # For the usual values orjson takes a fifth of the time; it would write NaN and infinities as null.
    if _has_only_finite_numbers(value):
        try:
            return orjson.dumps(value, option=_PLAIN_VALUES).decode()
        except orjson.JSONEncodeError:
            pass
    return _json_text(value)


def _has_only_finite_numbers(value: Any) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, dict):
        return all(map(_has_only_finite_numbers, value.values()))
    return all(map(_has_only_finite_numbers, value)) if isinstance(value, list | tuple) else True


def _json_text(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return orjson.dumps(value).decode()
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return orjson.dumps(json_number(value)).decode()
    if isinstance(value, decimal.Decimal):
        return format(value, "f") if value.is_finite() else '"NaN"'
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(_key(name))}:{_json_text(item)}" for name, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_json_text, value)) + "]"
    return _quoted(base64.b64encode(value).decode() if isinstance(value, bytes) else str(value))


def json_texts(array: pa.Array, is_json: bool = False) -> pa.Array:
    """Return each value of an array of plain types as JSON text, nulls as `null`; distinct texts are encoded once.

    is_json: the texts, or the values of a map, are JSON and are embedded as such.
    """
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        encoded = array.dictionary_encode()
        write: Callable[[Any], str] = _standard_json if is_json else _quoted
        texts = pa.array([write(text) for text in encoded.dictionary.to_pylist()], pa.string())
        return texts.take(encoded.indices).fill_null("null")
    return pa.array(list(_texts(with_leaves(array, text_leaves), is_json)), pa.string())


def text_leaves(array: pa.Array) -> pa.Array:
    """Return times, durations and bytes as their texts in JSON and CSV; other arrays unchanged."""
    kind = array.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _timestamps(array)
    if pa.types.is_time(kind):
        return array.cast(pa.string())
    if pa.types.is_duration(kind):
        counts = array.cast(pa.int64()).to_pylist()
        return pa.array([_duration(count, _PER_SECOND[kind.unit]) for count in counts], pa.string())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        encoded = [None if value is None else base64.b64encode(value).decode() for value in array.to_pylist()]
        return pa.array(encoded, pa.string())
    return array


def interval_text(months: int, days: int, nanoseconds: int) -> str:
    """Return an interval in ISO 8601, each part with its own sign."""
    return f"P{months}M{days}DT{_seconds(nanoseconds, _PER_SECOND['ns'])}S"


def _timestamps(array: pa.Array) -> pa.Array:
    """Return dates and timestamps as texts; their largest and smallest values are infinity, as in DuckDB."""
    kind = array.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        array = array.cast(pa.timestamp(kind.unit, "UTC"))
    texts = pc.replace_substring_regex(array.cast(pa.string()), r"^([-\d]+) ", r"\1T")
    last = 2**31 - 1 if pa.types.is_date32(kind) else 2**63 - 1
    counts = array.view(pa.int32() if pa.types.is_date32(kind) else pa.int64())
    texts = pc.if_else(pc.equal(counts, last), "infinity", texts)
    return pc.if_else(pc.equal(counts, -last), "-infinity", texts)


def _duration(count: int | None, per_second: int) -> str | None:
    return None if count is None else f"PT{_seconds(count, per_second)}S"


def _seconds(count: int, per_second: int) -> str:
    whole, rest = divmod(abs(count), per_second)
    digits = len(str(per_second)) - 1
    fraction = f".{rest:0{digits}}".rstrip("0") if rest else ""
    return f"{'-' if count < 0 else ''}{whole}{fraction}"


def _quoted(text: str) -> str:
    try:
        return orjson.dumps(text).decode()
    except orjson.JSONEncodeError:
        return orjson.dumps(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")).decode()


def _standard_json(text: str) -> str:
    """Return a log's JSON, which may contain Python's NaN and numbers beyond float64, as standard JSON."""
    return json_text(json.loads(text, parse_constant=str))


def _texts(array: pa.Array, is_json: bool) -> Iterator[str]:
    of_type = _to_plain(array.type)
    for value in array.to_pylist():
        plain = of_type(value) if value is not None else None
        if is_json and isinstance(plain, dict):
            plain = {name: json.loads(text, parse_constant=str) for name, text in plain.items()}
        yield json_text(plain)


def _to_plain(kind: pa.DataType) -> Callable[[Any], Any]:
    """Return the conversion from Arrow's Python values of a type to plain ones: maps are pairs there, dicts here."""
    if pa.types.is_map(kind):
        of_item = _to_plain(kind.item_type)
        return lambda pairs: {key: None if v is None else of_item(v) for key, v in pairs}
    if pa.types.is_struct(kind):
        inner = {kind.field(at).name: _to_plain(kind.field(at).type) for at in range(kind.num_fields)}
        return lambda row: {name: None if v is None else inner[name](v) for name, v in row.items()}
    if is_list(kind):
        of_value = _to_plain(kind.value_type)
        return lambda values: [None if v is None else of_value(v) for v in values]
    return lambda value: value


def _key(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value).strip('"')


def is_list(kind: pa.DataType) -> bool:
    """Return True for a list type of any layout that answers have."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def with_leaves(array: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Return the array with each column of leaves converted; fixed-size lists become variable-size lists."""
    kind = array.type
    if pa.types.is_struct(kind) and kind.num_fields:
        names = [kind.field(at).name for at in range(kind.num_fields)]
        children = [with_leaves(child, convert) for child in array.flatten()]
        return pa.StructArray.from_arrays(children, names, mask=array.is_null())
    if pa.types.is_map(kind):
        entries = array.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
        keys, items = (with_leaves(child, convert) for child in entries.flatten().flatten())
        return pa.MapArray.from_arrays(_offsets(entries), keys, items, mask=array.is_null())
    if is_list(kind):
        values = with_leaves(array.flatten(), convert)
        return pa.ListArray.from_arrays(_offsets(array), values, mask=array.is_null())
    return convert(array)


def _offsets(lists: pa.Array) -> pa.Array:
    """Return the offsets of lists into their values; nulls are empty."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())


def _floats(array: pa.Array) -> pa.LargeStringArray:
    """Return the shortest texts that round-trip the floats."""
    array = array.cast(pa.float64())
    texts = pl.Series(array).cast(pl.String).to_arrow()
    is_nonfinite = pc.fill_null(pc.invert(pc.is_finite(array)), False)
    if not pc.any(is_nonfinite).as_py():
        return texts
    nonfinite = array.filter(is_nonfinite)
    nan, infinity, negative = (f'"{word}"' for word in NUMBER_WORDS)
    words = pc.if_else(pc.is_nan(nonfinite), nan, pc.if_else(pc.greater(nonfinite, 0), infinity, negative))
    return pc.replace_with_mask(texts, is_nonfinite, words.cast(texts.type))
