"""Takes in the body of a request, so much and so long, before the application is asked."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from losslake_service.operation.refusals import refuse

_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})
_CLOSE = ((b"connection", b"close"),)


class LimitBodies:
    """Refuses bodies that are too large, chunked ones too, or too slow; the application gets a body in one piece."""

    def __init__(self, app: ASGIApp, most_bytes: int, most_seconds: float) -> None:
        self._app = app
        self._most_bytes = most_bytes
        self._most_seconds = most_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in _WITHOUT_BODY:
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._most_seconds):
                body = await self._body(scope, receive)
        except TimeoutError:
            detail = f"the request's body took over {self._most_seconds:g} s to arrive: send it faster"
            await refuse(scope, receive, send, "too-slow", detail, _CLOSE)
            return
        except _TooLarge:
            detail = f"the request's body has over {self._most_bytes:,} bytes: send less"
            await refuse(scope, receive, send, "too-large", detail, _CLOSE)
            return
        if body is None:
            return
        first: Message | None = {"type": "http.request", "body": body, "more_body": False}

        async def receive_whole() -> Message:
            nonlocal first
            message, first = first, None
            return message if message is not None else await receive()

        await self._app(scope, receive_whole, send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body; None where the client has left."""
        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if int(length) > self._most_bytes:
            raise _TooLarge
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self._most_bytes:
                raise _TooLarge
            if not message.get("more_body", False):
                return bytes(body)


class _TooLarge(Exception):
    """There is more of the body than may be."""
