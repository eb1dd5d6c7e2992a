"""Answers over HTTP that differ from those in-process end a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import pytest

from bench.asking import Times, WrongAnswer, ask
from bench.servers import Server


class Handler(BaseHTTPRequestHandler):
    """A response of the path, or status 404 at /missing."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(404 if self.path == "/missing" else 200)
        self.send_header("Content-Length", str(len(self.path)))
        self.end_headers()
        self.wfile.write(self.path.encode())

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log nothing."""


class Query:
    """A question whose answer in-process is given."""

    def __init__(self, path: str, answer: bytes) -> None:
        self.path, self.answer = path, answer

    def answered(self, view: object) -> bytes:
        return self.answer


@pytest.fixture
def server() -> Iterator[Server]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.02,))
        thread.start()
        yield Server(listening.server_port, 0)
        listening.shutdown()
        thread.join()


def asked(server: Server, *queries: Query) -> Times:
    with closing(server.connect()) as connection:
        return ask(cast(Any, None), connection, queries)


def test_each_question_is_timed_both_ways(server: Server) -> None:
    times = asked(server, Query("/a", b"/a"), Query("/b", b"/b"))
    assert [len(times.in_process), len(times.over_http)] == [2, 2]


def test_answer_over_http_that_differs_is_wrong(server: Server) -> None:
    with pytest.raises(WrongAnswer, match="the answer to /b"):
        asked(server, Query("/a", b"/a"), Query("/b", b"/c"))


def test_status_other_than_200_is_an_error(server: Server) -> None:
    with pytest.raises(RuntimeError, match="/missing is answered by 404"):
        asked(server, Query("/missing", b"/missing"))
