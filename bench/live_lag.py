"""Delay of measurements of live runs, in the tables of the service and in events of pages, and its cost."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlsplit

import orjson
import psutil
import zstandard
from sqlalchemy import text

from bench.live_load import METRIC, PER_SECOND
from bench.measure import cpu_of, memory_of
from losslake.lake.lake import Lake

_SECONDS_BETWEEN_POLLS = 0.1
_NEW = text("SELECT rowid, contribution, lines FROM losslake_contribution_pieces WHERE rowid > :after ORDER BY rowid")


@contextmanager
def in_threads(works: Sequence[Callable[[threading.Event], None]]) -> Iterator[None]:
    """Run works beside the block; each ends when its event is set."""
    ends = threading.Event()
    threads = [threading.Thread(target=work, args=(ends,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ends.set()
        for thread in threads:
            thread.join(30)


@dataclass
class Polling:
    """The pieces that a service holds, read ten times a second; so a lag may be a tenth of a second too long.

    seen: when a measurement was held, and how long after it was logged. runs: of which there is any.
    """

    lake: Lake
    seen: list[tuple[float, float]] = field(default_factory=list)
    runs: set[str] = field(default_factory=set)

    def work(self, ends: threading.Event) -> None:
        """Read new pieces until the end."""
        decompress, after = zstandard.ZstdDecompressor().decompress, 0
        while not ends.wait(_SECONDS_BETWEEN_POLLS):
            with self.lake.engine.connect() as connection:
                rows = connection.execute(_NEW, {"after": after}).all()
            now = time.time()
            after = rows[-1][0] if rows else after
            for _, run, lines in rows:
                self.runs.add(run)
                for line in decompress(lines).splitlines():
                    self.seen.append((now, now - orjson.loads(line)[METRIC]))


@dataclass
class Watching:
    """The events of the pages of some runs. links: to the pages. lags: seconds, of every measurement that was seen."""

    links: Sequence[str]
    lags: list[float] = field(default_factory=list)

    def works(self) -> Sequence[Callable[[threading.Event], None]]:
        """Return what follows each page."""
        return [partial(self._follow, link) for link in self.links]

    def _follow(self, link: str, ends: threading.Event) -> None:
        """Read the events of a page until the end. A measurement is seen by the first event that has its step."""
        url = urlsplit(link)
        connection = http.client.HTTPConnection(url.netloc, timeout=60)
        connection.request("GET", f"{url.path}/events?metric={quote(METRIC, safe='')}")
        response, previous = connection.getresponse(), None
        if response.status != 200:
            raise RuntimeError(f"a page's events are answered by {response.status}")
        while not ends.is_set() and (line := response.readline()):
            if not line.startswith(b"data: "):
                continue
            now, event = time.time(), orjson.loads(line[6:])
            last, logged = event.get("last_step"), event.get("values")
            if last is None or not logged:
                continue
            if previous is not None:
                # Steps are logged at an even rate, and the time of the last one is its value.
                self.lags += [now - logged[-1] + (last - step) / PER_SECOND for step in range(previous + 1, last + 1)]
            previous = last
        connection.close()


@dataclass(frozen=True)
class Sample:
    """The resources of the service. at, cpu: seconds. memory, database, log: bytes; log: of SQLite, written ahead."""

    at: float
    memory: int
    cpu: float
    database: int
    log: int


@dataclass
class Sampling:
    """Samples of each second, the last one at the end. process: of the service."""

    lake: Path
    process: int
    samples: list[Sample] = field(default_factory=list)

    def work(self, ends: threading.Event) -> None:
        """Take samples until the end."""
        self.samples.append(self._sample())
        while True:
            has_ended = ends.wait(1.0)
            self.samples.append(self._sample())
            if has_ended:
                return

    def _sample(self) -> Sample:
        process, database = psutil.Process(self.process), self.lake / "catalog.db"
        log = database.with_name(f"{database.name}-wal")
        sizes = [path.stat().st_size if path.exists() else 0 for path in (database, log)]
        return Sample(time.monotonic(), memory_of(process), cpu_of(process), *sizes)
