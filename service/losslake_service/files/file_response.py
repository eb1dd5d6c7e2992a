"""A response with a file of this machine, in constant memory.

The file is read by preadv and not mapped: truncating a mapped file kills the process by SIGBUS, where a read returns
fewer bytes. Bytes in the page cache are read directly (RWF_NOWAIT), which is faster than in a thread; bytes on the disk
are read in a thread, so that the event loop never waits. Starlette's FileResponse opens, reads and closes in threads,
which takes five times as long for a typical data file. ARCHITECTURE.md has the numbers.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from losslake_schema.errors import LakeBroken
from losslake_service.files.ranges import ServedFile, answer_head

# A client that stops reading holds three chunks in memory: one half sent, one waiting, one read.
_CHUNK_BYTES = 1 << 16
# Shorter bodies are sent in one message, as the answer cache requires.
_MAX_MESSAGE = 1 << 18
_NO_WAIT = getattr(os, "RWF_NOWAIT", None)


class LocalFileResponse(StreamingResponse):
    """A response with a file, the requested range of it, or 304."""

    def __init__(
        self, file: ServedFile, request_headers: Mapping[str, str], closed: Callable[[], None] | None = None
    ) -> None:
        """Open the file and settle what to send; raises LakeBroken, and HTTPException for 412 and 416.

        closed: called when it is sent, or its client has gone.
        """
        self._closed = closed
        self._file = _open_unchanged(file)
        try:
            head = answer_head(file, request_headers)
        except BaseException:
            self._file.close()
            raise
        self._part = head.part
        super().__init__(self._chunks(), head.status, head.headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response, and close the file."""
        with self._file, ExitStack() as stack:
            if self._closed is not None:
                stack.callback(self._closed)
            part = self._part if scope["method"] != "HEAD" else range(0)
            if len(part) > _MAX_MESSAGE:
                await super().__call__(scope, receive, send)
                return
            content = await self._read(part) if part else b""
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": content})

    async def _chunks(self) -> AsyncIterator[memoryview]:
        position, stop = self._part.start, self._part.stop
        while position < stop:
            chunk = await self._read(range(position, min(position + _CHUNK_BYTES, stop)))
            position += len(chunk)
            yield chunk

    async def _read(self, part: range) -> memoryview:
        """Return one or more bytes from the start of a range; raise LakeBroken if the file ends before it."""
        content = bytearray(len(part))
        file = self._file.fileno()
        n_bytes = _read_cached(file, content, part.start)
        if not n_bytes:
            n_bytes = await run_in_threadpool(os.preadv, file, [content], part.start)
        if not n_bytes:
            raise LakeBroken(f"a data file was truncated to {part.start} bytes while it was sent: restore it")
        return memoryview(content)[:n_bytes]


def _open_unchanged(file: ServedFile) -> io.FileIO:
    """Open the file; raise LakeBroken if it is missing or its size differs from the published one."""
    try:
        opened = io.FileIO(file.path)
    except OSError as error:
        raise LakeBroken(f"the data file {file.path} can't be read ({error.strerror}): restore it") from None
    status = os.fstat(opened.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_size != file.size:
        opened.close()
        raise LakeBroken(f"the data file {file.path} was changed after its release: restore it")
    return opened


def _read_cached(file: int, content: bytearray, position: int) -> int:
    """Read bytes that are in the page cache; return 0 if there are none, or if the file system can't tell."""
    if _NO_WAIT is None:
        return 0
    try:
        return os.preadv(file, [content], position, _NO_WAIT)
    except OSError:
        return 0
