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
_INCOMPLETE = "incomplete-body"
_ID_HEADER = b"x-request-id"
_VALID_ID = re.compile(rb"[A-Za-z0-9._:+/=@-]{1,128}")
_PROBLEM = (b"content-type", b"application/problem+json")


class ObserveRequests:
    """The outermost middleware, which logs and counts responses as they are sent."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics, lines: RequestLog) -> None:
        self._app = app
        self._metrics = metrics
        self._lines = lines
        self._ids = RequestIds()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request, then log and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        request_id = self._ids.of(scope["headers"])
        scope.setdefault("state", {})["request_id"] = request_id
        current_request_id.set(request_id)
        response = _ObservedResponse(send, request_id, scope["method"])
        self._metrics.in_flight += 1
        try:
            await self._app(scope, receive, response.send)
        except BaseException:
            response.fail()
            raise
        finally:
            self._metrics.in_flight -= 1
            self._report(scope, response, time.perf_counter() - started)

    def _report(self, scope: Scope, response: _ObservedResponse, seconds: float) -> None:
        method: str = scope["method"]
        # The path template that the request matched.
        route = getattr(scope.get("route"), "path", None) or scope["state"].get("route", UNMATCHED)
        self._metrics.count(route, method, response.status, seconds, response.bytes)
        client = scope.get("client")
        self._lines.log(
            RequestRecord(
                request_id=response.request_id,
                method=method,
                path=scope["path"],
                query=scope["query_string"],
                status=response.status,
                bytes=response.bytes,
                seconds=seconds,
                client=client[0] if client else None,
                release=response.release,
                problem=response.problem,
            )
        )


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
    """A `send` that records the status, size and release of a response.

    A body that ends early counts as status 500, whatever was sent; but not if the connection was lost.
    """

    __slots__ = (
        "_has_body", "_is_problem", "_is_unfinished", "_length", "_send", "bytes", "problem", "release", "request_id",
        "status",
    )  # fmt: skip

    def __init__(self, send: Send, request_id: str, method: str) -> None:
        self._send = send
        self._has_body = method != "HEAD"
        self._length = 0
        self._is_problem = False
        self._is_unfinished = False
        self.request_id = request_id
        self.status = 500
        self.bytes = 0
        self.release: str | None = None
        self.problem: str | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ())]
            self._start(message["status"], headers)
            message = {**message, "headers": [*headers, (_ID_HEADER, self.request_id.encode())]}
        elif message["type"] == "http.response.body":
            self._add(message.get("body", b""), is_last=not message.get("more_body", False))
        try:
            await self._send(message)
        except Exception:
            self._is_unfinished = False
            raise

    def fail(self) -> None:
        """Record that no more of the body comes, if any is missing."""
        if self._is_unfinished:
            self._is_unfinished = False
            self.status, self.problem = 500, _INCOMPLETE

    def _start(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.status = status
        self._is_unfinished = True
        for name, value in headers:
            if name == b"losslake-release":
                self.release = value.decode("latin-1")
            elif name == b"content-length" and self._has_body:
                self._length = int(value)
            elif status >= 400 and (name, value) == _PROBLEM:
                self._is_problem = True

    def _add(self, body: bytes, *, is_last: bool) -> None:
        if self._has_body:
            self.bytes += len(body)
        if self._is_problem:
            self.problem = _kind(body)
            self._is_problem = False
        if is_last:
            if self.bytes < self._length:
                self.fail()
            self._is_unfinished = False


def _kind(body: bytes) -> str | None:
    """Return the kind of a problem document: the last part of its type."""
    try:
        return str(orjson.loads(body)["type"]).rpartition(":")[2]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
