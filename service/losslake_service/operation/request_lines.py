"""A log line per request, written at once so that a process that is killed has told all it did."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from losslake_service.operation.logs import Format, json_line, printable, timestamp

# A line of at most 4,096 bytes is written whole beside those of other workers (PIPE_BUF).
_MOST_OF_A_LINE = 4095
_MOST_OF_A_PATH = 256
_MOST_OF_A_QUERY = 1000
_MOST_OF_A_TARGET = 1500
_MOST_OF_A_CLIENT = 64
_SERVER_ERRORS = 500
_CLIENT_ERRORS = 400
_STANDARD_ERROR = 2


@dataclass(slots=True)
class Answered:
    """What is known of a request when it has been answered."""

    request_id: str
    method: str
    path: str
    query: bytes
    status: int
    bytes: int
    seconds: float
    client: str | None
    release: str | None
    problem: str | None


def write_to_standard_error(line: bytes) -> None:
    """Write a line; one that nobody takes is dropped, as requests are more important."""
    with suppress(OSError):
        os.write(_STANDARD_ERROR, line)


class RequestLines:
    """Writes a line per request."""

    def __init__(self, form: Format, write: Callable[[bytes], None] = write_to_standard_error) -> None:
        self._line = {"json": _json, "text": _text}.get(form)
        self._write = write

    def log(self, answered: Answered) -> None:
        """Write the line of a request that was answered now."""
        if self._line is not None:
            self._write(self._line(answered) + b"\n")


def _json(answered: Answered) -> bytes:
    line: dict[str, object] = {
        "time": timestamp(time.time()),
        "level": _level(answered.status),
        "request_id": answered.request_id,
        "method": answered.method,
        "path": _cut(answered.path, _MOST_OF_A_PATH),
        "query": _cut(answered.query.decode("latin-1"), _MOST_OF_A_QUERY),
        "status": answered.status,
        "bytes": answered.bytes,
        "seconds": round(answered.seconds, 6),
        "client": answered.client and _cut(answered.client, _MOST_OF_A_CLIENT),
    }
    if answered.release is not None:
        line["release"] = answered.release
    if answered.problem is not None:
        line["problem"] = answered.problem
    text = json_line(line)
    if len(text) > _MOST_OF_A_LINE:
        # What has many characters that JSON writes with six: nothing that someone asked in earnest.
        line["path"], line["query"] = answered.path[:100], answered.query[:200].decode("latin-1")
        text = json_line(line)
    return text


def _text(answered: Answered) -> bytes:
    query = f"?{answered.query.decode('latin-1')}" if answered.query else ""
    words = [
        timestamp(time.time()),
        _level(answered.status),
        f"{answered.status} {answered.method}",
        _cut(printable(_cut(answered.path, _MOST_OF_A_PATH) + _cut(query, _MOST_OF_A_QUERY)), _MOST_OF_A_TARGET),
        f"{answered.bytes:,} bytes {answered.seconds * 1000:.1f} ms",
        _cut(printable(answered.client or "-"), _MOST_OF_A_CLIENT),
        f"[{answered.request_id}]",
    ]
    return " ".join(words).encode("utf-8", "backslashreplace")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"


def _level(status: int) -> str:
    if status >= _SERVER_ERRORS:
        return "error"
    return "warning" if status >= _CLIENT_ERRORS else "info"
