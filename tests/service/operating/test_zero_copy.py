"""ASGI's zerocopysend on a connection: in order, counted, bounded in time, and only where an answer has a body."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.types import Message, Receive, Scope, Send

from losslake_service.operation.http_protocol import BoundedHttp
from losslake_service.operation.zero_copy import ZERO_COPY

FILE = bytes(range(256)) * 40_000
START: Message = {"type": "http.response.start", "status": 200, "headers": []}
GET = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


class Hasty(BoundedHttp):
    most_seconds_stalled = 0.3


class Sends:
    """An application that sends these messages, and keeps what that raised."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.raised: list[BaseException] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert ZERO_COPY in scope["extensions"]
        try:
            for message in self.messages:
                await send(message)
        except OSError as error:
            self.raised.append(error)


@contextmanager
def serving(app: Any, loop: Any = "uvloop") -> Iterator[int]:
    """The port of a server in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, http=Hasty, loop=loop, lifespan="off", log_config=None)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(60)


def asked(port: int, request: bytes = GET, pause: float = 0.0) -> tuple[bytes, bytes]:
    """Head and body of the answer, read from a small buffer after a pause."""
    with socket.socket() as connection:
        connection.settimeout(30)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        connection.connect(("127.0.0.1", port))
        connection.sendall(request)
        time.sleep(pause)
        found = bytearray()
        while data := connection.recv(1 << 20):
            found += data
    head, _, body = bytes(found).partition(b"\r\n\r\n")
    return head, body


def start(length: int, **more: Any) -> Message:
    return {**START, "headers": [(b"content-length", str(length).encode())], **more}


def body(data: bytes, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "file").write_bytes(FILE)
    with (tmp_path / "file").open("rb") as opened:
        yield opened


def part(file: Any, more: bool = False, **where: int) -> Message:
    return {"type": ZERO_COPY, "file": file, "more_body": more, **where}


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
@pytest.mark.parametrize("more", [{}, {ZERO_COPY: True}])
def test_parts_of_files_and_bodies_arrive_in_their_order(file: Any, loop: str, more: dict[str, bool]) -> None:
    before, after = b"b" * 3_000_000, b"a" * 100_000
    messages = [
        start(len(before) + 1_000_000 + len(after) + 5, **more),
        body(before),
        part(file, True, offset=7, count=1_000_000),
        body(after),
        part(file, offset=10, count=5),
    ]
    with serving(Sends(messages), loop) as port:
        _, found = asked(port, pause=0.05)
    assert found == before + FILE[7:1_000_007] + after + FILE[10:15]


def test_without_offset_and_count_it_is_from_where_the_file_stands_to_its_end(file: Any) -> None:
    file.seek(len(FILE) - 3_000_000)
    with serving(Sends([start(3_000_000), part(file)])) as port:
        assert asked(port)[1] == FILE[-3_000_000:]


def test_without_a_length_it_goes_in_chunks(file: Any) -> None:
    with serving(Sends([START, part(file, True, offset=0, count=20), part(file, offset=5, count=0)])) as port:
        head, found = asked(port)
    assert b"transfer-encoding: chunked" in head
    assert found == b"14\r\n" + FILE[:20] + b"\r\n0\r\n\r\n"


def test_an_answer_to_head_has_no_bytes_of_the_file(file: Any) -> None:
    with serving(Sends([start(len(FILE)), part(file)])) as port:
        head, found = asked(port, GET.replace(b"GET", b"HEAD"))
    assert f"content-length: {len(FILE)}".encode() in head
    assert found == b""


def test_more_than_the_length_is_not_sent(file: Any) -> None:
    with serving(Sends([start(10), part(file, offset=0, count=11)])) as port:
        assert asked(port)[1] == b""


def test_a_file_before_the_head_is_an_error(file: Any) -> None:
    with serving(Sends([part(file)])) as port:
        assert asked(port)[0].startswith(b"HTTP/1.1 500 ")


def test_a_client_that_takes_nothing_for_too_long_is_given_up(file: Any) -> None:
    app = Sends([start(len(FILE) * 2), part(file, True, offset=0), part(file, offset=0)])
    with serving(app) as port:
        assert len(asked(port, pause=1.0)[1]) < len(FILE)
        assert [type(error) for error in app.raised] == [TimeoutError]


def test_a_slow_client_is_not_given_up(file: Any) -> None:
    with serving(Sends([start(len(FILE)), part(file)])) as port, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        connection.connect(("127.0.0.1", port))
        connection.sendall(GET)
        found, ends = 0, time.monotonic() + 0.8
        while data := connection.recv(1 << 16 if time.monotonic() < ends else 1 << 20):
            found += len(data)
            if time.monotonic() < ends:
                time.sleep(0.005)
    assert found > len(FILE)
