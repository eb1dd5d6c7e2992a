"""ASGI's extension http.response.zerocopysend for connections of uvicorn: the kernel sends a file, uncopied.

sendfile goes beside the transport, which offers no such thing under uvloop, and only when the transport has written all
it was given. What isn't in memory is brought there by a thread first: sendfile would wait for the disk, and with it
everyone else.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from losslake_service.operation.page_cache import bring_into_memory

ZERO_COPY = "http.response.zerocopysend"
"""The type of the message. A message with this key, the start of an answer, may share a packet with what follows."""
# What one connection may send before it is the next one's turn: a fraction of a millisecond.
_MOST_AT_ONCE = 1 << 21
_CORK: int | None = getattr(socket, "TCP_CORK", None)


def sends_files(transport: asyncio.Transport) -> bool:
    """Whether the bytes of a file may go as they are into what is behind a transport."""
    is_plain = transport.get_extra_info("ssl_object") is None and transport.get_extra_info("socket") is not None
    return is_plain and hasattr(os, "sendfile")


class ZeroCopy:
    """An application that may use the extension in its answer to one request.

    most_seconds: after which a client that takes nothing of a file is given up.
    """

    __slots__ = ("_app", "_connection", "_cycle", "_most_seconds")

    def __init__(self, app: ASGIApp, cycle: RequestResponseCycle, most_seconds: float) -> None:
        self._app = app
        self._cycle: Any = cycle  # uvicorn's messages have types of their own
        self._most_seconds = most_seconds
        self._connection: socket.socket | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"] = {ZERO_COPY: {}}
        try:
            await self._app(scope, receive, self._send)
        finally:
            self._let_go()

    def _send(self, message: Message) -> Awaitable[None]:
        if message["type"] == ZERO_COPY:
            return self._send_file(message)
        if ZERO_COPY in message:
            self._cork()
        sent: Awaitable[None] = self._cycle.send(message)
        return sent

    async def _send_file(self, message: Message) -> None:
        """Send what the message names, and keep uvicorn's books of it.

        Raises:
            EOFError: the file ends before.
            ConnectionError: the connection is closed.
            TimeoutError: the client takes nothing.
        """
        cycle, more = self._cycle, message.get("more_body", False)
        if not cycle.response_started or cycle.response_complete:
            raise RuntimeError(f"ASGI message '{ZERO_COPY}' belongs between an answer's start and its end")
        if cycle.scope["method"] != "HEAD":
            offset, count = _part(message)
            if not cycle.chunked_encoding and count > cycle.expected_content_length:
                raise RuntimeError("Response content longer than Content-Length")
            try:
                await self._write(b"%x\r\n" % count if cycle.chunked_encoding and count else b"")
                await self._send_part(self._own_connection(), message["file"].fileno(), offset, offset + count)
            except (ConnectionError, TimeoutError):
                cycle.disconnected = True
                cycle.transport.abort()
                raise
            if not cycle.chunked_encoding:
                cycle.expected_content_length -= count
            elif count:
                cycle.transport.write(b"\r\n")
        if not more:
            self._let_go()
        await cycle.send({"type": "http.response.body", "body": b"", "more_body": more})

    async def _send_part(self, connection: socket.socket, file: int, offset: int, end: int) -> None:
        while offset < end:
            count = min(end - offset, _MOST_AT_ONCE)
            await bring_into_memory(file, offset, count)
            self._refuse_if_closed()
            try:
                sent = os.sendfile(connection.fileno(), file, offset, count)
            except BlockingIOError:
                await self._wait_until_writable(connection)
                continue
            if sent == 0:
                raise EOFError(f"it has only {offset} bytes")
            offset += sent
            if sent < count:
                await self._wait_until_writable(connection)
            elif offset < end:
                await asyncio.sleep(0)

    async def _wait_until_writable(self, connection: socket.socket) -> None:
        """Wait as uvicorn waits for its transport, which also ends when the connection is lost."""
        flow, loop = self._cycle.flow, asyncio.get_running_loop()
        flow.pause_writing()
        loop.add_writer(connection.fileno(), flow.resume_writing)
        try:
            async with asyncio.timeout(self._most_seconds):
                await flow.drain()
        finally:
            loop.remove_writer(connection.fileno())
            flow.resume_writing()

    async def _write(self, data: bytes) -> None:
        """Write, and wait until the transport holds nothing back."""
        self._refuse_if_closed()
        transport = self._cycle.transport
        transport.write(data)
        if transport.get_write_buffer_size():
            transport.set_write_buffer_limits(0)
            async with asyncio.timeout(self._most_seconds):
                await self._cycle.flow.drain()
            self._refuse_if_closed()
            transport.set_write_buffer_limits()

    def _refuse_if_closed(self) -> None:
        if self._cycle.disconnected or self._cycle.transport.is_closing():
            raise ConnectionAbortedError("the connection is closed")

    def _own_connection(self) -> socket.socket:
        """A descriptor of our own of the connection.

        uvloop lets nobody wait for a transport's, and the number of one that it closes may be another client's next.
        """
        if self._connection is None:
            taken = self._cycle.transport.get_extra_info("socket")
            self._connection = socket.socket(taken.family, taken.type, taken.proto, os.dup(taken.fileno()))
        return self._connection

    def _cork(self) -> None:
        """Have the head of an answer wait for the file's first bytes, for one packet and one wakeup of the client."""
        if _CORK is not None and not self._cycle.transport.is_closing():
            with suppress(OSError):
                self._own_connection().setsockopt(socket.IPPROTO_TCP, _CORK, 1)

    def _let_go(self) -> None:
        if self._connection is not None:
            if _CORK is not None:
                with suppress(OSError):
                    self._connection.setsockopt(socket.IPPROTO_TCP, _CORK, 0)
            self._connection.close()
            self._connection = None


def _part(message: Message) -> tuple[int, int]:
    """Offset and count, both in bytes; by default from where the file stands to its end."""
    file, offset, count = message["file"].fileno(), message.get("offset"), message.get("count")
    if offset is None:
        offset = os.lseek(file, 0, os.SEEK_CUR)
    if count is None:
        count = max(os.fstat(file).st_size - offset, 0)
    return offset, count
