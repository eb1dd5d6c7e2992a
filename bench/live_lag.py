"""How late measurements of live runs are, in the tables of the service and in events of pages, and what that costs."""

from __future__ import annotations

import http.client
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

import orjson
import psutil
import zstandard
from sqlalchemy import text

from bench.live_load import METRIC, PER_SECOND
from bench.measure import memory_of
from losslake.lake.lake import Lake

_SECONDS_BETWEEN_POLLS = 0.1
_NEW = text("SELECT rowid, contribution, lines FROM losslake_contribution_pieces WHERE rowid > :after ORDER BY rowid")


def lags_by_second(seen: Iterable[tuple[float, float]]) -> dict[int, list[float]]:
    """Return the lags by the second in which they were seen. seen: when, and how late, in seconds."""
    lags: dict[int, list[float]] = defaultdict(list)
    for at, lag in seen:
        lags[int(at)].append(lag)
    return dict(lags)


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
        """Read new pieces again and again."""
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
    """The events of the pages of some runs. links: to the pages. seen: as of Polling, for every measurement."""

    links: Sequence[str]
    seen: list[tuple[float, float]] = field(default_factory=list)

    def works(self) -> Sequence[Callable[[threading.Event], None]]:
        """Return what follows each page."""
        return [lambda ends, link=link: self._follow(link, ends) for link in self.links]  # type: ignore[misc]

    def _follow(self, link: str, ends: threading.Event) -> None:
        """Read the events of a page until the end. A measurement is seen by the first event that has its step."""
        url = urlsplit(link)
        connection = http.client.HTTPConnection(url.netloc, timeout=60)
        connection.request("GET", f"{url.path}/events?metric={quote(METRIC, safe='')}")
        response, known = connection.getresponse(), None
        if response.status != 200:
            raise RuntimeError(f"a page's events are answered by {response.status}")
        while not ends.is_set() and (line := response.readline()):
            if not line.startswith(b"data: "):
                continue
            now, event = time.time(), orjson.loads(line[6:])
            last, logged = event.get("last_step"), event.get("values")
            if last is None or not logged:
                continue
            if known is not None:
                # Steps are logged at an even rate: of those since the last event, the last one's time is known.
                self.seen += [
                    (now, now - logged[-1] + (last - step) / PER_SECOND) for step in range(known + 1, last + 1)
                ]
            known = last
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
    """Samples of each second. others: ids of other processes, by name.

    cpu: seconds of these and of this process, by name, after the end.
    """

    lake: Path
    service: int
    others: Mapping[str, Sequence[int]]
    samples: list[Sample] = field(default_factory=list)
    cpu: list[tuple[str, float]] = field(default_factory=list)

    def work(self, ends: threading.Event) -> None:
        """Take samples until the end."""
        first, own = {name: self._cpu(ids) for name, ids in self.others.items()}, time.process_time()
        database = self.lake / "catalog.db"
        log = database.with_name(f"{database.name}-wal")
        while True:
            sizes = [path.stat().st_size if path.exists() else 0 for path in (database, log)]
            memory = memory_of(psutil.Process(self.service))
            self.samples.append(Sample(time.monotonic(), memory, self._cpu([self.service]), *sizes))
            if ends.wait(1.0):
                break
        self.cpu = [(name, self._cpu(ids) - first[name]) for name, ids in self.others.items()]
        self.cpu.append(("this measurement", time.process_time() - own))

    def _cpu(self, ids: Iterable[int]) -> float:
        """Return the CPU seconds of processes and their descendants so far."""
        total = 0.0
        for number in ids:
            process = psutil.Process(number)
            for each in (process, *process.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    times = each.cpu_times()
                    total += times.user + times.system
        return total
