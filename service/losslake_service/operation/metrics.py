"""What Prometheus may know, right for all worker processes together."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from losslake import __version__
from losslake.lake.store.store import Traffic
from losslake.questions.releases import Releases

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Variable with the folder in which worker processes put their numbers side by side; unset for a single process."""
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH"})
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Metrics:
    """The numbers of a process. What is counted per request is resolved once for each route, method and status."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.in_flight = 0
        self._requests = self._counter(
            "losslake_requests", "Requests that were answered.", ("route", "method", "status")
        )
        self._seconds = Histogram(
            "losslake_request_seconds",
            "Seconds from a request's headers to the end of its answer.",
            ("route",),
            buckets=_BOUNDS,
            registry=self.registry,
        )
        self._sent = self._counter("losslake_sent_bytes", "Bytes of answers' bodies, as sent.", ("route",))
        self.answer_cache = self._counter(
            "losslake_answer_cache", "Looks into the answer cache: hit or miss.", ("outcome",)
        )
        self.sql_statements = self._counter(
            "losslake_sql_statements", "Strangers' SQL statements by outcome.", ("outcome",)
        )
        self._store_bytes = self._counter("losslake_store_fetched_bytes", "Bytes that came from the lake's bucket.")
        self._store_cache = self._counter(
            "losslake_store_cache",
            "Blocks and files of the lake's bucket that were wanted: kept here (hit), or fetched (miss).",
            ("outcome",),
        )
        self._traffic = Traffic()
        self._looking = threading.Lock()
        self._in_flight = self._gauge("losslake_requests_in_flight", "Requests that are being answered.", "livesum")
        self._open = self._gauge("losslake_releases_open", "Open releases, of the worker with most.", "livemax")
        self._newest = self._gauge(
            "losslake_newest_release", "The newest release that every worker answers from.", "livemin"
        )
        self._memory = self._gauge("losslake_resident_bytes", "Memory of the worker processes together.", "livesum")
        self._gauge("losslake_workers", "Worker processes.", "livesum").set(1)
        build = self._gauge(
            "losslake_build", "Always 1; the labels say what is running.", "livemax", ("version", "python")
        )
        build.labels(__version__, platform.python_version()).set(1)
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram, Counter]] = {}

    def count(self, route: str, method: str, status: int, seconds: float, sent: int) -> None:
        """Count an answered request.

        Args:
            route: the path's template, of which there are few.
            sent: bytes of the answer's body.
        """
        children = self._children.get((route, method, status))
        if children is None:
            children = self._resolved(route, method, status)
        children[0].inc()
        children[1].observe(seconds)
        children[2].inc(sent)

    def refresh(self, releases: Releases) -> None:
        """Look at what is measured rather than counted."""
        self._in_flight.set(self.in_flight)
        self._open.set(releases.n_open)
        self._newest.set(releases.newest or 0)
        self._memory.set(_resident_bytes())
        self._count_traffic(releases.lake.store.traffic)

    def _count_traffic(self, now: Traffic) -> None:
        """Count what came since the last look."""
        with self._looking:
            before, self._traffic = self._traffic, now
        self._store_bytes.inc(now.bytes - before.bytes)
        self._store_cache.labels("hit").inc(now.found - before.found)
        self._store_cache.labels("miss").inc(now.fetched - before.fetched)

    def text(self) -> bytes:
        """All numbers, of all worker processes, in Prometheus's text format."""
        folder = os.environ.get(FOLDER)
        if folder is None:
            return generate_latest(self.registry)
        _forget_the_dead(Path(folder))
        together = CollectorRegistry()
        _OfAllWorkers(together, folder)  # type: ignore[no-untyped-call]
        return generate_latest(together)

    def _counter(self, name: str, what: str, labels: Sequence[str] = ()) -> Counter:
        return Counter(name, what, labels, registry=self.registry)

    def _gauge(self, name: str, what: str, mode: str, labels: Sequence[str] = ()) -> Gauge:
        return Gauge(name, what, labels, multiprocess_mode=mode, registry=self.registry)  # type: ignore[arg-type]

    def _resolved(self, route: str, method: str, status: int) -> tuple[Counter, Histogram, Counter]:
        label = method if method in _METHODS else "other"
        children = (
            self._requests.labels(route, label, str(status)),
            self._seconds.labels(route),
            self._sent.labels(route),
        )
        if label == method:
            self._children[route, method, status] = children
        return children


class _OfAllWorkers(MultiProcessCollector):
    """The numbers of all workers, but for files that a worker has just opened and not yet given a size."""

    def collect(self) -> Iterable[Metric]:
        files = [str(file) for file in Path(self._path).glob("*.db") if _has_a_size(file)]
        merged: Iterable[Metric] = self.merge(files, accumulate=True)  # type: ignore[no-untyped-call]
        return merged


def _has_a_size(file: Path) -> bool:
    with suppress(FileNotFoundError):
        return file.stat().st_size > 0
    return False


def _forget_the_dead(folder: Path) -> None:
    """Drop the gauges of processes that have ended; their counters stay."""
    for file in folder.glob("gauge_live*_*.db"):
        process = file.stem.rpartition("_")[2]
        if process.isdecimal() and not _is_alive(int(process)):
            file.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _resident_bytes() -> int:
    """Memory of this process in use; 0 where the system has no /proc."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE
    return 0
