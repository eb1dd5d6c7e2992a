"""The head of a response with a file: its status and headers, and the requested range (RFC 9110, section 14).

Single ranges only: a request for several ranges, or for a malformed one, gets the whole file, as the RFC allows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.exceptions import HTTPException

from losslake_service.entity_tags import PINNED, Version, if_range_matches, not_modified, precondition_failed

_RANGE = re.compile(r"bytes=(\d{0,20})-(\d{0,20})", re.ASCII | re.IGNORECASE)


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


def requested_range(headers: Mapping[str, str], version: Version, size: int) -> range | None:
    """Return the requested byte range, or None for the whole file; raise HTTPException 416 if it is unsatisfiable."""
    match = _RANGE.fullmatch(headers.get("range", "").strip())
    if match is None or not if_range_matches(headers.get("if-range"), version):
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
