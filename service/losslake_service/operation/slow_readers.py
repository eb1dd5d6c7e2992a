"""A minimum rate at which clients read responses.

A response that nobody reads holds its file, its place among the results of SQL, and memory. What the kernel and the
connection buffer doesn't count: only the time that flow control blocks `send`. The listening socket (see `serve`) makes
the kernel drop the rest of a connection that was ended while its client doesn't read.
"""

from __future__ import annotations

import asyncio
import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Seconds that a client may read nothing, beside those that its rate gives it for the message before.
GRACE_SECONDS = 10.0

_log = logging.getLogger(__name__)


class EndSlowReaders:
    """A middleware that ends the connection of a client that reads slower than a number of bytes per second."""

    def __init__(self, app: ASGIApp, min_rate: float) -> None:
        self._app = app
        self._min_rate = min_rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request; uvicorn closes the connection of a response that isn't complete."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        response = _TimedResponse(send, self._min_rate)
        try:
            await self._app(scope, receive, response.send)
        except Exception:
            if not response.is_stalled:
                raise
        if response.is_stalled:
            _log.warning("a client read less than %g bytes a second: its connection is closed", self._min_rate)


class _TimedResponse:
    """A `send` that raises _TooSlow once the client has read too slowly.

    Each byte gives the client the time that it may take at the minimum rate; blocked time is deducted.
    """

    __slots__ = ("_min_rate", "_seconds", "_send", "is_stalled")

    def __init__(self, send: Send, min_rate: float) -> None:
        self._send = send
        self._min_rate = min_rate
        self._seconds = GRACE_SECONDS
        self.is_stalled = False

    async def send(self, message: Message) -> None:
        if self.is_stalled:
            raise _TooSlow
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._seconds):
                await self._send(message)
        except TimeoutError:
            self.is_stalled = True
            raise _TooSlow from None
        # Time that wasn't needed is kept up to the grace: a client may pause, not read slowly for long.
        unused = min(GRACE_SECONDS, self._seconds - (time.monotonic() - started))
        self._seconds = max(0.0, unused) + len(message.get("body", b"")) / self._min_rate


class _TooSlow(Exception):
    """The client read too slowly."""
