"""Log lines on standard error, as JSON for machines or text for people: one per message, and one per request.

Nothing in a message or a request can begin a new line. The lines of requests are written at once, past the handlers of
`logging`, so that a process that is killed has logged all it did.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import orjson

from losslake_service.settings import Settings

Format = Literal["json", "text", "off"]
# Not uvicorn.access: requests have lines of their own, and uvicorn skips its lines where nothing handles them.
_LOGGERS = ("uvicorn", "uvicorn.error")
# A line of at most 4,096 bytes is written whole beside those of other workers (PIPE_BUF).
_LONGEST_LINE = 4095
_LONGEST_PATH = 256
_LONGEST_QUERY = 1000
_LONGEST_TARGET = 1500
_LONGEST_CLIENT = 64
_SERVER_ERRORS, _CLIENT_ERRORS = 500, 400
_STANDARD_ERROR = 2

current_request_id: ContextVar[str | None] = ContextVar("current_request_id", default=None)
"""The request that is being answered, for log lines; also in threads that the answer is made in."""


def log_format(settings: Settings) -> Format:
    """Return the format to log in: what was chosen, or what suits where standard error goes."""
    if settings.log_format != "auto":
        return settings.log_format
    return "text" if sys.stderr.isatty() else "json"


def log_to_standard_error(settings: Settings) -> None:
    """Have every logger of the process, uvicorn's too, write lines of the chosen format."""
    chosen = log_format(settings)
    handler: logging.Handler = logging.NullHandler()
    if chosen != "off":
        handler = logging.StreamHandler()
        handler.setFormatter(JsonLines() if chosen == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    logging.captureWarnings(True)
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True


class JsonLines(logging.Formatter):
    """A JSON object per message; an exception's traceback is one of its fields."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": timestamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().strip(),
        }
        request_id = current_request_id.get()
        if request_id is not None:
            line["request_id"] = request_id
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return _json_line(line).decode()


class TextLines(logging.Formatter):
    """A line per message; the lines of a traceback are shifted, so that no one of them looks like a message."""

    def format(self, record: logging.LogRecord) -> str:
        request_id = current_request_id.get()
        words = [timestamp(record.created), record.levelname.lower(), _printable(record.getMessage().strip())]
        if request_id is not None:
            words.append(f"[{request_id}]")
        lines = [" ".join(words)]
        if record.exc_info:
            lines += [f"    {_printable(line)}" for line in self.formatException(record.exc_info).splitlines()]
        return "\n".join(lines)


@dataclass(slots=True)
class AnsweredRequest:
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

    @property
    def level(self) -> str:
        if self.status >= _SERVER_ERRORS:
            return "error"
        return "warning" if self.status >= _CLIENT_ERRORS else "info"


def write_to_standard_error(line: bytes) -> None:
    """Write a line; one that nobody reads is dropped, as requests are more important."""
    with suppress(OSError):
        os.write(_STANDARD_ERROR, line)


class RequestLines:
    """Writes a line per request."""

    def __init__(self, form: Format, write: Callable[[bytes], None] = write_to_standard_error) -> None:
        self._line = {"json": _request_as_json, "text": _request_as_text}.get(form)
        self._write = write

    def log(self, request: AnsweredRequest) -> None:
        """Write the line of a request that was answered now."""
        if self._line is not None:
            self._write(self._line(request) + b"\n")


def _request_as_json(request: AnsweredRequest) -> bytes:
    line: dict[str, object] = {
        "time": timestamp(time.time()),
        "level": request.level,
        "request_id": request.request_id,
        "method": request.method,
        "path": _cut(request.path, _LONGEST_PATH),
        "query": _cut(request.query.decode("latin-1"), _LONGEST_QUERY),
        "status": request.status,
        "bytes": request.bytes,
        "seconds": round(request.seconds, 6),
        "client": request.client and _cut(request.client, _LONGEST_CLIENT),
    }
    if request.release is not None:
        line["release"] = request.release
    if request.problem is not None:
        line["problem"] = request.problem
    text = _json_line(line)
    if len(text) > _LONGEST_LINE:
        # Many characters that JSON writes with six: nobody asks so in earnest.
        line["path"], line["query"] = request.path[:100], request.query[:200].decode("latin-1")
        text = _json_line(line)
    return text


def _request_as_text(request: AnsweredRequest) -> bytes:
    query = f"?{request.query.decode('latin-1')}" if request.query else ""
    words = [
        timestamp(time.time()),
        request.level,
        f"{request.status} {request.method}",
        _cut(_printable(_cut(request.path, _LONGEST_PATH) + _cut(query, _LONGEST_QUERY)), _LONGEST_TARGET),
        f"{request.bytes:,} bytes {request.seconds * 1000:.1f} ms",
        _cut(_printable(request.client or "-"), _LONGEST_CLIENT),
        f"[{request.request_id}]",
    ]
    return " ".join(words).encode("utf-8", "backslashreplace")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "…"


def _json_line(fields: dict[str, Any]) -> bytes:
    """Return fields as one line of JSON without its end; text that is no Unicode is shown as escapes."""
    try:
        return orjson.dumps(fields)
    except orjson.JSONEncodeError:
        return orjson.dumps({name: ascii(value) for name, value in fields.items()})


def _printable(text: str) -> str:
    """Return text with control characters, line ends among them, as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def timestamp(moment: float) -> str:
    """Return a moment, in seconds since 1970, as RFC 3339 in UTC with milliseconds."""
    second = int(moment)
    return f"{_second_as_text(second)}.{int((moment - second) * 1000):03d}Z"


@lru_cache(maxsize=2)
def _second_as_text(second: int) -> str:
    """Kept, as many messages share a second."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
