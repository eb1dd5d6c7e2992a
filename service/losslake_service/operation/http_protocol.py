"""HTTP as uvicorn speaks it, with bounds on what arrives before there is a request, and files sent by the kernel."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, ClassVar

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from losslake_service.operation.zero_copy import ZeroCopy, sends_files
from losslake_service.problems import KINDS, MEDIA_TYPE
from losslake_service.settings import Settings


class TooMuchHead(Exception):
    """A request's path, query and headers are longer than they may be."""


class BoundedHttp(HttpToolsProtocol):
    """A connection that must send its request's head in time and at most so long, or is closed.

    uvicorn itself waits for ever for the rest of a head, and keeps as much of it as comes.
    """

    most_bytes: ClassVar[int] = 32_768
    most_seconds: ClassVar[float] = 20.0
    most_connections: ClassVar[int] = 10_000
    most_seconds_stalled: ClassVar[float] = 60.0  # for a client that takes nothing of a file

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._head: int | None = 0  # bytes of a head that isn't whole yet; None while there is none
        self._has_begun = False
        self._is_too_long = False
        self._waiting: asyncio.TimerHandle | None = None
        self._sends_files = False
        # It asks whether there are handlers, not whether there should be lines; ours are written elsewhere.
        self.access_log = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._sends_files = sends_files(transport)
        if len(self.connections) > self.most_connections:
            transport.abort()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._has_begun = False
        super().data_received(data)
        if self._head is None:
            return
        if not self._has_begun:
            # What a head begins with may share its packet with the requests before it, and isn't counted.
            self._head += len(data)
        if self._head > self.most_bytes:
            self._is_too_long = True
            self.send_400_response("")
        elif self._waiting is None:
            self._wait()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0
        self._has_begun = True

    def on_header(self, name: bytes, value: bytes) -> None:
        # What follows a chunked body is not asked for, and would be kept without bound.
        if self._head is not None:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._head = None
        self._stop_waiting()
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > self.most_bytes:
            self._is_too_long = True
            raise TooMuchHead
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if self._sends_files:
            app = ZeroCopy(app, cycle, self.most_seconds_stalled)
        super()._start_asgi_task(cycle, app)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request, or too long for one; uvicorn's name for it."""
        kind, detail = "bad-request", "this is not HTTP/1.1: see what the client or proxy sent"
        if self._is_too_long:
            kind, detail = (
                "too-long",
                f"path, query and headers have over {self.most_bytes:,} bytes together: send less, or use POST /v1/sql",
            )
        self._head = None
        status, title = KINDS[kind]
        body = orjson.dumps(
            {"type": f"urn:losslake:problem:{kind}", "title": title, "status": status, "detail": detail}
        )
        lines = [
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
            f"content-type: {MEDIA_TYPE}",
            f"content-length: {len(body)}",
            "connection: close",
        ]
        if not self.transport.is_closing():
            self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
            self.transport.close()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(self.most_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if not self.transport.is_closing():
            self.transport.close()


def bound_http(settings: Settings) -> type[BoundedHttp]:
    """Set the bounds for the connections of this process."""
    BoundedHttp.most_bytes = settings.request_head_bytes
    BoundedHttp.most_seconds = settings.request_seconds
    BoundedHttp.most_connections = settings.connections
    return BoundedHttp
