"""Log lines on standard error, as JSON for machines or text for people; nothing in a message can begin a new line."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any, Literal

import orjson

from losslake_service.operation.request_ids import current_request_id
from losslake_service.settings import Settings

Format = Literal["json", "text", "off"]
LOGGERS = ("uvicorn", "uvicorn.error", "uvicorn.access")


def log_format(settings: Settings) -> Format:
    """The format to log in: what was chosen, or what suits where standard error goes."""
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
    for name in LOGGERS:
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
        return json_line(line).decode()


class TextLines(logging.Formatter):
    """A line per message; the lines of a traceback are shifted, so that no one of them looks like a message."""

    def format(self, record: logging.LogRecord) -> str:
        request_id = current_request_id.get()
        words = [timestamp(record.created), record.levelname.lower(), printable(record.getMessage().strip())]
        if request_id is not None:
            words.append(f"[{request_id}]")
        lines = [" ".join(words)]
        if record.exc_info:
            lines += [f"    {printable(line)}" for line in self.formatException(record.exc_info).splitlines()]
        return "\n".join(lines)


def json_line(fields: dict[str, Any]) -> bytes:
    """Fields as one line of JSON without its end; text that is no Unicode is shown as escapes."""
    try:
        return orjson.dumps(fields)
    except orjson.JSONEncodeError:
        return orjson.dumps({name: ascii(value) for name, value in fields.items()})


def printable(text: str) -> str:
    """Text with control characters, line ends among them, as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class _Seconds:
    """The last second that was written, as many messages share it."""

    second = -1
    text = ""


def timestamp(moment: float) -> str:
    """A moment, in seconds since 1970, as RFC 3339 in UTC with milliseconds."""
    second = int(moment)
    if second != _Seconds.second:
        _Seconds.text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        _Seconds.second = second
    return f"{_Seconds.text}.{int((moment - second) * 1000):03d}Z"
