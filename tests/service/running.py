"""A running service in processes of its own."""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TextIO
from urllib.request import urlopen

import psutil
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse

import losslake_service.serve
from losslake_service.entity_tags import Version
from losslake_service.files.file_response import LocalFileResponse
from losslake_service.files.ranges import ServedFile
from losslake_service.serve import application
from losslake_service.settings import Settings
from tests.failed_workers import failures_in, write_failures
from tests.forked import Forked
from tests.servers.processes import SECONDS, wait_until


@dataclass
class Running:
    """The process that was started, the URLs it printed, and what it writes to standard error."""

    process: Forked
    urls: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    reader: threading.Thread = field(default_factory=threading.Thread)

    @property
    def url(self) -> str:
        return "/".join(self.urls[0].split("/")[:3])

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of the log, without the warning where tests run as root."""
        return [json.loads(line) for line in self.errors if "the service runs as root" not in line]

    def wait_for_lines(self) -> None:
        """Once the process has ended: until all that it wrote is there."""
        self.reader.join(SECONDS)


def metric(running: Running, name: str) -> float:
    """Return the sum of a metric; name: its name, with labels in braces or with any."""
    with urlopen(f"{running.url}/metrics", timeout=SECONDS) as response:
        lines = response.read().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{name} ", f"{name}{{")))


def result_files(running: Running) -> list[Path]:
    """Return the files of results that the service has open; none of them has a name any more."""
    files = []
    for file in Path(f"/proc/{running.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            if "losslake-sql-" in str(file.readlink()):
                files.append(file)
    return files


def wait_until_in_flight(running: Running, n_requests: int) -> None:
    """Return when so many requests are being answered."""

    def are_in_flight() -> bool:
        return metric(running, "losslake_requests_in_flight") == n_requests + 1  # with this one

    wait_until(are_in_flight, f"{n_requests} requests are being answered")


def wait_until_connected(running: Running, n_clients: int) -> None:
    """Return when the service has so many connections."""
    process = psutil.Process(running.process.pid)

    def are_connected() -> bool:
        return sum(each.status != psutil.CONN_LISTEN for each in process.net_connections("tcp")) == n_clients

    wait_until(are_connected, f"{n_clients} clients are connected")


def wait_until_refused(port: int) -> None:
    """Return when nobody accepts connections."""

    def is_refused() -> bool:
        with socket.socket() as connection:
            connection.settimeout(SECONDS)
            return connection.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED

    wait_until(is_refused, "connections are refused")


@contextmanager
def served(folder: Path, **settings: Any) -> Iterator[Running]:
    """The service over a lake, without SQL; besides its paths:

    /process gives a worker's id, /slow takes a second, /broken fails, /file/x gives a file of the folder.
    """
    chosen = {"port": 0, "log_format": "json", "sql_enabled": False, **settings}
    (says, said), (errs, erred) = os.pipe(), os.pipe()
    process = Forked(_serve, folder, chosen, streams={1: said, 2: erred}, may_start_others=True)
    os.close(said)
    os.close(erred)
    with os.fdopen(says) as greeting, os.fdopen(errs) as errors:
        running = Running(process)
        running.reader = threading.Thread(target=lambda: running.errors.extend(errors), daemon=True)
        running.reader.start()
        try:
            running.urls = _greeted(running, greeting)
            yield running
        finally:
            try:
                process.end()
            finally:
                running.wait_for_lines()
        failures = failures_in(running.errors)
        assert not failures, failures


def _greeted(running: Running, greeting: TextIO) -> list[str]:
    """Return the URLs of the greeting; AssertionError, with what the service complained of, where none comes."""
    # Who is killed says nothing more, so that reading ends.
    limit = threading.Timer(SECONDS, running.process.kill)
    limit.start()
    try:
        lines = [greeting.readline() for _ in range(4)]
    finally:
        limit.cancel()
    if not all(lines):
        running.process.end()
        running.wait_for_lines()
    assert all(lines), f"the service ended, or gave no greeting in {SECONDS:g} s: {lines} {running.errors}"
    return [line.strip() for line in lines if line.startswith("  http")]


def _serve(folder: Path, settings: Mapping[str, Any]) -> None:
    # uvicorn starts workers of its own, which import anew: what they make the application with is handed to them.
    losslake_service.serve.application = partial(_with_more_paths, folder)
    losslake_service.serve.serve(Settings.model_validate(settings))


def _with_more_paths(folder: Path, settings: Settings) -> FastAPI:
    app = application(settings)
    write_failures(sys.stderr.write)

    async def file(request: Request, name: str) -> Response:
        path = folder / name
        version = Version(f'"{name}"', datetime(2026, 1, 1, tzinfo=UTC))
        found = ServedFile(str(path), path.stat().st_size, version, "application/octet-stream")
        return LocalFileResponse(found, request.headers)

    def slow() -> Response:
        return StreamingResponse(_pieces(), media_type="text/csv")

    for path, answer in {"/process": os.getpid, "/slow": slow, "/broken": lambda: 1 // 0}.items():
        app.add_api_route(path, answer, include_in_schema=False)
    app.add_api_route("/file/{name}", file, methods=["GET", "HEAD"], include_in_schema=False)
    return app


def _pieces() -> Iterator[bytes]:
    for number in range(10):
        yield b"%9d\n" % number
        time.sleep(0.1)
