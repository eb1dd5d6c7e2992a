"""Conditional requests and ranges, RFC 9110 sections 13 and 14: entity tags, 304, 412, 416, and what caches may do.

Single ranges only: a request for several ranges, or for a malformed one, gets the whole file, as the RFC allows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from functools import cached_property

from starlette.exceptions import HTTPException
from starlette.responses import Response

from losslake.questions.release.view import ReleaseView

PINNED = "public, max-age=31536000, immutable"
REVALIDATED = "public, no-cache"
AN_HOUR = "public, max-age=3600"
_RANGE = re.compile(r"bytes=(\d{0,20})-(\d{0,20})", re.ASCII | re.IGNORECASE)
_ENTITY_TAG = re.compile(r'\s*(W/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)')


@dataclass(frozen=True)
class Version:
    """The validators of a file or answer.

    etag: strong, with its quotation marks. modified: to the second, in UTC; None to validate by the tag alone.
    """

    etag: str
    modified: datetime | None = None

    @cached_property
    def last_modified(self) -> str:
        """The value of the header Last-Modified."""
        assert self.modified is not None
        return format_datetime(self.modified, usegmt=True)


@dataclass(frozen=True, slots=True)
class ServedFile:
    """An immutable file.

    path: in the lake, or on this machine for a file outside the lake. size: in bytes.
    """

    path: str
    size: int
    version: Version
    media_type: str
    cache_control: str = PINNED


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """The status and headers of a response, and the byte range of its body."""

    status: int
    headers: Mapping[str, str]
    part: range


def answer_head(file: ServedFile, request_headers: Mapping[str, str]) -> AnswerHead:
    """Return the head of a 200, 206 or 304; raise HTTPException for 412 and 416."""
    headers = {"accept-ranges": "bytes", "cache-control": file.cache_control, "etag": file.version.etag}
    if file.version.modified is not None:
        headers["last-modified"] = file.version.last_modified
    if precondition_failed(request_headers, file.version):
        raise HTTPException(412, "the file is not the version that If-Match or If-Unmodified-Since requires")
    if not_modified(request_headers, file.version):
        return AnswerHead(304, headers, range(0))
    headers["content-type"] = file.media_type
    part = requested_range(request_headers, file.version, file.size)
    if part is not None:
        headers["content-range"] = f"bytes {part.start}-{part.stop - 1}/{file.size}"
    status, part = (200, range(file.size)) if part is None else (206, part)
    headers["content-length"] = str(len(part))
    return AnswerHead(status, headers, part)


def precondition_failed(headers: Mapping[str, str], version: Version) -> bool:
    """Return True if If-Match or If-Unmodified-Since requires another version."""
    if (required := headers.get("if-match")) is not None:
        return required.strip() != "*" and not _contains_tag(required, version.etag, strong=True)
    limit = _parse_date(headers.get("if-unmodified-since"))
    return limit is not None and version.modified is not None and version.modified > limit


def not_modified(headers: Mapping[str, str], version: Version, *, exists: bool = True) -> bool:
    """Return True if the client already has this version.

    exists: False while it is unknown if the answer exists; then `If-None-Match: *` does not match.
    """
    if (client_tags := headers.get("if-none-match")) is not None:
        return exists if client_tags.strip() == "*" else _contains_tag(client_tags, version.etag, strong=False)
    limit = _parse_date(headers.get("if-modified-since"))
    return limit is not None and version.modified is not None and version.modified <= limit


def not_modified_response(
    request_headers: Mapping[str, str],
    headers: Mapping[str, str],
    modified: datetime | None = None,
    *,
    exists: bool = True,
) -> Response | None:
    """Return a 304 with these headers if the client already has the answer, else None.

    headers: of the answer; without an etag nothing matches. exists: as in `not_modified`.
    """
    etag = headers.get("etag")
    if etag is None or not not_modified(request_headers, Version(etag, modified), exists=exists):
        return None
    return Response(status_code=304, headers=headers)


def entity_tag(view: ReleaseView, version: str, path: str, query: bytes, output: str) -> str:
    """Return a strong entity tag from all that determines the answer, without computing the answer.

    version: of LossLake. output: the name of the format.
    """
    parts = (view.digest, str(view.number), version, path, output)
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape") + b"\0" + query)
    return f'"{digest.hexdigest()[:32]}"'


def cache_control(is_pinned: bool) -> str:
    """Return the header Cache-Control: immutable for a pinned release, revalidated for the newest one."""
    return PINNED if is_pinned else REVALIDATED


def requested_range(headers: Mapping[str, str], version: Version, size: int) -> range | None:
    """Return the requested byte range, or None for the whole file; raise HTTPException 416 if it is unsatisfiable."""
    match = _RANGE.fullmatch(headers.get("range", "").strip())
    if match is None or not _if_range_matches(headers.get("if-range"), version):
        return None
    first, last = match.groups()
    if not first and not last:
        return None
    if not first:
        start, stop = max(size - int(last), 0), size
    else:
        start, stop = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < start:
            return None
    if start >= stop:
        detail = f"the range {headers['range'][:100]} lies outside this file of {size} bytes"
        raise HTTPException(416, detail, {"Content-Range": f"bytes */{size}"})
    return range(start, stop)


def _if_range_matches(if_range: str | None, version: Version) -> bool:
    if if_range is None:
        return True
    if if_range.strip().endswith('"'):
        return if_range.strip() == version.etag
    return version.modified is not None and _parse_date(if_range) == version.modified


def _contains_tag(tags: str, etag: str, strong: bool) -> bool:
    return any(tag == etag and not (strong and weak) for weak, tag in _ENTITY_TAG.findall(tags))


def _parse_date(text: str | None) -> datetime | None:
    """Parse an HTTP date; return None if it is missing or invalid, as such a header must be ignored."""
    if text is None:
        return None
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return date.replace(tzinfo=UTC) if date.tzinfo is None else date
