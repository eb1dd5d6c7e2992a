"""A file of this machine as the answer to a request, in constant memory.

It is read by preadv, not mapped: a mapped file that someone truncates kills the process by SIGBUS, where a read comes
back short. What the page cache holds is read at once (RWF_NOWAIT), which takes less time than asking a thread to; what
has to come from the disk is read in a thread, so that nobody else waits for it. Starlette's FileResponse opens, reads
and closes in threads: it takes five times as long for a data file of usual size. ARCHITECTURE.md has the numbers.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import AsyncIterator, Mapping

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from losslake_schema.errors import LakeBroken
from losslake_service.files.conditions import ServedFile, answer_head

# A client that stops reading has three of them in memory: one half sent, one waiting, one read.
_CHUNK_BYTES = 1 << 16
# At most so many are sent in one message: the answer cache keeps what comes so.
_MOST_AT_ONCE = 1 << 18
_NO_WAIT = getattr(os, "RWF_NOWAIT", None)


class FileAnswer(StreamingResponse):
    """Sends a file, the range of it that is asked for, or 304."""

    def __init__(self, file: ServedFile, request_headers: Mapping[str, str]) -> None:
        """Open the file and settle what to send; raises LakeBroken, and HTTPException for 412 and 416."""
        self._file = _open_unchanged(file)
        try:
            head = answer_head(file, request_headers)
        except BaseException:
            self._file.close()
            raise
        self._part = head.part
        super().__init__(self._chunks(), head.status, head.headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            part = self._part if scope["method"] != "HEAD" else range(0)
            if len(part) > _MOST_AT_ONCE:
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
        """Return at least one byte of a part and at most all; raises LakeBroken where the file ends before."""
        content = bytearray(len(part))
        file = self._file.fileno()
        n_bytes = _read_cached(file, content, part.start)
        if not n_bytes:
            n_bytes = await run_in_threadpool(os.preadv, file, [content], part.start)
        if not n_bytes:
            raise LakeBroken(f"a data file was cut to {part.start} bytes while it was sent: restore it")
        return memoryview(content)[:n_bytes]


def _open_unchanged(file: ServedFile) -> io.FileIO:
    """Open the file; raises LakeBroken when it is gone or has another size than was published."""
    try:
        opened = io.FileIO(file.path)
    except OSError as error:
        raise LakeBroken(f"the data file {file.path} can't be read ({error.strerror}): restore it") from None
    status = os.fstat(opened.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_size != file.size:
        opened.close()
        raise LakeBroken(f"the data file {file.path} was altered since its release: restore it")
    return opened


def _read_cached(file: int, content: bytearray, position: int) -> int:
    """Read what the page cache holds from there on; 0 if it doesn't, or if this file system can't say."""
    if _NO_WAIT is None:
        return 0
    try:
        return os.preadv(file, [content], position, _NO_WAIT)
    except OSError:
        return 0
