"""ASGI's extension http.response.zerocopysend for connections of uvicorn: the kernel sends a file, uncopied.

sendfile goes beside the transport, which offers no such thing under uvloop, and only when the transport has written all
it was given. What isn't in memory is brought there by a thread first: sendfile would wait for the disk, and with it
everyone else.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable
from typing import Any, cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from service.operating.page_cache import bring_into_memory

ZERO_COPY = "http.response.zerocopysend"
# What one connection may send before it is the next one's turn: a fraction of a millisecond.
_MOST_AT_ONCE = 1 << 21


class FileSender:
    """Sends parts of files over one connection, one after the other.

    most_seconds: after which a client that takes nothing is given up.
    """

    def __init__(self, transport: asyncio.Transport, most_seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._most_seconds = most_seconds
        self._waiting: asyncio.Future[None] | None = None

    async def send(self, file: int, offset: int, count: int) -> None:
        """Send so many bytes; all that the transport was given must be written.

        Raises:
            EOFError: the file ends before.
            ConnectionError: the connection is closed.
            TimeoutError: the client takes nothing.
        """
        self._refuse_if_closed()
        # A descriptor of our own: uvloop lets nobody wait for a transport's, and the number of one that the transport
        # closes may be another client's a moment later.
        connection = os.dup(self._transport.get_extra_info("socket").fileno())
        try:
            await self._send(connection, file, offset, offset + count)
        finally:
            os.close(connection)

    async def _send(self, connection: int, file: int, offset: int, end: int) -> None:
        while offset < end:
            count = min(end - offset, _MOST_AT_ONCE)
            await bring_into_memory(file, offset, count)
            self._refuse_if_closed()
            try:
                sent = os.sendfile(connection, file, offset, count)
            except BlockingIOError:
                await self._wait_until_writable(connection)
                continue
            if sent == 0:
                raise EOFError(f"the file has only {offset} bytes")
            offset += sent
            if sent < count:
                await self._wait_until_writable(connection)
            elif offset < end:
                await asyncio.sleep(0)

    def stop_waiting(self) -> None:
        """Have a part that waits for the client see that the connection is lost."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def _wait_until_writable(self, connection: int) -> None:
        self._waiting = self._loop.create_future()
        self._loop.add_writer(connection, self.stop_waiting)
        try:
            async with asyncio.timeout(self._most_seconds):
                await self._waiting
        finally:
            self._waiting = None
            self._loop.remove_writer(connection)

    def _refuse_if_closed(self) -> None:
        if self._transport.is_closing():
            raise ConnectionAbortedError("the connection is closed")


def sends_files(transport: asyncio.Transport) -> bool:
    """Whether the bytes of a file may go as they are into what is behind a transport."""
    is_plain = transport.get_extra_info("ssl_object") is None and transport.get_extra_info("socket") is not None
    return is_plain and hasattr(os, "sendfile")


def with_zero_copy(app: ASGIApp, cycle: RequestResponseCycle, sender: FileSender) -> ASGIApp:
    """The same application, which may use the extension in its answer to one request."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"] = {ZERO_COPY: {}}

        def send_any(message: Message) -> Awaitable[None]:
            return _send_file(cycle, sender, message) if message["type"] == ZERO_COPY else send(message)

        await app(scope, receive, send_any)

    return application


async def _send_file(cycle: RequestResponseCycle, sender: FileSender, message: Message) -> None:
    """Send what the message names, and keep uvicorn's books of it; raises OSError when the client is gone."""
    if not cycle.response_started or cycle.response_complete:
        raise RuntimeError(f"Unexpected ASGI message '{ZERO_COPY}': it belongs between an answer's start and its end")
    if cycle.disconnected:
        raise ConnectionResetError("the client is gone")
    if cycle.scope["method"] != "HEAD":
        offset, count = _part(message)
        if not cycle.chunked_encoding and count > cycle.expected_content_length:
            raise RuntimeError("Response content longer than Content-Length")
        try:
            await _written(cycle, b"%x\r\n" % count if cycle.chunked_encoding and count else b"")
            await sender.send(message["file"].fileno(), offset, count)
        except (ConnectionError, TimeoutError):
            cycle.disconnected = True
            cycle.transport.abort()
            raise
        if not cycle.chunked_encoding:
            cycle.expected_content_length -= count
        elif count:
            cycle.transport.write(b"\r\n")
    await cycle.send(
        cast(Any, {"type": "http.response.body", "body": b"", "more_body": message.get("more_body", False)})
    )


def _part(message: Message) -> tuple[int, int]:
    """Offset and count, both in bytes; by default from where the file stands to its end."""
    file, offset, count = message["file"].fileno(), message.get("offset"), message.get("count")
    if offset is None:
        offset = os.lseek(file, 0, os.SEEK_CUR)
    if count is None:
        count = max(os.fstat(file).st_size - offset, 0)
    return offset, count


async def _written(cycle: RequestResponseCycle, data: bytes) -> None:
    """Write, and wait until the transport holds nothing back."""
    transport = cycle.transport
    transport.write(data)
    if transport.get_write_buffer_size() and not transport.is_closing():
        transport.set_write_buffer_limits(0)
        await cycle.flow.drain()
        if not transport.is_closing():
            transport.set_write_buffer_limits()
