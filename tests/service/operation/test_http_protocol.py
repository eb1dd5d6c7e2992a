"""What comes over connections of a running service: heads are bounded in size, connections in number."""

from __future__ import annotations

import json
import socket
from http.client import HTTPResponse
from uuid import uuid4

import pytest

from tests.servers.processes import SECONDS, wait_until
from tests.service.running import Running, wait_until_connected

HEAD = b"GET /process HTTP/1.1\r\nHost: localhost\r\n"


def connect(running: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", running.port), SECONDS)


def answer(connection: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    matching_lines = bytearray()
    while data := connection.recv(65536):
        matching_lines += data
    return bytes(matching_lines)


def status_of_next(connection: socket.socket) -> int:
    """The status of one answer, read to its end and no further."""
    response = HTTPResponse(connection)
    response.begin()
    response.read()
    return response.status


def problem(data: bytes) -> dict[str, object]:
    head, _, body = data.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    matching_lines: dict[str, object] = json.loads(body)
    return matching_lines


@pytest.mark.parametrize(
    "request_of_many_bytes",
    [
        b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        HEAD + b"X-Long: " + b"a" * 5000 + b"\r\n\r\n",
        HEAD + b"X-Many: 1234567890\r\n" * 300 + b"\r\n",
    ],
)
def test_a_long_head_is_refused(running: Running, request_of_many_bytes: bytes) -> None:
    with connect(running) as connection:
        connection.sendall(request_of_many_bytes)
        document = problem(answer(connection))
    assert (document["status"], document["type"]) == (431, "urn:losslake:problem:too-long")


def test_a_connection_is_kept_for_the_next_request(running: Running) -> None:
    with connect(running) as connection:
        for _ in range(2):
            connection.sendall(HEAD + b"\r\n")
            assert status_of_next(connection) == 200


def test_requests_in_one_packet_are_counted_each(running: Running) -> None:
    whole = HEAD + b"X-Some: " + b"a" * 2000 + b"\r\n\r\n"
    with connect(running) as connection:
        connection.sendall(whole * 5 + HEAD)
        matching_lines = bytearray()
        while matching_lines.count(b"HTTP/1.1 200") < 5:
            matching_lines += connection.recv(65536)
        connection.sendall(b"Connection: close\r\n\r\n")
        matching_lines += answer(connection)
    assert matching_lines.count(b"HTTP/1.1 200") == 6


def test_invalid_http_is_refused(running: Running) -> None:
    with connect(running) as connection:
        connection.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
        head, _, _ = answer(connection).partition(b"\r\n")
    assert head == b"HTTP/1.1 400 Bad Request"


def line_of_request(running: Running) -> int:
    """Send a request; return the number of its line in the log, once it is there."""
    mark = uuid4().hex
    with connect(running) as connection:
        connection.sendall(HEAD + f"X-Request-ID: {mark}\r\nConnection: close\r\n\r\n".encode())
        assert answer(connection).startswith(b"HTTP/1.1 200 ")

    def matching_lines() -> list[int]:
        return [number for number, line in enumerate(running.lines) if line.get("request_id") == mark]

    wait_until(lambda: bool(matching_lines()), "the log has the request")
    return matching_lines()[0]


POST = b"POST /v1/scaling HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 50\r\n\r\nabc",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nabc",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcdeX\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nabc",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 1_0\r\n\r\n0123456789",
        b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_a_body_that_is_cut_or_malformed_is_no_error_of_the_service(running: Running, body: bytes) -> None:
    before = line_of_request(running)
    with connect(running) as connection:
        connection.sendall(POST + body)
        connection.shutdown(socket.SHUT_WR)
        head = answer(connection)[:13]
    assert head in (b"", b"HTTP/1.1 400 ")
    wait_until_connected(running, 0)
    lines = running.lines[before : line_of_request(running)]
    assert {line["status"] for line in lines if "status" in line} <= {200, 499}
    assert "error" not in {line["level"] for line in lines}


def test_requests_are_refused_while_there_are_more_connections_than_allowed(running: Running) -> None:
    wait_until_connected(running, 0)
    kept = [connect(running) for _ in range(20)]
    try:
        kept[0].sendall(HEAD + b"\r\n")
        assert status_of_next(kept[0]) == 200
        with connect(running) as one_more:
            one_more.sendall(HEAD + b"\r\n")
            assert answer(one_more).startswith(b"HTTP/1.1 503 ")
        wait_until_connected(running, len(kept))
        kept[0].sendall(HEAD + b"\r\n")
        assert status_of_next(kept[0]) == 200
    finally:
        for connection in kept:
            connection.close()


def test_answers_name_no_server_software(running: Running) -> None:
    with connect(running) as connection:
        connection.sendall(HEAD + b"Connection: close\r\n\r\n")
        head = answer(connection).lower()
    assert b"\r\nserver:" not in head
    assert b"uvicorn" not in head
