"""Prometheus metrics, aggregated over all worker processes."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.requests import ClientDisconnect

from losslake import __version__
from losslake.lake.store.store import Store, Traffic
from losslake.questions.release.releases import Releases
from losslake_service.problems import QuestionProblem
from losslake_service.sandbox.errors import SqlProblem

# Environment variable: the folder in which worker processes share metrics; unset for a single process.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH"})
_PAGE = os.sysconf("SC_PAGE_SIZE")


class ServerMetrics:
    """The metrics that every server of LossLake has. Counters are looked up once per route, method and status."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.in_flight = 0
        self._requests = self.counter("losslake_requests", "Completed requests.", "route", "method", "status")
        self._seconds = Histogram(
            "losslake_request_seconds",
            "Seconds from the request's headers to the end of the response.",
            ("route",),
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
            registry=self.registry,
        )
        self._sent = self.counter("losslake_sent_bytes", "Bytes of response bodies, as sent.", "route")
        self._in_flight = self.gauge("losslake_requests_in_flight", "Requests in progress.", "livesum")
        self._memory = self.gauge("losslake_resident_bytes", "Resident memory of all worker processes.", "livesum")
        self.gauge("losslake_workers", "Worker processes.", "livesum").set(1)
        build = self.gauge("losslake_build", "Always 1; the labels have the versions.", "livemax", "version", "python")
        build.labels(__version__, platform.python_version()).set(1)
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram, Counter]] = {}

    def count(self, route: str, method: str, status: int, seconds: float, sent: int) -> None:
        """Count a request. route: the path template. sent: bytes of the response body."""
        children = self._children.get((route, method, status))
        if children is None:
            children = self._resolve(route, method, status)
        children[0].inc()
        children[1].observe(seconds)
        children[2].inc(sent)

    def refresh_server(self) -> None:
        """Update the gauges of the process."""
        self._in_flight.set(self.in_flight)
        self._memory.set(_resident_bytes())

    def text(self) -> bytes:
        """Return the metrics of all worker processes in Prometheus's text format."""
        folder = os.environ.get(FOLDER)
        if folder is None:
            return generate_latest(self.registry)
        _delete_gauges_of_ended(Path(folder))
        registry = CollectorRegistry()
        _AllWorkers(registry, folder)  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    def counter(self, name: str, description: str, *labels: str) -> Counter:
        """Return a new counter."""
        return Counter(name, description, labels, registry=self.registry)

    def gauge(self, name: str, description: str, mode: str, *labels: str) -> Gauge:
        """Return a new gauge. mode: how Prometheus's client merges those of the workers."""
        return Gauge(name, description, labels, multiprocess_mode=mode, registry=self.registry)  # type: ignore[arg-type]

    def _resolve(self, route: str, method: str, status: int) -> tuple[Counter, Histogram, Counter]:
        label = method if method in _METHODS else "other"
        children = (
            self._requests.labels(route, label, str(status)),
            self._seconds.labels(route),
            self._sent.labels(route),
        )
        if label == method:
            self._children[route, method, status] = children
        return children


class Metrics(ServerMetrics):
    """The metrics of a process of the read service."""

    def __init__(self) -> None:
        super().__init__()
        self.answer_cache = self.counter(
            "losslake_answer_cache", "Lookups in the answer cache: hit or miss.", "outcome"
        )
        self.sql_statements = self.counter(
            "losslake_sql_statements", "SQL statements of clients by outcome.", "outcome"
        )
        self.expensive_questions = self.counter(
            "losslake_expensive_questions", "Expensive questions of clients by outcome.", "outcome"
        )
        self._store_bytes = self.counter("losslake_store_fetched_bytes", "Bytes fetched from the lake's bucket.")
        self._store_cache = self.counter(
            "losslake_store_cache",
            "Lookups of blocks and files of the lake's bucket: cached (hit) or fetched (miss).",
            "outcome",
        )
        self._traffic = Traffic()
        self._lock = threading.Lock()
        self._open = self.gauge("losslake_releases_open", "Open releases in the worker that has most.", "livemax")
        self._newest = self.gauge(
            "losslake_newest_release", "The newest release that every worker answers from.", "livemin"
        )

    def refresh(self, releases: Releases) -> None:
        """Update the gauges."""
        self.refresh_server()
        self._open.set(releases.n_open)
        self._newest.set(releases.newest or 0)
        self._count_traffic(releases.lake.store)

    def _count_traffic(self, store: Store) -> None:
        """Add the traffic since the last call."""
        # Read inside the lock: of two threads, the later one must not have the earlier numbers.
        with self._lock:
            previous, current = self._traffic, store.traffic
            self._traffic = current
        self._store_bytes.inc(current.bytes - previous.bytes)
        self._store_cache.labels("hit").inc(current.hits - previous.hits)
        self._store_cache.labels("miss").inc(current.misses - previous.misses)


@contextmanager
def count_outcome(outcomes: Counter) -> Iterator[None]:
    """Count how the work inside ends: answered, left by its client, or refused, as the kind of problem."""
    try:
        yield
    except (SqlProblem, QuestionProblem) as problem:
        outcomes.labels(problem.kind).inc()
        raise
    except ClientDisconnect:
        outcomes.labels("left").inc()
        raise
    outcomes.labels("answered").inc()


class _AllWorkers(MultiProcessCollector):
    """The metrics of all workers, except from empty files that a worker has just created."""

    def collect(self) -> Iterable[Metric]:
        """Return the merged metrics."""
        files = [str(file) for file in Path(self._path).glob("*.db") if _has_content(file)]
        merged: Iterable[Metric] = self.merge(files, accumulate=True)  # type: ignore[no-untyped-call]
        return merged


def _has_content(file: Path) -> bool:
    with suppress(FileNotFoundError):
        return file.stat().st_size > 0
    return False


def _delete_gauges_of_ended(folder: Path) -> None:
    """Delete the gauges of processes that have ended; keep their counters."""
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
        pass
    return True


def _resident_bytes() -> int:
    """Return the resident memory of this process in bytes; 0 on systems without /proc."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE
    return 0
