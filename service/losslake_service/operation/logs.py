"""Logging to standard error as JSON or text: one line per message and per request.

No message or request can start a new line. Request lines bypass the handlers of `logging` and are written unbuffered,
so that none is lost when a process is killed.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import orjson

from losslake_service.settings import ServerSettings

Format = Literal["json", "text", "off"]
# Without uvicorn.access, as requests are logged here; uvicorn skips access lines that have no handler.
_LOGGERS = ("uvicorn", "uvicorn.error")
# Writes of at most 4,096 bytes (PIPE_BUF) don't mix with those of other workers.
_LONGEST_LINE = 4095
_LONGEST_PATH = 256
_LONGEST_QUERY = 1000
_LONGEST_TARGET = 1500
_LONGEST_CLIENT = 64
# Tokens of contributors, which belong into a header, and those of links to drafts and live runs: no reader of logs may
# use them.
_SECRET = re.compile(r"(llc_[0-9a-f]{1,12}_|/(?:drafts|live|notifications)/)[A-Za-z0-9_-]{30,}=*")

# Below it, queries have the codes by which providers answer who signs in.
_SIGN_IN = "/sign-in/"

# The id of the current request, for log lines; also set in threads that compute its response.
current_request_id: ContextVar[str | None] = ContextVar("current_request_id", default=None)


def log_format(settings: ServerSettings) -> Format:
    """Return the log format: the setting, or for `auto` text on a terminal and else JSON."""
    if settings.log_format != "auto":
        return settings.log_format
    return "text" if sys.stderr.isatty() else "json"


def configure_logging(settings: ServerSettings) -> None:
    """Configure all loggers of the process, including uvicorn's, for the log format."""
    format_name = log_format(settings)
    handler: logging.Handler = logging.NullHandler()
    if format_name != "off":
        handler = logging.StreamHandler()
        handler.setFormatter(JsonLines() if format_name == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    logging.captureWarnings(True)
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True


class JsonLines(logging.Formatter):
    """A formatter that writes a JSON object per message, with a traceback as one of its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message as one line of JSON."""
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
    """A formatter that writes a line per message; tracebacks are indented, to differ from messages."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message as one line of text, and its traceback."""
        request_id = current_request_id.get()
        parts = [timestamp(record.created), record.levelname.lower(), _printable(record.getMessage().strip())]
        if request_id is not None:
            parts.append(f"[{request_id}]")
        lines = [" ".join(parts)]
        if record.exc_info:
            lines += [f"    {_printable(line)}" for line in self.formatException(record.exc_info).splitlines()]
        return "\n".join(lines)


@dataclass(slots=True)
class RequestRecord:
    """The facts of a completed request."""

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
        """The log level, from the status."""
        if self.status >= 500:
            return "error"
        return "warning" if self.status >= 400 else "info"


def write_to_standard_error(line: bytes) -> None:
    """Write a line; ignore errors, as a closed standard error must not fail requests."""
    with suppress(OSError):
        os.write(2, line)


class RequestLog:
    """The request log: a line per request."""

    def __init__(self, line_format: Format, write: Callable[[bytes], None] = write_to_standard_error) -> None:
        self._format_line = {"json": _request_as_json, "text": _request_as_text}.get(line_format)
        self._write = write

    def log(self, request: RequestRecord) -> None:
        """Write the line of a request that has just completed."""
        if self._format_line is not None:
            self._write(self._format_line(_without_secrets(request)) + b"\n")


def _without_secrets(request: RequestRecord) -> RequestRecord:
    query = request.query.decode("latin-1")
    if query and request.path.startswith(_SIGN_IN):
        return replace(request, query=b"...")
    if _SECRET.search(request.path) is None and _SECRET.search(query) is None:
        return request
    path, query = _SECRET.sub(r"\1...", request.path), _SECRET.sub(r"\1...", query)
    return replace(request, path=path, query=query.encode("latin-1"))


def _request_as_json(request: RequestRecord) -> bytes:
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
        # JSON escapes some characters with six; legitimate requests have few of them.
        line["path"], line["query"] = request.path[:100], request.query[:200].decode("latin-1")
        text = _json_line(line)
    return text


def _request_as_text(request: RequestRecord) -> bytes:
    query = f"?{request.query.decode('latin-1')}" if request.query else ""
    parts = [
        timestamp(time.time()),
        request.level,
        f"{request.status} {request.method}",
        _cut(_printable(_cut(request.path, _LONGEST_PATH) + _cut(query, _LONGEST_QUERY)), _LONGEST_TARGET),
        f"{request.bytes:,} bytes {request.seconds * 1000:.1f} ms",
        _cut(_printable(request.client or "-"), _LONGEST_CLIENT),
        f"[{request.request_id}]",
    ]
    return " ".join(parts).encode("utf-8", "backslashreplace")


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length] + "…"


def _json_line(fields: dict[str, Any]) -> bytes:
    """Return fields as JSON without a line end; escape strings that are not valid Unicode."""
    try:
        return orjson.dumps(fields)
    except orjson.JSONEncodeError:
        return orjson.dumps({name: ascii(value) for name, value in fields.items()})


def _printable(text: str) -> str:
    """Return text with escaped control characters, including line ends."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def timestamp(unix_time: float) -> str:
    """Return a Unix time as RFC 3339 in UTC with milliseconds."""
    second = int(unix_time)
    return f"{_second_as_text(second)}.{int((unix_time - second) * 1000):03d}Z"


@lru_cache(maxsize=2)
def _second_as_text(second: int) -> str:
    """Format whole seconds; cached, as many messages share a second."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
