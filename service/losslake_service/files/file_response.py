"""A response with a file of this machine, in constant memory.

The file is read by preadv and not mapped: truncating a mapped file kills the process by SIGBUS, where a read returns
fewer bytes. Bytes in the page cache are read directly (RWF_NOWAIT), which is faster than in a thread; the rest is read
in a thread, so that the event loop never waits. Starlette's FileResponse opens, reads and closes in threads, so a
request of a typical data file takes 0.6 ms more. ARCHITECTURE.md has the numbers.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from losslake_schema.errors import LakeBroken
from losslake_service.entity_tags import Version
from losslake_service.files.ranges import ServedFile, answer_head

# A client that stops reading holds three chunks in memory: one half sent, one waiting, one read. The bytes of a chunk
# give it time at the least rate, so larger chunks, which take less processor time, let it hold a result of SQL longer.
_CHUNK_BYTES = 1 << 16
# Shorter bodies are sent in one message, as the answer cache requires.
MAX_MESSAGE = 1 << 18
_FILE_HEADERS = (b"accept-ranges", b"content-type", b"content-length", b"content-range")
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
            if len(part) > MAX_MESSAGE:
                await super().__call__(scope, receive, send)
                return
            content = await self._read(part)
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": content})

    async def _chunks(self) -> AsyncIterator[memoryview]:
        for start in range(self._part.start, self._part.stop, _CHUNK_BYTES):
            yield await self._read(range(start, min(start + _CHUNK_BYTES, self._part.stop)))

    async def _read(self, part: range) -> memoryview:
        """Return all bytes of a range; raise LakeBroken if the file ends within it."""
        content, file = memoryview(bytearray(len(part))), self._file.fileno()
        n_bytes = _read_cached(file, content, part.start)
        while n_bytes < len(part):
            position = part.start + n_bytes
            n_more = await run_in_threadpool(os.preadv, file, [content[n_bytes:]], position)
            if not n_more:
                raise LakeBroken(f"a data file was truncated to {position} bytes while it was sent: restore it")
            n_bytes += n_more
        return content


def file_response(
    request: Request, path: Path, media_type: str, headers: Mapping[str, str], closed: Callable[[], None] | None = None
) -> LocalFileResponse:
    """Return a finished answer in a file of its own, which may be removed at once.

    headers: of the answer, with its etag; those of the body are replaced. closed: called when it is sent, or its client
    has gone.
    """
    served = ServedFile(str(path), path.stat().st_size, Version(headers["etag"]), media_type)
    response = LocalFileResponse(served, request.headers, closed)
    encoded_headers = {name.lower().encode(): value.encode("latin-1") for name, value in headers.items()}
    response.raw_headers = [
        *((name, value) for name, value in response.raw_headers if name in _FILE_HEADERS),
        *((name, value) for name, value in encoded_headers.items() if name not in _FILE_HEADERS),
    ]
    return response


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


def _read_cached(file: int, content: memoryview, position: int) -> int:
    """Read the bytes up to the first one that isn't in the page cache; return how many, 0 if it isn't known."""
    if _NO_WAIT is None:
        return 0
    try:
        return os.preadv(file, [content], position, _NO_WAIT)
    except OSError:
        return 0
