"""What other clients see of a service that is attacked: how soon it answers them, and how much memory it takes."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import httpx
import psutil

from tests.service.running import Running

SCALING = "/v1/scaling?workload=shelf/mnist/cnn/sgd&metric=val/classification_error&target=0.3"
HEALTH = "/healthz"
SQL = "/v1/sql"
# A neighbour's address, as the trusted proxy on loopback says; no attacker has it.
ADDRESS = "198.51.100.1"
PROXIED = {"trusted_proxies": ("127.0.0.1",)}
_PAUSE_S = 0.02


@dataclass
class Seen:
    """What was measured.

    seconds: of every request, failures included, by path. refused: SQL of neighbours, in seconds from the beginning.
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    refused: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    service_bytes: int = 0
    all_bytes: int = 0

    def quantile(self, path: str, part: float) -> float:
        ordered = sorted(self.seconds[path])
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))]

    def line(self, attack: str) -> str:
        """One line with p50, p99 and maximum of each path in milliseconds, and the peak of memory."""
        paths = [
            f"{path.partition('?')[0]} "
            + "/".join(f"{self.quantile(path, part) * 1000:.0f}" for part in (0.5, 0.99, 1))
            + " ms"
            for path in self.seconds
        ]
        memory = f"service {self.service_bytes / 1e6:,.0f} MB, with workers {self.all_bytes / 1e6:,.0f} MB"
        refused = f", the last after {self.refused[-1]:.0f} s" if self.refused else ""
        sql = (
            f"; {len(self.refused)} of {len(self.seconds[SQL])} statements refused{refused}"
            if self.seconds[SQL]
            else ""
        )
        return f"{attack}: p50/p99/max {', '.join(paths)}; {memory}; {len(self.failures)} failures{sql}"


@contextmanager
def neighbours(running: Running, attack: str, *, with_sql: bool = False) -> Iterator[Seen]:
    """Ask for health and a cached answer all the time, and print what was seen at the end.

    with_sql: also send a short statement twice a second, from a third address.
    """
    seen, over = Seen(), threading.Event()
    with httpx.Client(base_url=running.url, headers={"X-Forwarded-For": ADDRESS}, timeout=60) as client:
        for path in (HEALTH, SCALING):
            assert client.get(path).status_code == 200
        threads = [
            threading.Thread(target=_request_repeatedly, args=(client, seen, over)),
            threading.Thread(target=_weigh, args=(running, seen, over)),
        ]
        if with_sql:
            threads.append(threading.Thread(target=_query_repeatedly, args=(running, seen, over)))
        try:
            with running_beside(threads, over):
                yield seen
        finally:
            print(f"\n{seen.line(attack)}", flush=True)


@contextmanager
def running_beside(threads: Sequence[threading.Thread], over: threading.Event) -> Iterator[None]:
    """Run threads meanwhile, which end once it is over."""
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _request_repeatedly(client: httpx.Client, seen: Seen, over: threading.Event) -> None:
    while not over.wait(_PAUSE_S):
        for path in (HEALTH, SCALING):
            began = time.perf_counter()
            try:
                response = client.get(path)
                if response.status_code != 200:
                    seen.failures.append(f"{path}: {response.status_code} {response.text}")
            except httpx.HTTPError as error:
                seen.failures.append(f"{path}: {error!r}")
            seen.seconds[path].append(time.perf_counter() - began)


def _query_repeatedly(running: Running, seen: Seen, over: threading.Event) -> None:
    began = time.monotonic()
    while not over.wait(0.5):
        status, seconds = measure_sql(running)
        seen.seconds[SQL].append(seconds)
        if status == 503:
            seen.refused.append(time.monotonic() - began)
        elif status != 200:
            seen.failures.append(f"{SQL}: {status}")


def _weigh(running: Running, seen: Seen, over: threading.Event) -> None:
    service = psutil.Process(running.process.pid)
    while not over.wait(0.1):
        own = service.memory_info().rss
        workers = 0
        for process in service.children(recursive=True):
            with suppress(psutil.Error):
                workers += process.memory_full_info().pss
        seen.service_bytes = max(seen.service_bytes, own)
        seen.all_bytes = max(seen.all_bytes, own + workers)


def wait_until_ready(running: Running) -> None:
    end = time.monotonic() + 60
    while True:
        with suppress(httpx.HTTPError):
            if httpx.get(f"{running.url}/readyz", timeout=10).status_code == 200:
                return
        assert time.monotonic() < end
        time.sleep(0.1)


def send_sql(running: Running, statement: str, address: str, ending: str = "", more: bytes = b"") -> socket.socket:
    """Send a statement from an address and return the connection, of which nothing is read.

    more: requests sent with it.
    """
    body = json.dumps({"sql": statement})
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(60)
    client.connect(("127.0.0.1", running.port))
    head = f"POST /v1/sql{ending} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {address}\r\n"
    client.sendall(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode() + more)
    return client


def measure_sql(running: Running, address: str = ADDRESS, statement: str = "SELECT 1 AS a") -> tuple[int, float]:
    """Return the status of a statement and the seconds that it took."""
    began = time.perf_counter()
    url, headers = f"{running.url}/v1/sql", {"X-Forwarded-For": address}
    status = httpx.post(url, json={"sql": statement}, headers=headers, timeout=60).status_code
    return status, time.perf_counter() - began
