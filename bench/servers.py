"""The services to measure, each in processes of its own on a free port, and a request to them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import MappingProxyType

from bench import measure
from losslake_service.settings import CONTRIBUTIONS_PREFIX

SECONDS_TO_START = 60
PROGRAM = (sys.executable, "-m", "losslake")
NO_ANSWERS_KEPT = {"LOSSLAKE_ANSWER_CACHE_MB": "0"}


@dataclass(frozen=True)
class Server:
    """A server that answers. process: the id of the one that was started."""

    port: int
    process: int

    def connect(self) -> HTTPConnection:
        """Return a new connection."""
        return HTTPConnection("127.0.0.1", self.port, timeout=SECONDS_TO_START)

    def answer(self, path: str) -> bytes:
        """Return the body of a successful answer over a new connection."""
        with closing(self.connect()) as connection:
            return get(connection, path)


def get(connection: HTTPConnection, path: str) -> bytes:
    """Return the body of a successful answer."""
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise RuntimeError(f"{path} is answered by {response.status}: {body[:300]!r}")
    return body


@contextmanager
def service(
    lake: Path, workers: int, settings: Mapping[str, str] = MappingProxyType({}), program: Sequence[str] = PROGRAM
) -> Iterator[Server]:
    """Run the service over a lake, without log lines. settings: environment variables."""
    command = [*program, "serve", "--workers", str(workers)]
    with _running(command, lake, {"LOSSLAKE_LOG_FORMAT": "off", **settings}) as server:
        yield server


@contextmanager
def contributions(lake: Path, settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[Server]:
    """Run the contribution service over a lake, without log lines. settings: environment variables."""
    command = [*PROGRAM, "serve-contributions"]
    with _running(command, lake, {f"{CONTRIBUTIONS_PREFIX}LOG_FORMAT": "off", **settings}) as server:
        yield server


@contextmanager
def dashboard(runs: Path) -> Iterator[Server]:
    """Run the dashboard of a folder of runs, without a lake and without log lines."""
    with _running([*PROGRAM, "serve", "--live", str(runs)], None, {"LOSSLAKE_LOG_FORMAT": "off"}) as server:
        yield server


@contextmanager
def _running(command: Sequence[str], lake: Path | None, settings: Mapping[str, str]) -> Iterator[Server]:
    port = _free_port()
    over = ["--lake", str(lake)] if lake is not None else []
    whole = [*command, *over, "--port", str(port)]
    process = measure.start(whole, {**os.environ, **settings}, subprocess.DEVNULL)
    server = Server(port, process.pid)
    try:
        _wait_for(server, process)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS_TO_START)


def _wait_for(server: Server, process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + SECONDS_TO_START
    while True:
        try:
            server.answer("/readyz")
        except (OSError, HTTPException, RuntimeError):
            if process.poll() is not None or time.monotonic() > ends:
                raise
            time.sleep(0.1)
        else:
            return


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
