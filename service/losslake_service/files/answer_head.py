"""What a request for a file is answered with, before a byte of the file is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from starlette.exceptions import HTTPException

from losslake_service.files.conditions import (
    UnsatisfiableRange,
    Version,
    asked_range,
    not_modified,
    precondition_failed,
)

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
