"""Large files arrive byte for byte at whoever asks, however slowly, and leave nothing behind in the service."""

from __future__ import annotations

import os
import random
import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
import pytest

from losslake.lake.lake import Lake
from tests.servers.processes import SECONDS, wait_until
from tests.service.running import Running, metric, wait_until_connected, wait_until_in_flight, wait_until_refused
from tests.service.running import served as running_service

MB = 1 << 20
SIZE = 24 * MB
CONTENT = random.Random(4).randbytes(SIZE)
SMALL_BUFFER = 8192
HARDLY_ANY = 0.001  # kB a second: a busy machine must not make a client too slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("downloads")
    (folder / "large").write_bytes(CONTENT)
    return folder


@pytest.fixture(scope="module")
def running(lake: Lake, folder: Path) -> Iterator[Running]:
    with running_service(folder, lake=str(lake.folder), min_read_kb=HARDLY_ANY) as service:
        urlopen(f"{service.url}/process", timeout=SECONDS).close()
        yield service


def request(path: str = "/file/large", headers: str = "", method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode()


def connect(running: Running, buffer: int | None = None) -> socket.socket:
    connection = socket.socket()
    connection.settimeout(SECONDS)
    if buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connection.connect(("127.0.0.1", running.port))
    return connection


def everything(connection: socket.socket, pause: float = 0.0) -> bytes:
    """All that comes until the other side closes."""
    found = bytearray()
    while data := connection.recv(256 * 1024):
        found += data
        time.sleep(pause)
    return bytes(found)


def answers(data: bytes) -> list[tuple[int, bytes]]:
    """Status and body of answers that follow each other on one connection."""
    found = []
    while data:
        head, _, data = data.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        (length,) = (int(line[15:]) for line in lines if line.startswith(b"content-length:"))
        found.append((int(lines[0].split()[1]), data[:length]))
        data = data[length:]
    return found


def process(running: Running) -> psutil.Process:
    return psutil.Process(running.process.pid)


def open_downloads(running: Running) -> int:
    """Return how often the service has the large file open."""
    return sum(Path(file.path).name == "large" for file in process(running).open_files())


def idle_descriptors(running: Running) -> int:
    """Return how many descriptors are open once no client is connected and no file is sent."""
    wait_until_connected(running, 0)
    # A file is closed a little after the connection that it was sent to.
    wait_until(lambda: not open_downloads(running), "no download is open")
    return process(running).num_fds()


def wait_until_descriptors_are(running: Running, most: int) -> None:
    wait_until(lambda: process(running).num_fds() <= most, f"at most {most} descriptors are open")


def test_ranges_arrive_whole_at_fast_and_slow_clients_at_once(running: Running) -> None:
    rng = random.Random(1)

    def download(number: int) -> None:
        is_slow = number % 3 == 0
        first = rng.randrange(SIZE - 1)
        last = min(SIZE - 1, first + rng.randrange(2 * MB if is_slow else SIZE))
        with connect(running, SMALL_BUFFER * 4 if is_slow else None) as connection:
            connection.sendall(request(headers=f"Range: bytes={first}-{last}\r\nConnection: close\r\n"))
            [(status, body)] = answers(everything(connection, 0.0002 if is_slow else 0))
        assert (status, len(body)) == (206, last - first + 1)
        assert body == CONTENT[first : last + 1]

    with ThreadPoolExecutor(24) as pool:
        list(pool.map(download, range(48)))


def test_requests_in_one_packet_are_answered_in_turn(running: Running) -> None:
    asked = [
        request("/healthz"),
        request(),
        request(headers="Range: bytes=1000-999999\r\n"),
        request(headers='If-None-Match: "large"\r\n').replace(b"If-None-Match", b"If-Match"),
        request("/healthz", "Connection: close\r\n"),
    ]
    with connect(running) as connection:
        connection.sendall(b"".join(asked))
        found = answers(everything(connection))
    assert [status for status, _ in found] == [200, 200, 206, 200, 200]
    assert [body for _, body in found[1:4]] == [CONTENT, CONTENT[1000:1_000_000], CONTENT]


def test_a_connection_goes_on_after_a_download(running: Running) -> None:
    connection = HTTPConnection("127.0.0.1", running.port, timeout=SECONDS)
    for method, headers, status, body in (
        ("GET", {}, 200, CONTENT),
        ("HEAD", {}, 200, b""),
        ("GET", {"If-None-Match": '"large"'}, 304, b""),
        ("GET", {"Range": "bytes=-700000"}, 206, CONTENT[-700_000:]),
        ("GET", {"Range": "bytes=7-7"}, 206, CONTENT[7:8]),
        ("GET", {}, 200, CONTENT),
    ):
        connection.request(method, "/file/large", headers=headers)
        kept = connection.sock
        response = connection.getresponse()
        assert (response.status, response.read() == body) == (status, True)
        assert connection.sock is kept
    connection.close()


def test_bytes_are_counted(running: Running) -> None:
    name = 'losslake_sent_bytes_total{route="/file/{name}"}'
    wait_until_in_flight(running, 0)
    before = metric(running, name)
    with urlopen(f"{running.url}/file/large", timeout=SECONDS) as response:
        response.read()
    wait_until_in_flight(running, 0)  # an answer is counted just after it was sent
    assert metric(running, name) - before == SIZE


@pytest.mark.parametrize("with_reset", [False, True])
def test_disconnected_clients_leave_no_open_file(running: Running, with_reset: bool) -> None:
    before, n_lines = idle_descriptors(running), len(running.lines)
    gone = [connect(running, SMALL_BUFFER) for _ in range(40)]
    for number, connection in enumerate(gone):
        connection.sendall(request() * (1 + number % 2))
    for connection in gone:
        connection.recv(10_000)
    assert open_downloads(running) == len(gone)
    for connection in gone:
        if with_reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    wait_until_descriptors_are(running, before)
    with urlopen(f"{running.url}/file/large", timeout=SECONDS) as response:
        assert response.read() == CONTENT
    # uvicorn doesn't notice that a client of pipelined requests has left, and logs that it can't send to it.
    errors = [line for line in running.lines[n_lines:] if line["level"] == "error"]
    assert [line for line in errors if "the handler is closed" not in line.get("traceback", "")] == []


@contextmanager
def slow_clients(running: Running) -> Iterator[list[socket.socket]]:
    """Provide 200 clients that wait for a large file, whose first bytes they have read."""
    before = idle_descriptors(running)
    waiting = [connect(running, SMALL_BUFFER) for _ in range(200)]
    for connection in waiting:
        connection.sendall(request())
    for connection in waiting:
        assert connection.recv(4000)
    yield waiting
    for connection in waiting:
        connection.close()
    wait_until_descriptors_are(running, before)


def test_200_slow_clients_keep_nobody_waiting(running: Running) -> None:
    with slow_clients(running) as waiting:
        for _ in range(3):
            urlopen(f"{running.url}/process", timeout=SECONDS).close()
            for connection in waiting:
                assert connection.recv(4000)


@pytest.mark.slow
def test_200_slow_clients_use_little_memory(running: Running) -> None:
    before = process(running).memory_info().rss
    with slow_clients(running) as waiting:
        for connection in waiting:
            assert connection.recv(4000)
        assert process(running).memory_info().rss - before < len(waiting) * 0.2 * MB


def test_file_truncated_while_sent_closes_the_connection(running: Running, folder: Path) -> None:
    (folder / "cut").write_bytes(CONTENT)
    with connect(running, SMALL_BUFFER) as connection:
        connection.sendall(request("/file/cut"))
        begun = connection.recv(1000)
        os.truncate(folder / "cut", 12 * MB)
        head, _, body = (begun + everything(connection)).partition(b"\r\n\r\n")
    assert f"content-length: {SIZE}".encode() in head
    assert body == CONTENT[: len(body)]
    assert MB < len(body) <= 12 * MB
    urlopen(f"{running.url}/process", timeout=SECONDS).close()
    wait_until(lambda: any("was truncated" in error for error in running.errors), "the log says so")

    def requests() -> list[dict[str, Any]]:
        return [line for line in running.lines if line.get("path") == "/file/cut"]

    wait_until(lambda: bool(requests()), "the request is logged")
    assert [(line["level"], line["status"], line["problem"]) for line in requests()] == [
        ("error", 500, "incomplete-body")
    ]
    assert metric(running, 'losslake_requests_total{method="GET",route="/file/{name}",status="500"}') == 1


def test_on_sigterm_a_download_is_finished(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(CONTENT)
    settings = {"shutdown_seconds": 600, "min_read_kb": HARDLY_ANY}
    with (
        running_service(tmp_path, lake=str(lake.folder), **settings) as running,
        connect(running, SMALL_BUFFER) as connection,
    ):
        connection.sendall(request())
        begun = connection.recv(1000)
        running.process.terminate()
        wait_until_refused(running.port)
        [(status, body)] = answers(begun + everything(connection))
        assert (status, body == CONTENT) == (200, True)
        assert running.process.wait(SECONDS) == 0
