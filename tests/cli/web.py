"""A real HTTP server on loopback with configurable content and faults."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq

from losslake.lake.checksums import sha256_of
from losslake.lake.export import export
from losslake.lake.lake import Lake
from losslake_schema.tables import STUDY_KEYS

COLUMNS = (
    "release",
    "created_at",
    "notes",
    "content_digest",
    "n_studies",
    "n_trials",
    "n_evaluations",
    "n_measurements",
)


FOREVER = 3600.0  # longer than a test may take


@dataclass
class Fault:
    """A fault in the responses for paths that contain a text, and how often it occurs."""

    times: int = 1
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    drop_after: int | None = None
    changed: Callable[[bytes], bytes] | None = None
    is_blind_to_ranges: bool = False
    pause_s: float = 0
    until: threading.Event | None = None


@dataclass
class Request:
    method: str
    path: str
    headers: Mapping[str, str]


class Web:
    """The content and faults of the server, and the requests that it received."""

    def __init__(self) -> None:
        self.served: dict[str, bytes | Path] = {}
        self.faults: dict[str, Fault] = {}
        self.posts: dict[str, Callable[[Any], Reply]] = {}
        self.requests: list[Request] = []
        self.url = ""
        self.lock = threading.Lock()
        self.over = threading.Event()

    def fault_of(self, path: str) -> Fault | None:
        with self.lock:
            for text, fault in self.faults.items():
                if text in path and fault.times > 0:
                    fault.times -= 1
                    return fault
        return None

    def is_over_after(self, fault: Fault) -> bool:
        """Wait as a fault says; return True if the test is over: what would answer may be closed."""
        while fault.until is not None and not fault.until.wait(0.05):
            if self.over.is_set():
                return True
        return self.over.wait(fault.pause_s)

    def serve_stalling(self, path: str, data: bytes) -> None:
        """Serve data whose download stops near its end and never continues."""
        self.served[path] = data
        self.faults[path] = Fault(times=1, drop_after=len(data) - 500_000)
        self.faults[path.removeprefix("/")] = Fault(times=99, pause_s=FOREVER)

    def serve_release(self, lake: Lake, folder: Path, number: int | None = None) -> None:
        """Serve a release as the service does. folder: destination of its export."""
        release = lake.release(number)
        export(lake, release, folder)
        rows = []
        for file in sorted(folder.rglob("*.parquet")):
            path = file.relative_to(folder).as_posix()
            keys = dict(part.split("=", 1) for part in path.split("/")[1:-1])
            columns: dict[str, object] = {key: unquote(keys[key]) if keys else None for key in STUDY_KEYS}
            columns["batch_size"] = int(keys["batch_size"]) if keys else None
            facts = {"bytes": file.stat().st_size, "sha256": sha256_of(file), "rows": pq.read_metadata(file).num_rows}
            rows.append({"table": path.split("/")[0].removesuffix(".parquet"), "path": path, **facts, **columns})
            self.served[f"/data/{release.number}/{path}"] = file
        self.served[f"/v1/releases/{release.number}/files"] = as_json({"release": release.number, "rows": rows})
        newest_first = sorted(lake.releases(), key=lambda r: -r.number)
        published = [r for r in newest_first if f"/v1/releases/{r.number}/files" in self.served]
        listed = [
            {
                c: r.number if c == "release" else str(getattr(r, c)) if c == "created_at" else getattr(r, c)
                for c in COLUMNS
            }
            for r in published
        ]
        self.served["/v1/releases"] = as_json({"rows": listed})

    def change_list(self, number: int, change: Callable[[list[dict[str, object]]], None]) -> None:
        """Change the list of files of a release."""
        served = self.served[f"/v1/releases/{number}/files"]
        assert isinstance(served, bytes)
        document = json.loads(served)
        change(document["rows"])
        self.served[f"/v1/releases/{number}/files"] = as_json(document)


def as_json(document: object) -> bytes:
    return json.dumps(document).encode()


@dataclass
class Reply:
    """The response to a POST; the body may be sent in pieces."""

    body: Iterable[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms for the acknowledgement of its headers
    web: Web

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Say nothing."""

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.web.requests.append(Request("GET", path, dict(self.headers.items())))
        fault = self.web.fault_of(path) or Fault()
        if self.web.is_over_after(fault):
            return
        if fault.status is not None:
            self._send(fault.status, fault.headers, fault.body)
            return
        served = self.web.served.get(path)
        if served is None:
            problem = {"type": "urn:losslake:problem:unknown-path", "title": "Nothing", "detail": f"nothing at {path}"}
            self._send(404, {"Content-Type": "application/problem+json"}, as_json(problem))
            return
        data = served if isinstance(served, bytes) else served.read_bytes()
        whole = fault.changed(data) if fault.changed else data
        etag = f'"{len(data)}"'
        start = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        headers = {"ETag": etag, "Accept-Ranges": "bytes", **fault.headers}
        if fault.is_blind_to_ranges:
            del headers["Accept-Ranges"]
        elif start and self.headers.get("If-Range", etag) == etag:
            at = int(start[1])
            headers["Content-Range"] = f"bytes {at}-{len(whole) - 1}/{len(whole)}"
            self._send(206, headers, whole[at:], fault.drop_after)
            return
        self._send(200, headers, whole, fault.drop_after)

    def do_POST(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.web.requests.append(Request("POST", path, dict(self.headers.items())))
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fault = self.web.fault_of(path) or Fault()
        if self.web.is_over_after(fault):
            return
        if fault.status is not None:
            self._send(fault.status, fault.headers, fault.body)
            return
        reply = self.web.posts[path](body)
        self.send_response(reply.status)
        for name, value in ({"Transfer-Encoding": "chunked"} | dict(reply.headers) | dict(fault.headers)).items():
            self.send_header(name, value)
        self.end_headers()
        left = fault.drop_after if fault.drop_after is not None else 2**60
        for piece in reply.body:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece[:left]))
            left -= len(piece)
            if left < 0:
                self.wfile.flush()
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, status: int, headers: Mapping[str, str], body: bytes, drop_after: int | None = None) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | dict(headers)).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body if drop_after is None else body[:drop_after])
        if drop_after is not None:
            self.wfile.flush()
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing when a client hangs up."""


@contextmanager
def running() -> Iterator[Web]:
    """Yield a server on a free loopback port."""
    web = Web()
    handler = type("Handler", (_Handler,), {"web": web})
    server = _Server(("127.0.0.1", 0), handler)
    web.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield web
    finally:
        web.over.set()
        server.shutdown()
        server.server_close()
