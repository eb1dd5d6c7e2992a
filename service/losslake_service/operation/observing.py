"""Gives each request an id, and tells the log and the metrics what became of it."""

from __future__ import annotations

import time
from collections.abc import Iterable

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from losslake_service.operation.metrics import Metrics
from losslake_service.operation.request_ids import HEADER, RequestIds, current_request_id
from losslake_service.operation.request_lines import Answered, RequestLines
from losslake_service.operation.zero_copy import ZERO_COPY

UNMATCHED = "unmatched"
_NO_ANSWER = 500
_FIRST_ERROR = 400
_PROBLEM = (b"content-type", b"application/problem+json")
_MOST_LEARNT = 1000


class ObserveRequests:
    """The outermost middleware: sees what is sent, after all others."""

    def __init__(self, app: ASGIApp, metrics: Metrics, lines: RequestLines) -> None:
        self._app = app
        self._metrics = metrics
        self._lines = lines
        self._ids = RequestIds()
        self._routes = _Routes()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        request_id = self._ids.of(scope["headers"])
        scope.setdefault("state", {})["request_id"] = request_id
        current_request_id.set(request_id)
        seen = _Seen(send, request_id)
        self._metrics.in_flight += 1
        try:
            await self._app(scope, receive, seen.send)
        finally:
            self._metrics.in_flight -= 1
            self._tell(scope, seen, request_id, time.perf_counter() - began)

    def _tell(self, scope: Scope, seen: _Seen, request_id: str, seconds: float) -> None:
        method: str = scope["method"]
        sent = 0 if method == "HEAD" else seen.bytes
        self._metrics.count(self._routes.of(scope), method, seen.status, seconds, sent)
        client = scope.get("client")
        self._lines.log(
            Answered(
                request_id=request_id,
                method=method,
                path=scope["path"],
                query=scope["query_string"],
                status=seen.status,
                bytes=sent,
                seconds=seconds,
                client=client[0] if client else None,
                release=seen.release,
                problem=seen.problem,
            )
        )


class _Seen:
    """What goes by on its way to the client."""

    __slots__ = ("_is_problem", "_request_id", "_send", "bytes", "problem", "release", "status")

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self._is_problem = False
        self.status = _NO_ANSWER
        self.bytes = 0
        self.release: str | None = None
        self.problem: str | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ())]
            self.status = message["status"]
            self.release = _release(headers)
            self._is_problem = self.status >= _FIRST_ERROR and _PROBLEM in headers
            headers.append((HEADER, self._request_id.encode()))
            message = {**message, "headers": headers}
        elif message["type"] == "http.response.body":
            body = message.get("body", b"")
            self.bytes += len(body)
            if self._is_problem:
                self.problem = _kind(body)
                self._is_problem = False
        elif message["type"] == ZERO_COPY:
            self.bytes += message.get("count") or 0
        await self._send(message)


class _Routes:
    """The template of a request's path; those of paths without parts to fill in are learnt."""

    def __init__(self) -> None:
        self._learnt: dict[str, str] = {}

    def of(self, scope: Scope) -> str:
        """The route by which the application found its answer, or had found it when the answer comes from a cache."""
        route = getattr(scope.get("route"), "path", None) or scope["state"].get("route")
        path = scope["path"]
        if not isinstance(route, str):
            return self._learnt.get(path, UNMATCHED)
        if route == path and len(self._learnt) < _MOST_LEARNT:
            self._learnt[path] = route
        return route


def _release(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    return next((value.decode("latin-1") for name, value in headers if name == b"losslake-release"), None)


def _kind(body: bytes) -> str | None:
    """The kind of a problem document: the last part of its type."""
    try:
        return str(orjson.loads(body)["type"]).rpartition(":")[2]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
