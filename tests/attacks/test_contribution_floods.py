"""Contributors who send as much as they may, beside one who sends little; docs/threat-model.md lists the attacks."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

import httpx
import psutil
import pytest

from losslake_contributions.protocol.limits import LARGEST_SEGMENT, MOST_PIECES, MOST_SEGMENTS
from losslake_contributions.protocol.texts import new_submission_id
from losslake_contributions.review.site import COOKIE
from tests.attacks.contributors import Target, fresh_run
from tests.attacks.neighbours import running_beside
from tests.contributions.conftest import Sender

pytestmark = [pytest.mark.slow, pytest.mark.attack]
CURVE = "0001/000001.jsonl"
SECONDS = 12.0
_PAUSE_S = 0.02


@dataclass
class Seen:
    """What another contributor saw: seconds of its requests by kind, and the memory of the service."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {"PUT run": [], "PUT segment": [], "/healthz": []})
    failures: Counter[int] = field(default_factory=Counter)
    bytes_before: int = 0
    bytes: int = 0

    def quantile(self, kind: str, part: float) -> float:
        ordered = sorted(self.seconds[kind])
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))]

    def line(self, attack: str, sent: Counter[int]) -> str:
        times = ", ".join(
            f"{kind} {'/'.join(f'{self.quantile(kind, part) * 1000:.0f}' for part in (0.5, 0.99, 1))} ms"
            for kind, seconds in self.seconds.items()
            if seconds
        )
        answers = ", ".join(f"{count} of {status}" for status, count in sorted(sent.items()))
        memory = f"service {self.bytes_before / 1e6:,.0f} to {self.bytes / 1e6:,.0f} MB"
        return f"{attack}: p50/p99/max {times}; {memory}; {dict(self.failures)} failures; attackers got {answers}"


@contextmanager
def beside(target: Target, attack: str, sent: Counter[int]) -> Iterator[Seen]:
    """Let another contributor send small runs all the time, and print what it saw at the end."""
    seen, over = Seen(), threading.Event()
    process = target.service.process
    assert process is not None
    service = psutil.Process(process.pid)
    seen.bytes_before = service.memory_info().rss
    threads = [threading.Thread(target=work, args=(target, seen, over)) for work in (_contribute, _ask_for_health)]
    threads.append(threading.Thread(target=_weigh, args=(service, seen, over)))
    try:
        with running_beside(threads, over):
            yield seen
    finally:
        print(f"\n{seen.line(attack, sent)}", flush=True)


def _contribute(target: Target, seen: Seen, over: threading.Event) -> None:
    with httpx.Client(base_url=target.service.url, timeout=60) as client:
        sender = Sender(client, target.someone("Neighbour").token)
        while not over.wait(_PAUSE_S):
            run = fresh_run()
            for kind, send in (("PUT run", sender.create), ("PUT segment", sender.put)):
                began = time.perf_counter()
                status = send(run).status_code
                seen.seconds[kind].append(time.perf_counter() - began)
                if status != 201:
                    seen.failures[status] += 1


def _ask_for_health(target: Target, seen: Seen, over: threading.Event) -> None:
    with httpx.Client(base_url=target.service.url, timeout=60) as client:
        while not over.wait(_PAUSE_S):
            began = time.perf_counter()
            status = client.get("/healthz").status_code
            seen.seconds["/healthz"].append(time.perf_counter() - began)
            if status != 200:
                seen.failures[status] += 1


def _weigh(service: psutil.Process, seen: Seen, over: threading.Event) -> None:
    while not over.wait(0.05):
        with suppress(psutil.Error):
            seen.bytes = max(seen.bytes, service.memory_info().rss)


def attack_for(seconds: float, connections: int, work: Callable[[int], int]) -> Counter[int]:
    """Run work on many threads until the time is over; return how often it gave each status. work: takes a number."""
    sent: Counter[int] = Counter()
    end = time.monotonic() + seconds

    def repeat(number: int) -> None:
        while time.monotonic() < end:
            sent[work(number)] += 1

    threads = [threading.Thread(target=repeat, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sent


def pieces_of(run: str, first: int, offset: int) -> dict[str, object]:
    """A request with a thousand pieces of one line, each of another segment of a run."""
    place = {"run": run, "attempt": 1, "from_step": None, "offset": offset, "lines": "{}\n"}
    return {"pieces": [place | {"n": n} for n in range(first, first + MOST_PIECES)], "alive": []}


@dataclass
class Flooder:
    """Who sends tiny pieces: to new segments first, and once the run takes no more, to the last ones again."""

    sender: Sender
    run: str
    first: int = 1
    offset: int = 0

    def send(self) -> int:
        answer = self.sender.send("POST", "/v1/live", json=pieces_of(self.run, self.first, self.offset))
        if answer.status_code == 200 and self.first + MOST_PIECES <= MOST_SEGMENTS:
            self.first += MOST_PIECES
        elif answer.status_code == 200:
            self.offset += 3
        return int(answer.status_code)


@pytest.mark.parametrize("connections", [3, 10])
def test_flood_of_tiny_pieces(target: Target, connections: int) -> None:
    """hold up other writers by requests of a thousand tiny pieces, each of another open segment"""
    with ExitStack() as stack:
        flooders = []
        for number in range(connections):
            client = stack.enter_context(httpx.Client(base_url=target.service.url, timeout=120))
            sender, run = Sender(client, target.someone(f"Flooder {number}").token), fresh_run()
            sender.create(run)
            flooders.append(Flooder(sender, run.id))
        sent = Counter[int]()
        with beside(target, f"tiny pieces on {connections} connections", sent) as seen:
            sent.update(attack_for(SECONDS, connections, lambda number: flooders[number].send()))
    assert not seen.failures
    assert max(seen.quantile(kind, 0.99) for kind in seen.seconds) < 1


SLOW_READERS, READ_BYTES_A_SECOND = 120, 12_000


def test_slow_readers_of_segments(target: Target) -> None:
    """fill the memory by many connections that read a large segment slowly"""
    sender, run = target.someone("Slow reader"), fresh_run()
    sender.create(run)
    # Random text: it takes the most of what unpacking may take.
    lines = b"\n".join(os.urandom(64).hex().encode() for _ in range(LARGEST_SEGMENT // 129)) + b"\n"
    assert sender.put(run, data=lines, sha256=hashlib.sha256(lines).hexdigest()).status_code == 201
    end = f"HTTP/1.1\r\nHost: 127.0.0.1:{target.service.port}\r\nAccept-Encoding: zstd\r\n"
    rest = f"GET /v1/contributions/{run.id}/segments/1/1 {end}Authorization: Bearer {sender.token}\r\n\r\n"
    path = f"/reviews/{new_submission_id()}/runs/{run.id}/1/1"
    page = f"GET {path} {end}Cookie: {COOKIE}={target.cookie(sender)}\r\n\r\n"
    sent = Counter[int]()
    with ExitStack() as stack, beside(target, f"{SLOW_READERS} slow readers of a segment", sent) as seen:
        connections = [stack.enter_context(slow_connection(target)) for _ in range(SLOW_READERS)]
        for number, connection in enumerate(connections):
            connection.sendall((rest if number % 2 else page).encode())
        for connection in connections:
            sent[int(connection.recv(12)[9:12])] += 1
        last = time.monotonic() + SECONDS / 2
        while time.monotonic() < last:
            for connection in connections:
                connection.recv(READ_BYTES_A_SECOND // 2)
            time.sleep(0.5)
    assert sent == {200: SLOW_READERS}
    assert not seen.failures
    assert seen.bytes < 400e6


def slow_connection(target: Target) -> socket.socket:
    """A connection that buffers little of what it is sent."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(60)
    connection.connect(("127.0.0.1", target.service.port))
    return connection


FAT_RUNS, FAT_BYTES = 210, 250_000


def test_answers_with_large_documents(target: Target) -> None:
    """hold up others by answers about, and signs of life of, runs with large run.json and no measurements"""
    fat = {str(number): "x" * 9_900 for number in range(FAT_BYTES // 10_000)}
    sender = target.someone("Fat")
    runs = [fresh_run(parameters=fat, segments={}) for _ in range(FAT_RUNS)]
    with ThreadPoolExecutor(4) as pool:
        created = [run for run, answer in zip(runs, pool.map(sender.create, runs), strict=True) if answer.is_success]
        assert {answer.status_code for answer in pool.map(sender.finish, created)} <= {200, 403}
    submitted = sorted(created, key=lambda run: run.id)[: FAT_RUNS * 9 // 10]
    name = sender.submit(*submitted).json()["id"]
    # Its review would take a core for a while.
    sender.send("POST", f"/v1/submissions/{name}/withdraw", timeout=120)
    path = f"/v1/submissions/{name}"
    sizes: list[int] = []

    def ask(number: int) -> int:
        if number == 3:
            return int(sender.live(alive=[run.id for run in submitted], timeout=120).status_code)
        answer = target.page(f"/reviews/{name}", sender) if number == 2 else sender.send("GET", path, timeout=120)
        sizes.append(len(answer.content))
        return int(answer.status_code)

    sent = Counter[int]()
    with beside(target, f"answers about {len(submitted)} runs with {FAT_BYTES:,} bytes of facts", sent) as seen:
        sent.update(attack_for(SECONDS / 2, 4, ask))
    print(f"answers of at most {max(sizes):,} bytes; {len(created)} of {FAT_RUNS} runs were taken", flush=True)
    assert set(sent) == {200}
    assert max(sizes) < 1_000_000
    assert len(created) < FAT_RUNS
    assert not seen.failures
    assert max(seen.quantile(kind, 0.99) for kind in seen.seconds) < 1
