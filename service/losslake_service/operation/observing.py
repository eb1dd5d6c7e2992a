"""Request ids, and logging and metrics of each request."""

from __future__ import annotations

import itertools
import re
import secrets
import time
from collections.abc import Iterable

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from losslake_service.operation.logs import RequestLog, RequestRecord, current_request_id
from losslake_service.operation.metrics import ServerMetrics

UNMATCHED = "unmatched"
_ID_HEADER = b"x-request-id"
_VALID_ID = re.compile(rb"[A-Za-z0-9._:+/=@-]{1,128}")
_PROBLEM = (b"content-type", b"application/problem+json")
_MAX_TEMPLATES = 1000


class ObserveRequests:
    """The outermost middleware, which logs and counts responses as they are sent."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics, lines: RequestLog) -> None:
        self._app = app
        self._metrics = metrics
        self._lines = lines
        self._ids = RequestIds()
        # Path templates without parameters, for responses from the cache, which skip the router.
        self._templates: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request, then log and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        request_id = self._ids.of(scope["headers"])
        scope.setdefault("state", {})["request_id"] = request_id
        current_request_id.set(request_id)
        response = _ObservedResponse(send, request_id)
        self._metrics.in_flight += 1
        try:
            await self._app(scope, receive, response.send)
        finally:
            self._metrics.in_flight -= 1
            self._report(scope, response, time.perf_counter() - started)

    def _report(self, scope: Scope, response: _ObservedResponse, seconds: float) -> None:
        method: str = scope["method"]
        n_bytes = 0 if method == "HEAD" else response.bytes
        self._metrics.count(self._route(scope), method, response.status, seconds, n_bytes)
        client = scope.get("client")
        self._lines.log(
            RequestRecord(
                request_id=response.request_id,
                method=method,
                path=scope["path"],
                query=scope["query_string"],
                status=response.status,
                bytes=n_bytes,
                seconds=seconds,
                client=client[0] if client else None,
                release=response.release,
                problem=response.problem,
            )
        )

    def _route(self, scope: Scope) -> str:
        """Return the path template that the request matched, also for a response from the cache."""
        route = getattr(scope.get("route"), "path", None) or scope["state"].get("route")
        path = scope["path"]
        if not isinstance(route, str):
            return self._templates.get(path, UNMATCHED)
        if route == path and len(self._templates) < _MAX_TEMPLATES:
            self._templates[path] = route
        return route


class RequestIds:
    """The ids of requests: from X-Request-ID, or generated, unique among processes."""

    def __init__(self) -> None:
        self._process = secrets.token_hex(6)
        self._next = itertools.count(1)

    def of(self, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """Return the id in these headers if it is valid, else a new one."""
        for name, value in headers:
            if name == _ID_HEADER and _VALID_ID.fullmatch(value):
                return value.decode("ascii")
        return f"{self._process}{next(self._next):08x}"


class _ObservedResponse:
    """A `send` that records the status, size and release of a response."""

    __slots__ = ("_is_problem", "_send", "bytes", "problem", "release", "request_id", "status")

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._is_problem = False
        self.request_id = request_id
        self.status = 500
        self.bytes = 0
        self.release: str | None = None
        self.problem: str | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ())]
            self.status = message["status"]
            self.release = next(
                (value.decode("latin-1") for name, value in headers if name == b"losslake-release"), None
            )
            self._is_problem = self.status >= 400 and _PROBLEM in headers
            headers.append((_ID_HEADER, self.request_id.encode()))
            message = {**message, "headers": headers}
        elif message["type"] == "http.response.body":
            body = message.get("body", b"")
            self.bytes += len(body)
            if self._is_problem:
                self.problem = _kind(body)
                self._is_problem = False
        await self._send(message)


def _kind(body: bytes) -> str | None:
    """Return the kind of a problem document: the last part of its type."""
    try:
        return str(orjson.loads(body)["type"]).rpartition(":")[2]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
