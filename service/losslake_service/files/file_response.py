"""A file as the answer to a request, in constant memory: by sendfile where the server offers it, else by chunks.

Chunks are read by preadv, not mapped: a mapped file that someone truncates kills the process by SIGBUS, where a read
comes back short. What the page cache holds is read at once (RWF_NOWAIT), which takes less time than asking a thread to;
what has to come from the disk is read in a thread, so that nobody else waits for it.
"""

from __future__ import annotations

import io
import os
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from losslake_schema.errors import LakeBroken
from losslake_service.files.conditions import FOREVER, Version, answer_head
from losslake_service.operation.zero_copy import ZERO_COPY

_SMALLEST_CHUNK = 1 << 16
_LARGEST_CHUNK = 1 << 19
# Below, a copy costs less than what else there is to do, and middlewares see the bytes: the answer cache keeps them.
_LEAST_FOR_SENDFILE = 1 << 18
# What is counted as sent before it is, in case the client goes away.
_LARGEST_PART = 1 << 22
_QUICK, _SLOW = 0.01, 0.1
_NO_WAIT = getattr(os, "RWF_NOWAIT", None)


@dataclass(frozen=True, slots=True)
class ServedFile:
    """A file of this machine that never changes; size: in bytes."""

    path: Path
    size: int
    version: Version
    media_type: str
    cache_control: str = FOREVER


class FileAnswer(Response):
    """Sends a file, the range of it that is asked for, or 304."""

    def __init__(self, file: ServedFile, request_headers: Mapping[str, str]) -> None:
        """Open the file and settle what to send; raises LakeBroken, and HTTPException for 412 and 416."""
        self.background = None
        self._file = open_unchanged(file)
        try:
            head = answer_head(file, request_headers)
        except BaseException:
            os.close(self._file)
            raise
        self.status_code, self.raw_headers, self._bytes = head.status, head.raw_headers, head.part

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_bytes = scope["method"] != "HEAD" and len(self._bytes) > 0
        is_for_kernel = len(self._bytes) > _LEAST_FOR_SENDFILE and ZERO_COPY in (scope.get("extensions") or ())
        start: Message = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        try:
            await send({**start, ZERO_COPY: True} if has_bytes and is_for_kernel else start)
            if not has_bytes:
                await send({"type": "http.response.body"})
            elif is_for_kernel:
                await self._send_parts(send)
            else:
                await self._send_bytes(send)
        finally:
            os.close(self._file)

    async def _send_parts(self, send: Send) -> None:
        """Have the server send the file; one whose client goes away is done."""
        file = io.FileIO(self._file, closefd=False)
        stop = self._bytes.stop
        for position in range(self._bytes.start, stop, _LARGEST_PART):
            count = min(_LARGEST_PART, stop - position)
            part = {"file": file, "offset": position, "count": count, "more_body": position + count < stop}
            try:
                await send({"type": ZERO_COPY, **part})
            except EOFError as error:
                raise LakeBroken(f"a data file was cut while it was sent ({error}): restore it") from None
            except (ConnectionError, TimeoutError):
                return

    async def _send_bytes(self, send: Send) -> None:
        """Send chunk by chunk: while one is under way the next is read, and a slow reader is given smaller ones."""
        position, stop, most = self._bytes.start, self._bytes.stop, _LARGEST_CHUNK
        while position < stop:
            chunk = await _read(self._file, position, min(most, stop - position))
            position += len(chunk)
            began = time.monotonic()
            await send({"type": "http.response.body", "body": chunk, "more_body": position < stop})
            most = next_chunk(most, time.monotonic() - began)


def next_chunk(size: int, seconds: float) -> int:
    """The size of the next chunk, in bytes, after one of this size was waited for so long."""
    if seconds < _QUICK:
        return min(size * 2, _LARGEST_CHUNK)
    return max(size // 2, _SMALLEST_CHUNK) if seconds > _SLOW else size


def open_unchanged(file: ServedFile) -> int:
    """A descriptor of the file; raises LakeBroken when it is gone or has another size than was published."""
    try:
        opened = os.open(file.path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise LakeBroken(f"the data file {file.path} can't be read ({error.strerror}): restore it") from None
    found = os.fstat(opened)
    if not stat.S_ISREG(found.st_mode) or found.st_size != file.size:
        os.close(opened)
        raise LakeBroken(f"the data file {file.path} was altered since its release: restore it")
    return opened


async def _read(file: int, position: int, count: int) -> bytes | bytearray:
    """At most so many bytes and at least one; raises LakeBroken where the file ends, which ends the connection."""
    chunk: bytes | bytearray | None = _read_cached(file, position, count)
    if not chunk:
        chunk = await run_in_threadpool(os.pread, file, count, position)
    if not chunk:
        raise LakeBroken(f"a data file was cut to {position} bytes while it was sent: restore it")
    return chunk


def _read_cached(file: int, position: int, count: int) -> bytearray | None:
    """What the page cache holds from there on; None if it doesn't, or if this file system can't tell."""
    if _NO_WAIT is None:
        return None
    chunk = bytearray(count)
    try:
        found = os.preadv(file, [chunk], position, _NO_WAIT)
    except OSError:
        return None
    if found < count:
        del chunk[found:]
    return chunk
