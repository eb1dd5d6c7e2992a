"""Limits of a request: the size of its head, and the size and duration of its body.

With httptools, uvicorn has no such limits: it buffers a head of any size, and waits indefinitely for its end. A public
service needs a proxy that limits both: see docs/operating.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from losslake_service.problems import problem

_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})


def no_stream(_: Scope) -> bool:
    """Return False: the application receives no body in pieces."""
    return False


class LimitRequests:
    """A middleware that refuses heads that are too large, and bodies that are too large or too slow.

    The application receives the body as one message, or in pieces, without a limit, where `is_streamed` says so.
    """

    def __init__(
        self,
        app: ASGIApp,
        head_bytes: int,
        body_bytes: int,
        body_seconds: float,
        is_streamed: Callable[[Scope], bool] = no_stream,
    ) -> None:
        self._app = app
        self._head_bytes = head_bytes
        self._body_bytes = body_bytes
        self._body_seconds = body_seconds
        self._is_streamed = is_streamed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Receive the body and forward the request, or refuse it with 408, 413 or 431."""
        if scope["type"] == "http":
            try:
                self._check_head(scope)
                if scope["method"] not in _WITHOUT_BODY and not self._is_streamed(scope):
                    async with asyncio.timeout(self._body_seconds):
                        receive = _replay(await self._body(scope, receive), receive)
            except ClientDisconnect:
                # For the log: nobody receives it.
                await Response(status_code=499)(scope, receive, send)
                return
            except TimeoutError:
                why = f"the request's body took more than {self._body_seconds:g} s to arrive: send it faster"
                await _refuse(scope, receive, send, "too-slow", why)
                return
            except _TooLarge as error:
                await _refuse(scope, receive, send, error.kind, str(error))
                return
        await self._app(scope, receive, send)

    def _check_head(self, scope: Scope) -> None:
        length = len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"])
        for name, value in scope["headers"]:
            length += len(name) + len(value)
        if length > self._head_bytes:
            why = f"path, query and headers together have more than {self._head_bytes:,} bytes"
            raise _TooLarge("too-long", f"{why}: send less, or use POST /v1/sql")

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        expected = next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)
        body = bytearray()
        more = True
        while more and max(expected, len(body)) <= self._body_bytes:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if max(expected, len(body)) > self._body_bytes:
            raise _TooLarge("too-large", f"the request's body has more than {self._body_bytes:,} bytes: send less")
        return bytes(body)


class _TooLarge(Exception):
    """The head or the body is too large; `kind`: of the problem."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that returns the whole body first."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


async def _refuse(scope: Scope, receive: Receive, send: Send, kind: str, detail: str) -> None:
    await problem(scope, kind, detail, {"connection": "close"})(scope, receive, send)
