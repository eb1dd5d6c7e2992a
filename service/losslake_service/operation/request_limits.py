"""Bounds on a request, checked before the application sees it: the length of its head, the size and time of its body.

uvicorn has none of its own with httptools: it keeps a head of any length, and waits without end for the rest of one. A
service that strangers reach needs a proxy in front that bounds both: see docs/operating.md.
"""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from losslake_service.problems import problem

_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})


class LimitRequests:
    """Refuses heads that are too long, and bodies that are too large, chunked ones too, or too slow.

    The application gets a body in one piece.
    """

    def __init__(self, app: ASGIApp, head_bytes: int, body_bytes: int, body_seconds: float) -> None:
        self._app = app
        self._head_bytes = head_bytes
        self._body_bytes = body_bytes
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                self._check_head(scope)
                if scope["method"] not in _WITHOUT_BODY:
                    async with asyncio.timeout(self._body_seconds):
                        receive = _first(await self._body(scope, receive), receive)
            except _ClientLeft:
                return
            except TimeoutError:
                why = f"the request's body took over {self._body_seconds:g} s to arrive: send it faster"
                await _refuse(scope, receive, send, "too-slow", why)
                return
            except _TooLong as error:
                await _refuse(scope, receive, send, error.kind, str(error))
                return
        await self._app(scope, receive, send)

    def _check_head(self, scope: Scope) -> None:
        length = len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"])
        for name, value in scope["headers"]:
            length += len(name) + len(value)
        if length > self._head_bytes:
            why = f"path, query and headers have over {self._head_bytes:,} bytes together"
            raise _TooLong("too-long", f"{why}: send less, or use POST /v1/sql")

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        expected = next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)
        body = bytearray()
        more = True
        while more and max(expected, len(body)) <= self._body_bytes:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _ClientLeft
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if max(expected, len(body)) > self._body_bytes:
            raise _TooLong("too-large", f"the request's body has over {self._body_bytes:,} bytes: send less")
        return bytes(body)


class _TooLong(Exception):
    """The head or the body is longer than allowed; `kind`: of the problem."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class _ClientLeft(Exception):
    """Nobody waits for an answer."""


def _first(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the whole body, and then what comes after it."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_whole() -> Message:
        return whole.pop() if whole else await receive()

    return receive_whole


async def _refuse(scope: Scope, receive: Receive, send: Send, kind: str, detail: str) -> None:
    await problem(scope, kind, detail, {"connection": "close"})(scope, receive, send)
