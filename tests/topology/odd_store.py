"""A server in front of an object store, which changes the store's answers as a test wants it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.servers.processes import ADDRESS, SECONDS

_OF_THE_CONNECTION = {"connection", "transfer-encoding", "content-length", "date", "server"}


@dataclass(frozen=True)
class Answer:
    """An answer of the store.

    n_sent: bytes of the body that are sent before the connection is closed; None: all.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    n_sent: int | None = None

    @property
    def start(self) -> int:
        """The first byte of the part of a file that this is."""
        content_range = self.headers.get("content-range", "bytes 0-")
        return int(content_range.removeprefix("bytes ").partition("-")[0])


# Return what the store answers instead; None: it closes the connection.
Change = Callable[[Answer], Answer | None]


@dataclass
class OddStore:
    """A store that runs.

    change: what is done to the answers of the store behind it. n_requests: since the last change.
    """

    target_port: int
    port: int = 0
    change: Change | None = None
    n_requests: int = 0

    def becomes(self, change: Change | None) -> None:
        """Change the answers from now on."""
        self.change, self.n_requests = change, 0


def failed(status: int) -> Change:
    """Return the change into an error, with headers that mustn't reach a client."""
    headers = {
        "Content-Type": "application/xml",
        "Cache-Control": "public, max-age=99",
        "Location": "http://store.example/",
    }
    return lambda _: Answer(status, headers, b"" if status == 304 else b"<Error>of the store</Error>")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    store: OddStore

    def do_GET(self) -> None:
        self.store.n_requests += 1
        answer: Answer | None = self._fetch()
        if self.store.change is not None:
            assert answer is not None
            answer = self.store.change(answer)
        if answer is None:
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        with suppress(ConnectionError):  # nginx needs no more than the head of an error
            self.end_headers()
            self.wfile.write(answer.body[: answer.n_sent])
        self.close_connection = answer.n_sent is not None

    def _fetch(self) -> Answer:
        connection = HTTPConnection(ADDRESS, self.store.target_port, timeout=SECONDS)
        try:
            connection.request("GET", self.path, headers={name: self.headers[name] for name in self.headers})
            response = connection.getresponse()
            headers = {name.lower(): value for name, value in response.getheaders()}
            kept = {name: value for name, value in headers.items() if name not in _OF_THE_CONNECTION}
            return Answer(response.status, kept, response.read())
        finally:
            connection.close()

    def log_message(self, *message: object) -> None:
        """Say nothing."""


@contextmanager
def odd_store(target_port: int) -> Iterator[OddStore]:
    """Start it in front of a store on a port of this machine, and end it."""
    handler = type("Handler", (_Handler,), {})
    with ThreadingHTTPServer((ADDRESS, 0), handler) as server:
        store = OddStore(target_port, server.server_address[1])
        handler.store = store  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield store
        finally:
            server.shutdown()
            thread.join()
