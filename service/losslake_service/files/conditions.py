"""Conditional requests and ranges, RFC 9110 sections 13 and 14: entity tags, 304, 412, 416, and what caches may do.

One range at a time: a request for several is answered with the whole file, as the RFC allows, and so is one that makes
no sense.
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

from losslake.questions.release_view import ReleaseView

PINNED = "public, max-age=31536000, immutable"
REVALIDATED = "public, no-cache"
_RANGE = re.compile(r"bytes=(\d{0,20})-(\d{0,20})", re.ASCII | re.IGNORECASE)
_ENTITY_TAG = re.compile(r'\s*(W/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)')


@dataclass(frozen=True)
class Version:
    """What distinguishes one state of a file or answer from another.

    etag: strong, with its quotation marks. modified: to the second, in UTC; None where only the tag counts.
    """

    etag: str
    modified: datetime | None = None

    @cached_property
    def last_modified(self) -> str:
        """`modified` as a header says it."""
        assert self.modified is not None
        return format_datetime(self.modified, usegmt=True)


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file that never changes.

    path: in the lake, or on this machine for a file that isn't of the lake. size: in bytes.
    """

    path: str
    size: int
    version: Version
    media_type: str
    cache_control: str = PINNED


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """Status and headers, and which part of the file follows."""

    status: int
    headers: Mapping[str, str]
    part: range


def answer_head(file: ServedFile, request_headers: Mapping[str, str]) -> AnswerHead:
    """Return the head for all of the file, for a range of it, or 304; raises HTTPException for 412 and 416."""
    headers = {
        "accept-ranges": "bytes",
        "cache-control": file.cache_control,
        "etag": file.version.etag,
    }
    if file.version.modified is not None:
        headers["last-modified"] = file.version.last_modified
    if precondition_failed(request_headers, file.version):
        raise HTTPException(412, "the file is not the version that If-Match or If-Unmodified-Since names")
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
    """Whether the request wants another version than there is."""
    if (wanted := headers.get("if-match")) is not None:
        return wanted.strip() != "*" and not _names(wanted, version.etag, strongly=True)
    since = _moment(headers.get("if-unmodified-since"))
    return since is not None and version.modified is not None and version.modified > since


def not_modified(headers: Mapping[str, str], version: Version, *, exists: bool = True) -> bool:
    """Return True if the requester has this version already.

    exists: False before the answer is known to exist, where a star, which names any that does, says nothing.
    """
    if (known := headers.get("if-none-match")) is not None:
        return exists if known.strip() == "*" else _names(known, version.etag, strongly=False)
    since = _moment(headers.get("if-modified-since"))
    return since is not None and version.modified is not None and version.modified <= since


def not_modified_response(
    request_headers: Mapping[str, str],
    headers: Mapping[str, str],
    modified: datetime | None = None,
    *,
    exists: bool = True,
) -> Response | None:
    """Return the 304 with these headers if the requester has the answer that they describe, else None.

    headers: without an etag, no requester can have the answer. exists: as above.
    """
    etag = headers.get("etag")
    if etag is None or not not_modified(request_headers, Version(etag, modified), exists=exists):
        return None
    return Response(status_code=304, headers=headers)


def entity_tag(view: ReleaseView, version: str, path: str, query: bytes, output: str) -> str:
    """Return a strong entity tag, known before the answer is: an answer is a function of these alone.

    version: of the program that writes it. output: the name of the format.
    """
    parts = (view.digest, str(view.number), version, path, output)
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape") + b"\0" + query)
    return f'"{digest.hexdigest()[:32]}"'


def cache_control(is_pinned: bool) -> str:
    """Return what caches may do: an answer of a named release never changes, one of the newest must be revalidated."""
    return PINNED if is_pinned else REVALIDATED


def requested_range(headers: Mapping[str, str], version: Version, size: int) -> range | None:
    """Return the bytes that are requested, None for all of them; raises HTTPException 416 where there are none."""
    matched = _RANGE.fullmatch(headers.get("range", "").strip())
    if matched is None or not _still_valid(headers.get("if-range"), version):
        return None
    first, last = matched.groups()
    if not first and not last:
        return None
    if not first:
        start, stop = max(size - int(last), 0), size
    else:
        start, stop = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < start:
            return None
    if start >= stop:
        detail = f"the range {headers['range'][:100]} has no byte of this file of {size} bytes"
        raise HTTPException(416, detail, {"Content-Range": f"bytes */{size}"})
    return range(start, stop)


def _still_valid(if_range: str | None, version: Version) -> bool:
    if if_range is None:
        return True
    if if_range.strip().endswith('"'):
        return if_range.strip() == version.etag
    return version.modified is not None and _moment(if_range) == version.modified


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
