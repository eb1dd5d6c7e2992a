"""The clients of the benchmarks of the service."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bench.load import get, load


class Handler(BaseHTTPRequestHandler):
    """A response of four bytes, or status 403 at /forbidden."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(403 if self.path == "/forbidden" else 200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"body")

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_each_client_has_an_answer_even_if_no_time_is_left(port: int) -> None:
    result = load(port, [get("/")], clients=3, seconds=0)
    assert len(result.latencies) == 3
    assert result.bytes == 12
    assert result.per_second > 0


def test_status_other_than_200_is_an_error(port: int) -> None:
    with pytest.raises(RuntimeError, match="status 403"):
        load(port, [get("/forbidden")], clients=1, seconds=0)
