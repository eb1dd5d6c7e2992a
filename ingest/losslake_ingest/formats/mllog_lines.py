"""One line of an MLPerf log, in any of its three dialects."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

LONGEST_LINE = 1 << 20
LATEST = 1e15
_MARKED = re.compile(rb":::(MLPv0\.5\.0|MLLOG|MLL)\b([^\r\n]*)")
# `:::MLL <seconds> <key>: {json}`, and `:::MLPv0.5.0 <benchmark> <seconds> (<file>:<line>) <key>[: <json>]`
_OLD = re.compile(rb"\s+(?:([\w-]+)\s+)?([0-9.]+)\s+(?:\([^)]*\)\s+)?([\w.\-]+)(?::\s*(.*))?$", re.DOTALL)


@dataclass(frozen=True)
class LogLine:
    """A key and what is logged with it; time: Unix seconds, NaN where none is given."""

    key: str
    value: Any
    metadata: Mapping[str, Any]
    time: float


def lines_of(data: bytes) -> Iterator[LogLine | None]:
    """The MLPerf lines of a log, None for one that can't be read; text before a marker is other output."""
    for match in _MARKED.finditer(data):
        dialect, rest = match.groups()
        if len(rest) > LONGEST_LINE:
            yield None
        elif dialect == b"MLLOG":
            yield _new(rest)
        else:
            yield _old(rest, is_first=dialect != b"MLL")


def _new(rest: bytes) -> LogLine | None:
    document = _json(rest)
    if not isinstance(document, dict) or not isinstance(document.get("key"), str):
        return None
    return LogLine(
        document["key"], document.get("value"), _object(document.get("metadata")), _seconds(document.get("time_ms"))
    )


def _seconds(milliseconds: object) -> float:
    if not isinstance(milliseconds, (int, float)) or abs(milliseconds) > LATEST:
        return math.nan
    return milliseconds / 1000.0


def _old(rest: bytes, is_first: bool) -> LogLine | None:
    match = _OLD.match(rest)
    if match is None:
        return None
    benchmark, seconds, key, text = match.groups()
    try:
        time = float(seconds)
    except ValueError:
        return None
    document = _json(text.strip()) if text and text.strip() else None
    if is_first:
        return _first_line(key.decode(), document, text, time)
    if not isinstance(document, dict) or benchmark is not None:
        return None
    return LogLine(key.decode(), document.get("value"), _object(document.get("metadata")), time)


def _first_line(key: str, document: Any, text: bytes | None, time: float) -> LogLine:
    """The dialect of v0.5: the value stands alone, or as `{"epoch": …, "value": …}`."""
    if isinstance(document, dict) and "value" in document:
        metadata = {"epoch_num": document["epoch"]} if "epoch" in document else {}
        return LogLine(key, document["value"], metadata, time)
    if document is None and text:
        document = text.decode("utf-8", "replace").strip().strip('"')
    return LogLine(key, document, {}, time)


def _json(text: bytes) -> Any:
    """The JSON value of a text, None if it is none; Python's reader knows NaN, which orjson doesn't."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return None


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
