"""A steady load of reading requests, each of whose answers is known."""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

TRIES = 4
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True)
class Read:
    """A request that only reads; kind: for counts. is_of_a_release: then what it answers must not change."""

    kind: str
    path: str
    sql: str = ""
    part: tuple[int, int] | None = None
    is_of_a_release: bool = True

    def send(self, client: httpx.Client) -> httpx.Response:
        """One try; a body that breaks off is an httpx.TransportError."""
        if self.sql:
            return client.post(self.path, json={"sql": self.sql, "release": 1})
        headers = {"Range": f"bytes={self.part[0]}-{self.part[1]}"} if self.part else {}
        return client.get(self.path, headers=headers)


@dataclass
class Load:
    """What was asked and what came of it; seconds: of each read, with its further tries.

    again: reasons for which a read was tried again. failed: reads that no try answered. wrong: those answered otherwise
    than before. releases: each list of releases that differs from the one before it.
    """

    url: str
    reads: Sequence[Read]
    per_second: float
    known: dict[Read, bytes] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    releases: list[list[dict[str, Any]]] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def learn(self) -> None:
        """Ask everything once: what is answered now is right."""
        with self._client() as client:
            for read in self.reads:
                answer = read.send(client)
                assert answer.status_code in (200, 206), f"{read}: {answer.status_code} {answer.text[:300]}"
                self.known[read] = _digest(answer)

    def summary(self) -> str:
        """How it went, in a line."""
        slow = sorted(self.seconds)[int(len(self.seconds) * 0.99)]
        again = f"{self.again.total()} further tries {dict(self.again)}"
        return f"{self.counts.total()} reads {dict(self.counts)}, {again}, 99 of 100 within {slow:.2f} s"

    def run(self, seed: int) -> None:
        """Read in turn, some of the time the list of releases, until it is ended."""
        chosen = random.Random(seed)
        with self._client() as client:
            while not self.ended.wait(1 / self.per_second):
                if chosen.random() < 0.1:
                    self._read_releases(client)
                else:
                    self._read(client, chosen.choice(self.reads))

    def _read(self, client: httpx.Client, read: Read) -> None:
        answer = self._patiently(client, read)
        if answer is not None and read.is_of_a_release and _digest(answer) != self.known[read]:
            self.wrong.append(f"{read}: {answer.text[:300]}")

    def _read_releases(self, client: httpx.Client) -> None:
        answer = self._patiently(client, Read("releases", "/v1/releases"))
        if answer is not None:
            rows = answer.json()["rows"]
            if not self.releases or rows != self.releases[-1]:
                self.releases.append(rows)

    def _patiently(self, client: httpx.Client, read: Read) -> httpx.Response | None:
        began = time.monotonic()
        self.counts[read.kind] += 1
        reason = ""
        for attempt in range(TRIES):
            if attempt:
                self.again[f"{read.kind}: {reason}"] += 1
                time.sleep(_PAUSE_SECONDS * 2**attempt)
            try:
                answer = read.send(client)
            except httpx.TransportError as error:
                reason = repr(error)
                continue
            if answer.status_code in (200, 206):
                self.seconds.append(time.monotonic() - began)
                return answer
            reason = f"{answer.status_code} {answer.text[:200]}"
        self.failed.append(f"{read}: {reason}")
        return None

    def _client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=30)


@contextmanager
def steady_load(load: Load, clients: int) -> Iterator[Load]:
    """Read in so many threads for the time of the block."""
    threads = [threading.Thread(target=load.run, args=(seed,), daemon=True) for seed in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        load.ended.set()
        for thread in threads:
            thread.join()


def _digest(answer: httpx.Response) -> bytes:
    return hashlib.sha256(answer.content).digest()
