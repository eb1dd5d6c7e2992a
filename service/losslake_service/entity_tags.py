"""Entity tags and conditional requests (RFC 9110, section 13) of all answers, pages and files: when a client gets 304.

Each coding of an answer has its own tag: the application's, with the coding as a suffix. Compression adds it and takes
it off, so that all else knows the application's tags only.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from functools import cached_property
from typing import Literal

from starlette.responses import Response
from starlette.types import Message

from losslake.questions.release.view import ReleaseView

PINNED = "public, max-age=31536000, immutable"
REVALIDATED = "public, no-cache"
AN_HOUR = "public, max-age=3600"
_ENTITY_TAG = re.compile(r'\s*(W/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)')
Coding = Literal["gzip", "zstd"]
# By preference.
CODINGS: tuple[Coding, ...] = ("zstd", "gzip")
_TAG = re.compile(rb'(?:W/)?"[^"]*"')
_TAG_WITH_SUFFIX = re.compile(rb'"([^"]*)-(?:%b)"' % b"|".join(coding.encode() for coding in CODINGS))


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


def not_modified_start(start: Message) -> Message:
    """Return the start of the 304 that stands for a response with this start."""
    headers = [(name, value) for name, value in start["headers"] if name not in (b"content-length", b"content-type")]
    return {"type": "http.response.start", "status": 304, "headers": headers}


def entity_tag(view: ReleaseView, version: str, path: str, query: bytes, output: str) -> str:
    """Return a strong entity tag from all that determines the answer, without computing the answer.

    version: of LossLake. output: the name of the format.
    """
    parts = (view.digest, str(view.number), version, path, output)
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape") + b"\0" + query)
    return digest_tag(digest.hexdigest())


def digest_tag(sha256: str) -> str:
    """Return the strong entity tag of bytes with this SHA-256, in hexadecimal."""
    return f'"{sha256[:32]}"'


def cache_control(is_pinned: bool) -> str:
    """Return the header Cache-Control: immutable for a pinned release, revalidated for the newest one."""
    return PINNED if is_pinned else REVALIDATED


def if_range_matches(if_range: str | None, version: Version) -> bool:
    """Return True if a range of this version may be sent: If-Range names it, or is missing."""
    if if_range is None:
        return True
    if if_range.strip().endswith('"'):
        return if_range.strip() == version.etag
    return version.modified is not None and _parse_date(if_range) == version.modified


def with_suffix(tag: bytes, coding: Coding) -> bytes:
    """Return the strong tag of the compressed response; weak tags are equal for all codings."""
    return b'%b-%b"' % (tag[:-1], coding.encode()) if tag.startswith(b'"') and len(tag) > 1 else tag


def without_suffix(tags: bytes) -> bytes:
    """Return the value of If-None-Match with the application's tags, without suffixes."""
    return _TAG_WITH_SUFFIX.sub(rb'"\1"', tags)


def tag_of_304(tag: bytes, client_tags: bytes, coding: Coding | None) -> bytes:
    """Return the tag of a 304: the client's own, preferably the one of its preferred coding.

    tag: the application's. client_tags: the original value of If-None-Match.
    """
    matching = [client_tag for client_tag in _TAG.findall(client_tags) if without_suffix(client_tag) == tag]
    preferred = with_suffix(tag, coding) if coding is not None else tag
    return preferred if preferred in matching or not matching else matching[0]


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
