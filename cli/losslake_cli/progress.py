"""The progress of an ingest or a download: a live bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from losslake_cli.console import printable
from losslake_ingest.contracts.report import Progress as IngestProgress

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def progress() -> Iterator[IngestProgress]:
    """Yield a reporter of the progress of an ingest, on standard error."""
    if not sys.stderr.isatty():
        yield PlainLines()
        return
    counts = TextColumn("{task.fields[counts]}", markup=False)
    with _bars(DownloadColumn(), TransferSpeedColumn(), counts) as bars:
        yield LiveBar(bars)


@contextmanager
def counting(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function that shows the number of files done and the total as a bar, or None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with _bars(TextColumn("{task.completed:,} of {task.total:,} files", markup=False)) as bars:
        task = bars.add_task(name, total=0)
        yield lambda done, total: bars.update(task, completed=done, total=total)


@contextmanager
def downloading(quiet: bool = False) -> Iterator[Transfer]:
    """Yield a reporter of the progress of a download, on standard error."""
    if quiet or not sys.stderr.isatty():
        yield Transfer() if quiet else TransferLines()
        return
    files = TextColumn("{task.fields[files]}", markup=False)
    with _bars(files, DownloadColumn(), TransferSpeedColumn()) as bars:
        yield TransferBar(bars)


def _bars(*columns: ProgressColumn) -> Progress:
    ends = TextColumn("{task.description}", markup=False), BarColumn()
    return Progress(*ends, *columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)


class _Lines:
    """Progress as lines on standard error, at most one every few seconds."""

    def __init__(self) -> None:
        self._started = self._last = 0.0

    def _begin(self, line: str) -> None:
        self._started = self._last = time.monotonic()
        self._print(line)

    def _seconds_if_due(self) -> float | None:
        """Return the seconds since the beginning if a line is due, or None."""
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_LINES:
            return None
        self._last = now
        return now - self._started

    def _print(self, line: str) -> None:
        print(printable(line), file=sys.stderr, flush=True)  # noqa: T201


class LiveBar:
    """Progress of an ingest as a bar over the bytes of a source, with rates and the time left."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._task: TaskID | None = None
        self._started = 0.0

    def begin(self, source: str, total_bytes: int | None) -> None:
        """Begin a source."""
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._started = time.monotonic()
        self._task = self._bars.add_task(printable(source.rpartition("/")[2]), total=total_bytes, counts="")

    def advance(self, bytes_read: int, trials: int, evaluations: int) -> None:
        """Report the bytes read, and the trials and evaluations in them."""
        if self._task is not None:
            counts = _counts(trials, evaluations, time.monotonic() - self._started)
            self._bars.update(self._task, completed=bytes_read, counts=counts)

    def stage(self, name: str) -> None:
        """Report the next stage."""
        if self._task is not None:
            self._bars.update(self._task, description=name)


class PlainLines(_Lines):
    """Progress of an ingest as lines."""

    _total: int | None = None

    def begin(self, source: str, total_bytes: int | None) -> None:
        """Begin a source."""
        self._total = total_bytes
        self._begin(f"reading {source}")

    def advance(self, bytes_read: int, trials: int, evaluations: int) -> None:
        """Report the bytes read, and the trials and evaluations in them."""
        seconds = self._seconds_if_due()
        if seconds is not None:
            share = f"{100 * bytes_read / self._total:.0f}%, " if self._total else ""
            self._print(f"  {share}{_counts(trials, evaluations, seconds)}")

    def stage(self, name: str) -> None:
        """Report the next stage."""
        self._print(name)


def _counts(trials: int, evaluations: int, seconds: float) -> str:
    return f"{trials:,} trials, {evaluations / seconds if seconds > 0 else 0:,.0f} rows/s"


class Transfer:
    """Progress of a download that is not shown."""

    def begin(self, name: str, total_bytes: int, total_files: int) -> None:
        """Begin a download."""

    def advance(self, bytes_here: int, files_here: int) -> None:
        """Report the bytes and files that are complete so far."""


class TransferBar(Transfer):
    """Progress of a download as a bar over the bytes, with files and bytes per second."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._task: TaskID | None = None
        self._files = 0

    def begin(self, name: str, total_bytes: int, total_files: int) -> None:
        """Begin a download."""
        self._files = total_files
        self._task = self._bars.add_task(name, total=total_bytes, files="")

    def advance(self, bytes_here: int, files_here: int) -> None:
        """Report the bytes and files that are complete so far."""
        if self._task is not None:
            self._bars.update(self._task, completed=bytes_here, files=f"{files_here:,} of {self._files:,} files")


class TransferLines(_Lines, Transfer):
    """Progress of a download as lines."""

    _bytes = _files = 0

    def begin(self, name: str, total_bytes: int, total_files: int) -> None:
        """Begin a download."""
        self._bytes, self._files = total_bytes, total_files
        self._begin(f"fetching {name}: {total_files:,} files, {total_bytes:,} bytes")

    def advance(self, bytes_here: int, files_here: int) -> None:
        """Report the bytes and files that are complete so far."""
        seconds = self._seconds_if_due()
        if seconds is not None:
            share, speed = 100 * bytes_here / max(1, self._bytes), bytes_here / seconds / 1e6
            self._print(f"  {share:.0f}%, {files_here:,} of {self._files:,} files, {speed:,.1f} MB/s")
