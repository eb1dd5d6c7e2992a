"""Values of any Arrow type as JSON has them; one form for each, in answers as in SQL results.

Floats round-trip; NaN and infinities are the strings "NaN", "Infinity" and "-Infinity". Times are ISO 8601; decimals
are numbers with all their digits; bytes are base64; maps are objects.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pyarrow as pa


def json_text(value: Any) -> str:
    """A Python value as compact JSON."""
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"), default=str)


def json_texts(array: pa.Array, is_json: bool = False) -> pa.Array:
    """Each value of an array as JSON text, nulls as `null`; each different text is only written once.

    is_json: the texts, or those in a map, are JSON themselves and stand as what they say.
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        array, kind = array.cast(kind.value_type), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        encoded = array.dictionary_encode()
        write: Callable[[Any], str] = _written_again if is_json else _quoted
        texts = pa.array([write(text) for text in encoded.dictionary.to_pylist()], pa.string())
        return texts.take(encoded.indices).fill_null("null")
    return pa.array(list(_texts(array, is_json)), pa.string())


def number_text(value: float) -> float | str:
    """A float as JSON can hold it: NaN, Infinity and -Infinity become strings."""
    if math.isfinite(value):
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def _written_again(text: str) -> str:
    """JSON of a log, in which Python's NaN and numbers beyond float64 may stand, as JSON proper."""
    return json_text(json.loads(text, parse_constant=str))


def _texts(array: pa.Array, is_json: bool) -> Iterator[str]:
    of_type = _typed(array.type)
    for value in array.to_pylist():
        plain = of_type(value) if value is not None else None
        if is_json and isinstance(plain, dict):
            plain = {name: json.loads(text, parse_constant=str) for name, text in plain.items()}
        if isinstance(plain, decimal.Decimal) and plain.is_finite():
            yield format(plain, "f")
        else:
            yield json_text(plain)


def _typed(kind: pa.DataType) -> Callable[[Any], Any]:
    """What makes of a value of that type, as Arrow gives it, one that says what it is: a map comes as pairs."""
    if pa.types.is_map(kind):
        of_key, of_item = _typed(kind.key_type), _typed(kind.item_type)
        return lambda pairs: {_key(of_key(k)): None if v is None else of_item(v) for k, v in pairs}
    if pa.types.is_struct(kind):
        inner = {kind.field(at).name: _typed(kind.field(at).type) for at in range(kind.num_fields)}
        return lambda row: {name: None if v is None else inner[name](v) for name, v in row.items()}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        of_value = _typed(kind.value_type)
        return lambda values: [None if v is None else of_value(v) for v in values]
    return lambda value: value


def _key(value: Any) -> str:
    plain = _plain(value)
    return plain if isinstance(plain, str) else json_text(plain)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return value
