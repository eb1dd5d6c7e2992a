"""JSON, YAML and numbers in logs, which nobody vouches for: no nesting, alias, tag or number does any harm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import orjson
import yaml

from losslake_schema.reached import Flags, Floats

LONGEST_JSON = 1 << 24
# As protobuf and strict JSON writers spell what JSON has no number for.
NUMBER_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def read_json(text: bytes) -> Any:
    """The value of a JSON text, which may hold NaN and Infinity as Python writes them; None if it is no JSON."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return read_python_json(text)


def read_python_json(text: bytes) -> Any:
    """The same by Python's own parser, which knows NaN and Infinity but is slow to fail."""
    try:
        return json.loads(text) if len(text) <= LONGEST_JSON else None
    except (ValueError, RecursionError):
        return None


def read_number(text: bytes) -> float | None:
    """The float64 that a text says, None if it says none; 1_000 is a number to Python alone."""
    try:
        return None if b"_" in text else float(text)
    except ValueError:
        return None


def number_column(values: Sequence[float | None], has_holes: bool) -> tuple[Floats, Flags | None]:
    """JSON's numbers as float64, the nearest where they are too long; flags of the nulls, None if there are none."""
    try:
        column = np.array(values, np.float64)
    except OverflowError:
        column = np.array([None if value is None else nearest_float(value) for value in values], np.float64)
    if not has_holes:
        return column, None
    missing = np.fromiter((value is None for value in values), np.bool_, len(values))
    return column, missing if missing.any() else None


def nearest_float(value: float) -> float:
    """The nearest float64, infinite where an integer is beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def read_yaml(data: bytes, leaf: Callable[[yaml.Event], Any], deepest: int) -> Any:
    """The first document of a YAML text as dicts with texts as keys, lists, and what `leaf` makes of everything else.

    That are scalars, aliases, and the beginnings of what is nested deeper than `deepest`. Raises yaml.YAMLError, and
    ValueError for a key that is no scalar or a text that is no Unicode.
    """
    events = yaml.parse(data, Loader=_LOADER)
    first = next((event for event in events if isinstance(event, yaml.NodeEvent)), None)
    document = None if first is None else _node(first, events, leaf, deepest)
    next(events, None)  # raises where the document doesn't end here
    return document


def _node(event: yaml.Event, events: Iterator[yaml.Event], leaf: Callable[[yaml.Event], Any], deepest: int) -> Any:
    if not isinstance(event, yaml.CollectionStartEvent):
        return leaf(event)
    if deepest == 0:
        value, depth = leaf(event), 1
        while depth:
            inner = next(events)
            depth += isinstance(inner, yaml.CollectionStartEvent) - isinstance(inner, yaml.CollectionEndEvent)
        return value
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Any] = []
        while not isinstance(item := next(events), yaml.SequenceEndEvent):
            items.append(_node(item, events, leaf, deepest - 1))
        return items
    mapping: dict[str, Any] = {}
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        if not isinstance(key, yaml.ScalarEvent):
            raise ValueError("a key is no scalar")
        mapping[str(key.value)] = _node(next(events), events, leaf, deepest - 1)
    return mapping
