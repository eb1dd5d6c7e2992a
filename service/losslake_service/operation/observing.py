"""Gives each request an id, and reports to the log and the metrics how it was answered."""

from __future__ import annotations

import itertools
import re
import secrets
import time
from collections.abc import Iterable

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from losslake_service.operation.logs import AnsweredRequest, RequestLines, current_request_id
from losslake_service.operation.metrics import Metrics

UNMATCHED = "unmatched"
_ID_HEADER = b"x-request-id"
_VALID_ID = re.compile(rb"[A-Za-z0-9._:+/=@-]{1,128}")
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
        # The templates of paths without parts to fill in, for answers that come from a cache.
        self._learnt: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        request_id = self._ids.of(scope["headers"])
        scope.setdefault("state", {})["request_id"] = request_id
        current_request_id.set(request_id)
        sent = _Sent(send, request_id)
        self._metrics.in_flight += 1
        try:
            await self._app(scope, receive, sent.send)
        finally:
            self._metrics.in_flight -= 1
            self._report(scope, sent, time.perf_counter() - began)

    def _report(self, scope: Scope, sent: _Sent, seconds: float) -> None:
        method: str = scope["method"]
        n_bytes = 0 if method == "HEAD" else sent.bytes
        self._metrics.count(self._route(scope), method, sent.status, seconds, n_bytes)
        client = scope.get("client")
        self._lines.log(
            AnsweredRequest(
                request_id=sent.request_id,
                method=method,
                path=scope["path"],
                query=scope["query_string"],
                status=sent.status,
                bytes=n_bytes,
                seconds=seconds,
                client=client[0] if client else None,
                release=sent.release,
                problem=sent.problem,
            )
        )

    def _route(self, scope: Scope) -> str:
        """Return the template of the path by which the application found its answer, or had found it."""
        route = getattr(scope.get("route"), "path", None) or scope["state"].get("route")
        path = scope["path"]
        if not isinstance(route, str):
            return self._learnt.get(path, UNMATCHED)
        if route == path and len(self._learnt) < _MOST_LEARNT:
            self._learnt[path] = route
        return route


class RequestIds:
    """Takes the id that came with a request, or makes one that no other process makes."""

    def __init__(self) -> None:
        self._process = secrets.token_hex(6)
        self._next = itertools.count(1)

    def of(self, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """Return the id of the request with these headers; one that isn't short and plain is replaced."""
        for name, value in headers:
            if name == _ID_HEADER and _VALID_ID.fullmatch(value):
                return value.decode("ascii")
        return f"{self._process}{next(self._next):08x}"


class _Sent:
    """What goes by on its way to the client."""

    __slots__ = ("_is_problem", "_send", "bytes", "problem", "release", "request_id", "status")

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._is_problem = False
        self.request_id = request_id
        self.status = _NO_ANSWER
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
            self._is_problem = self.status >= _FIRST_ERROR and _PROBLEM in headers
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
