"""Servers to measure, each in processes of its own on a free port."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import MappingProxyType

from bench import measure
from losslake_service.settings import CONTRIBUTIONS_PREFIX

SECONDS_TO_START = 60
_NGINX = """
{user}daemon off; worker_processes {workers}; pid {folder}/pid; error_log {folder}/error.log crit;
events {{ worker_connections 1024; }}
http {{
    access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; default_type application/octet-stream;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; location = /file {{ alias {file}; }} location = /healthz {{ return 200; }} }}
}}
"""
# Started by root, its workers would be nobody, who may not read the lake.
_USER = "user root; " if os.geteuid() == 0 else ""


@dataclass(frozen=True)
class Server:
    """A server that answers. process: the id of the one that was started."""

    port: int
    process: int

    def answer(self, path: str) -> bytes:
        """Return the body of a successful answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS_TO_START)
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        if response.status != 200:
            raise RuntimeError(f"{path} is answered by {response.status}: {body[:300]!r}")
        return body


@contextmanager
def service(lake: Path, workers: int, settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[Server]:
    """Run the service over a lake, without log lines. settings: environment variables."""
    port = _free_port()
    command = ["-m", "losslake", "serve", "--lake", str(lake), "--workers", str(workers), "--port", str(port)]
    with _running([sys.executable, *command], port, {"LOSSLAKE_LOG_FORMAT": "off", **settings}, "/readyz") as server:
        yield server


@contextmanager
def contributions(lake: Path, settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[Server]:
    """Run the contribution service over a lake, without log lines. settings: environment variables."""
    port = _free_port()
    command = [sys.executable, "-m", "losslake", "serve-contributions", "--lake", str(lake), "--port", str(port)]
    with _running(command, port, {f"{CONTRIBUTIONS_PREFIX}LOG_FORMAT": "off", **settings}, "/readyz") as server:
        yield server


@contextmanager
def constants(lake: Path, workers: int) -> Iterator[Server]:
    """Run the server of `bench.constant`."""
    port = _free_port()
    command = [sys.executable, "-m", "bench.constant", str(lake), str(port), str(workers)]
    with _running(command, port, {}, "/healthz") as server:
        yield server


@contextmanager
def nginx(file: Path, folder: Path, workers: int) -> Iterator[Server]:
    """nginx, giving one file by sendfile at /file; folder: for its own files."""
    port = _free_port()
    config = folder / "nginx.conf"
    config.write_text(_NGINX.format(user=_USER, workers=workers, folder=folder, port=port, file=file))
    with _running([nginx_program(), "-c", str(config), "-p", str(folder)], port, {}, "/healthz") as server:
        yield server


def nginx_program() -> str:
    """Return the path of nginx. Raises FileNotFoundError."""
    path = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if path is None:
        raise FileNotFoundError("nginx is not installed: install Debian's nginx-light, or the like")
    return path


@contextmanager
def _running(command: Sequence[str], port: int, environment: Mapping[str, str], path: str) -> Iterator[Server]:
    process = measure.start(command, {**os.environ, **environment}, subprocess.DEVNULL)
    server = Server(port, process.pid)
    try:
        _wait_for(server, process, path)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS_TO_START)


def _wait_for(server: Server, process: subprocess.Popen[bytes], path: str) -> None:
    ends = time.monotonic() + SECONDS_TO_START
    while True:
        try:
            server.answer(path)
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
