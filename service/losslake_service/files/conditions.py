"""What a request's headers ask of a file that doesn't change: all of it, a part of it, or nothing if it is known.

RFC 9110, sections 13 (conditional requests) and 14 (ranges). One range at a time: a request for several is answered
with the whole file, as the RFC allows.

What a request for a file is answered with, before a byte of the file is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from functools import cached_property
from typing import Protocol

from starlette.exceptions import HTTPException

_RANGE = re.compile(r"bytes=(\d{0,20})-(\d{0,20})", re.ASCII | re.IGNORECASE)
_ENTITY_TAG = re.compile(r'\s*(W/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)')


class UnsatisfiableRange(Exception):
    """The range asked for has no byte of the file."""


@dataclass(frozen=True)
class Version:
    """What tells one state of a file from another.

    etag: strong, with its quotation marks. modified: to the second, in UTC.
    """

    etag: str
    modified: datetime

    @cached_property
    def last_modified(self) -> str:
        """`modified` as a header says it."""
        return format_datetime(self.modified, usegmt=True)


def precondition_failed(headers: Mapping[str, str], version: Version) -> bool:
    """Whether the request wants another version than there is."""
    if (wanted := headers.get("if-match")) is not None:
        return wanted.strip() != "*" and not _names(wanted, version.etag, strongly=True)
    since = _moment(headers.get("if-unmodified-since"))
    return since is not None and version.modified > since


def not_modified(headers: Mapping[str, str], version: Version) -> bool:
    """Whether the requester has this version already."""
    if (known := headers.get("if-none-match")) is not None:
        return known.strip() == "*" or _names(known, version.etag, strongly=False)
    since = _moment(headers.get("if-modified-since"))
    return since is not None and version.modified <= since


def asked_range(headers: Mapping[str, str], version: Version, size: int) -> range | None:
    """The bytes asked for, None for all of them; raises UnsatisfiableRange."""
    asked = _RANGE.fullmatch(headers.get("range", "").strip())
    if asked is None or not _still_valid(headers.get("if-range"), version):
        return None
    first, last = asked.groups()
    if not first and not last:
        return None
    if not first:
        start, stop = max(size - int(last), 0), size
    else:
        start, stop = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < start:
            return None
    if start >= stop:
        raise UnsatisfiableRange
    return range(start, stop)


def _still_valid(if_range: str | None, version: Version) -> bool:
    if if_range is None:
        return True
    if if_range.strip().endswith('"'):
        return if_range.strip() == version.etag
    return _moment(if_range) == version.modified


def _names(tags: str, etag: str, strongly: bool) -> bool:
    return any(tag == etag and not (strongly and weak) for weak, tag in _ENTITY_TAG.findall(tags))


def _moment(text: str | None) -> datetime | None:
    """The moment that a header names, None where it names none, which is then to be ignored."""
    if text is None:
        return None
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


FOREVER = "public, max-age=31536000, immutable"


class FileFacts(Protocol):
    """A file that never changes; size: in bytes."""

    @property
    def size(self) -> int: ...
    @property
    def version(self) -> Version: ...
    @property
    def media_type(self) -> str: ...
    @property
    def cache_control(self) -> str: ...


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """Status and headers, and which part of the file follows."""

    status: int
    headers: Mapping[str, str]
    part: range

    @property
    def raw_headers(self) -> list[tuple[bytes, bytes]]:
        """The headers as ASGI has them."""
        return [(name.encode(), value.encode("latin-1")) for name, value in self.headers.items()]


def answer_head(file: FileFacts, asked: Mapping[str, str]) -> AnswerHead:
    """All of the file, the range that is asked for, or 304; raises HTTPException for 412 and 416.

    asked: the request's headers.
    """
    headers = {
        "accept-ranges": "bytes",
        "cache-control": file.cache_control,
        "etag": file.version.etag,
        "last-modified": file.version.last_modified,
    }
    if precondition_failed(asked, file.version):
        raise HTTPException(412, "the file is not the version that If-Match or If-Unmodified-Since names")
    if not_modified(asked, file.version):
        return AnswerHead(304, headers, range(0))
    headers["content-type"] = file.media_type
    chosen = _chosen_range(file, asked)
    if chosen is not None:
        headers["content-range"] = f"bytes {chosen.start}-{chosen.stop - 1}/{file.size}"
    status, chosen = (200, range(file.size)) if chosen is None else (206, chosen)
    headers["content-length"] = str(len(chosen))
    return AnswerHead(status, headers, chosen)


def _chosen_range(file: FileFacts, asked: Mapping[str, str]) -> range | None:
    try:
        return asked_range(asked, file.version, file.size)
    except UnsatisfiableRange:
        message = f"the range {asked['range'][:100]} has no byte of this file of {file.size} bytes"
        raise HTTPException(416, message, {"Content-Range": f"bytes */{file.size}"}) from None
