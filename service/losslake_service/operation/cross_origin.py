"""Lets pages of other origins read answers: nothing here depends on who asks."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_EXPOSED = (
    b"Accept-Ranges, Content-Disposition, Content-Range, ETag, Last-Modified, Link, LossLake-Release, "
    b"LossLake-Total, LossLake-Truncated, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, "
    b"X-Request-ID"
)
_PREFLIGHT = (
    (b"access-control-allow-methods", b"GET, HEAD, POST, OPTIONS"),
    (
        b"access-control-allow-headers",
        b"Accept, Content-Type, If-Match, If-Modified-Since, If-None-Match, If-Range, Range, X-Request-ID",
    ),
    (b"access-control-max-age", b"86400"),
)
_VARY = (b"vary", b"Origin")
Headers = tuple[tuple[bytes, bytes], ...]


class CrossOrigin:
    """Answers preflights, and says on every answer which origins may read it; never with credentials."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self._app = app
        self._is_for_all = "*" in origins
        self._origins = {origin.encode() for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        more = self._headers(scope)
        if scope["method"] == "OPTIONS" and _is_preflight(scope):
            allowed = (*more, *_PREFLIGHT) if len(more) > 1 else more
            await send({"type": "http.response.start", "status": 204, "headers": [*allowed]})
            await send({"type": "http.response.body", "body": b""})
            return

        async def send_open(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *more]}
            await send(message)

        await self._app(scope, receive, send_open)

    def _headers(self, scope: Scope) -> Headers:
        """The same for every request where all origins are allowed, so that caches may share the answer."""
        if self._is_for_all:
            return ((b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", _EXPOSED))
        origin = next((value for name, value in scope["headers"] if name == b"origin"), None)
        if origin is None or origin not in self._origins:
            return (_VARY,)
        return ((b"access-control-allow-origin", origin), (b"access-control-expose-headers", _EXPOSED), _VARY)


def _is_preflight(scope: Scope) -> bool:
    names = {name for name, _ in scope["headers"]}
    return b"origin" in names and b"access-control-request-method" in names
