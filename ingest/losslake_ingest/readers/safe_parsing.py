"""Safe parsing of untrusted JSON, YAML and numbers: no nesting, alias, tag or number can do harm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson
import yaml

from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import Scalar
from losslake_ingest.readers.repeated_keys import RepeatedKey, check_repeats, distinct_pairs
from losslake_schema.reached import Flags, Floats

LONGEST_JSON = 1 << 22  # as objects, they need up to 30 times that
MOST_VALUES = 2**21  # of a document; as objects, they need about 100 bytes each
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def read_json(text: bytes) -> Any:
    """Parse a JSON text, which may hold NaN and Infinity as Python writes them.

    Returns None if it isn't JSON, is too long, or repeats a key with another value.
    """
    try:
        return _parsed(text) if len(text) <= LONGEST_JSON else None
    except (ValueError, RecursionError):
        return None


def _parsed(text: bytes) -> Any:
    """Parse JSON. Raises ValueError, of which RepeatedKey and json.JSONDecodeError are kinds, and RecursionError."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text, object_pairs_hook=distinct_pairs)
    check_repeats(text, value)
    return value


def read_python_json(text: bytes) -> Any:
    """Parse JSON as read_json does, by Python's own parser, which accepts NaN and Infinity but is slow to fail."""
    try:
        return json.loads(text, object_pairs_hook=distinct_pairs) if len(text) <= LONGEST_JSON else None
    except (ValueError, RecursionError):
        return None


def read_document(data: bytes) -> Any:
    """Parse a log that is one JSON document, in which Python may write NaN and Infinity. Raises Refusal."""
    n_values = sum(data.count(character) for character in (b",", b"[", b"{"))
    if n_values > MOST_VALUES:
        message = f"about {n_values:,} values; at most {MOST_VALUES:,} are read from a JSON document: log less often"
        raise Refusal(Rule.FILE_TOO_LARGE, message)
    try:
        return _parsed(data)
    except RepeatedKey as error:
        raise Refusal(Rule.VALUES_DISAGREE, str(error)) from None
    except json.JSONDecodeError as error:
        message = f"the JSON is damaged or cut short ({error.msg}): copy the file again, or remove it"
        raise Refusal(Rule.UNREADABLE_LOG, message, error.lineno) from None
    except ValueError as error:
        message = f"the JSON can't be read ({error}): copy the file again, or remove it"
        raise Refusal(Rule.UNREADABLE_LOG, message) from None
    except RecursionError:
        raise Refusal(Rule.UNREADABLE_LOG, "the JSON is nested too deeply: it isn't a log") from None


def flattened(
    value: Any, depth: int, prefix: str = "", is_value: Callable[[dict[Any, Any]], bool] | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield the values of a JSON document with their names: keys of nested objects are joined by dots.

    depth: of the deepest objects that are opened. is_value: returns True for objects that aren't opened.
    """
    if not isinstance(value, dict) or not depth or (is_value is not None and is_value(value)):
        yield prefix, value
        return
    for key, inner in value.items():
        yield from flattened(inner, depth - 1, f"{prefix}.{key}" if prefix else str(key), is_value)


def printable(text: str) -> str:
    """Replace lone surrogates, which JSON can escape and UTF-8 can't encode, by escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def clean_text(text: str) -> str:
    """Replace lone surrogates, which UTF-8 can't encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def scalars(values: Iterable[tuple[str, object]]) -> dict[str, Scalar]:
    """Return the numbers and texts among some values, with their names, as they can be printed."""
    return {
        printable(name): printable(value) if isinstance(value, str) else value
        for name, value in values
        if isinstance(value, Scalar)
    }


def unix_seconds(text: object) -> float | None:
    """Return the Unix seconds of an ISO time, in UTC unless it says its zone; None if it isn't one."""
    try:
        time = datetime.fromisoformat(str(text))
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def number_column(values: Sequence[float | None], has_holes: bool) -> tuple[Floats, Flags | None]:
    """Convert JSON numbers to float64, rounding long ones; return them with flags of nulls, None if there are none."""
    try:
        column = np.array(values, np.float64)
    except OverflowError:
        column = np.array([None if value is None else nearest_float(value) for value in values], np.float64)
    if not has_holes:
        return column, None
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    return column, missing if missing.any() else None


def nearest_float(value: float) -> float:
    """Return the nearest float64, infinite for an integer beyond its range."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def read_yaml(data: bytes, leaf: Callable[[yaml.Event], Any], max_depth: int) -> Any:
    """Parse the first document of a YAML text to dicts with string keys, lists, and what `leaf` makes of the rest.

    `leaf` gets scalars, aliases, and the start events of collections nested deeper than `max_depth`. Raises
    yaml.YAMLError, and ValueError for a key that isn't a scalar or is there twice, or text that isn't Unicode.
    """
    events = yaml.parse(data, Loader=_LOADER)
    first = next((event for event in events if isinstance(event, yaml.NodeEvent)), None)
    document = None if first is None else _node(first, events, leaf, max_depth)
    next(events, None)  # raises where the document doesn't end here
    return document


def _node(event: yaml.Event, events: Iterator[yaml.Event], leaf: Callable[[yaml.Event], Any], max_depth: int) -> Any:
    if not isinstance(event, yaml.CollectionStartEvent):
        return leaf(event)
    if max_depth == 0:
        value, depth = leaf(event), 1
        while depth:
            inner = next(events)
            depth += isinstance(inner, yaml.CollectionStartEvent) - isinstance(inner, yaml.CollectionEndEvent)
        return value
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Any] = []
        while not isinstance(item := next(events), yaml.SequenceEndEvent):
            items.append(_node(item, events, leaf, max_depth - 1))
        return items
    mapping: dict[str, Any] = {}
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        if not isinstance(key, yaml.ScalarEvent):
            raise ValueError("a key isn't a scalar")
        name = str(key.value)
        if name in mapping:
            raise ValueError(f"{shown(name)} is there twice")
        mapping[name] = _node(next(events), events, leaf, max_depth - 1)
    return mapping
