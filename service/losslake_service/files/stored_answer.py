"""A file of a bucket as the answer to a request: read by ranges through the cache of blocks, in constant memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from losslake_schema.errors import LakeBroken
from losslake_service.files.answer_head import AnswerHead

CHUNK_BYTES = 1 << 21
"""At most two of them are in memory for a client."""
ReadRange = Callable[[int, int], Awaitable[bytes]]
"""Gives the bytes of a file from one position up to another; raises OSError."""


class StoredAnswer(Response):
    """Sends the bytes that a head tells of."""

    def __init__(self, head: AnswerHead, read: ReadRange, name: str) -> None:
        """name: of the file, for the log."""
        self.background = None
        self.status_code, self.raw_headers = head.status, head.raw_headers
        self._bytes = head.part
        self._read = read
        self._name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; raises LakeBroken, before anything is sent if the first bytes can't be had."""
        left = self._bytes if scope["method"] != "HEAD" else range(0)
        chunk, left = await self._first_of(left), left[_to_end_of_chunk(left) :]
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if not left:
            await send({"type": "http.response.body", "body": chunk})
            return
        sending = asyncio.create_task(self._send(chunk, left, send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                await sending
        finally:
            for task in (sending, leaving):
                task.cancel()
            with suppress(asyncio.CancelledError, LakeBroken):
                await sending

    async def _send(self, chunk: bytes, left: range, send: Send) -> None:
        """Send chunk by chunk: while one is under way the next is fetched."""
        while left:
            following = asyncio.create_task(self._first_of(left))
            left = left[_to_end_of_chunk(left) :]
            try:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                chunk = await following
            finally:
                following.cancel()
        await send({"type": "http.response.body", "body": chunk})

    async def _first_of(self, left: range) -> bytes:
        chunk = left[: _to_end_of_chunk(left)]
        if not chunk:
            return b""
        try:
            return await self._read(chunk.start, chunk.stop)
        except OSError as error:
            raise LakeBroken(f"the data file {self._name} can't be read ({error})") from None


def _to_end_of_chunk(left: range) -> int:
    """How many bytes of what is left belong to its first chunk; chunks lie on a grid, as what is kept does."""
    return CHUNK_BYTES - left.start % CHUNK_BYTES if left else 0


async def _left(receive: Receive) -> None:
    """Wait until the client closes its connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
