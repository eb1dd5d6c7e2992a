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

SECONDS_BETWEEN_LINES = 5.0
_TEXT = "{task.fields[text]}"


@contextmanager
def progress(quiet: bool = False) -> Iterator[IngestProgress]:
    """Yield a reporter of the progress of an ingest, on standard error."""
    with _shown(quiet, _Lines(), DownloadColumn(), TransferSpeedColumn(), TextColumn(_TEXT, markup=False)) as shown:
        yield IngestProgress(shown)


@contextmanager
def downloading(quiet: bool = False) -> Iterator[DownloadProgress]:
    """Yield a reporter of the progress of a download, on standard error."""
    lines, text = _Lines(shows_speed=True), TextColumn(_TEXT, markup=False)
    with _shown(quiet, lines, text, DownloadColumn(), TransferSpeedColumn()) as shown:
        yield DownloadProgress(shown)


@contextmanager
def counting(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a function that shows the number of files done and the total as a bar, or None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with _bars(TextColumn("{task.completed:,} of {task.total:,} files", markup=False)) as bars:
        task = bars.add_task(name, total=0)
        yield lambda done, total: bars.update(task, completed=done, total=total)


class IngestProgress:
    """Reports the progress of an ingest: see `losslake_ingest.contracts.report.Progress`."""

    def __init__(self, shown: _Nothing) -> None:
        self._shown = shown

    def begin(self, source: str, total_bytes: int | None) -> None:
        """Begin a source."""
        self._shown.begin(f"reading {source}", source.rpartition("/")[2], total_bytes)

    def advance(self, bytes_read: int, trials: int, evaluations: int) -> None:
        """Report the bytes read, and the trials and evaluations in them."""

        def text(seconds: float) -> str:
            return f"{trials:,} trials, {evaluations / seconds if seconds > 0 else 0:,.0f} rows/s"

        self._shown.advance(bytes_read, text)

    def stage(self, name: str) -> None:
        """Report the next stage."""
        self._shown.stage(name)


class DownloadProgress:
    """Reports the progress of a download: see `losslake.client.downloading.Progress`."""

    def __init__(self, shown: _Nothing) -> None:
        self._shown = shown
        self._files = 0

    def begin(self, name: str, total_bytes: int, total_files: int) -> None:
        """Begin a download."""
        self._files = total_files
        self._shown.begin(f"fetching {name}: {total_files:,} files, {total_bytes:,} bytes", name, total_bytes)

    def advance(self, bytes_here: int, files_here: int) -> None:
        """Report the bytes and files that are complete so far."""
        self._shown.advance(bytes_here, lambda _: f"{files_here:,} of {self._files:,} files")


class _Nothing:
    """Progress that is not shown."""

    def begin(self, line: str, name: str, total: int | None) -> None:
        """Begin something with a number of bytes, if known. line, name: what it is, as a line and beside a bar."""

    def advance(self, done: int, text: Callable[[float], str]) -> None:
        """Report the bytes that are done. text: returns what else to show, from the seconds since the beginning."""

    def stage(self, name: str) -> None:
        """Report the next stage."""


class _Lines(_Nothing):
    """Progress as lines on standard error, at most one every few seconds."""

    def __init__(self, *, shows_speed: bool = False) -> None:
        self._shows_speed = shows_speed
        self._started = self._last = 0.0
        self._total: int | None = None

    def begin(self, line: str, name: str, total: int | None) -> None:
        self._started = self._last = time.monotonic()
        self._total = total
        self.stage(line)

    def advance(self, done: int, text: Callable[[float], str]) -> None:
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last, seconds = now, now - self._started
        share = f"{100 * done / self._total:.0f}%, " if self._total else ""
        speed = f", {done / seconds / 1e6:,.1f} MB/s" if self._shows_speed else ""
        self.stage(f"  {share}{text(seconds)}{speed}")

    def stage(self, name: str) -> None:
        print(printable(name), file=sys.stderr, flush=True)  # noqa: T201


class _Bar(_Nothing):
    """Progress as a bar over the bytes, with a text."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._task: TaskID | None = None
        self._started = 0.0

    def begin(self, line: str, name: str, total: int | None) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._started = time.monotonic()
        self._task = self._bars.add_task(printable(name), total=total, text="")

    def advance(self, done: int, text: Callable[[float], str]) -> None:
        if self._task is not None:
            self._bars.update(self._task, completed=done, text=text(time.monotonic() - self._started))

    def stage(self, name: str) -> None:
        if self._task is not None:
            self._bars.update(self._task, description=name)


@contextmanager
def _shown(quiet: bool, lines: _Lines, *columns: ProgressColumn) -> Iterator[_Nothing]:
    """Yield nothing, a bar with these columns on a terminal, or the lines."""
    if quiet or not sys.stderr.isatty():
        yield _Nothing() if quiet else lines
        return
    with _bars(*columns) as bars:
        yield _Bar(bars)


def _bars(*columns: ProgressColumn) -> Progress:
    ends = TextColumn("{task.description}", markup=False), BarColumn()
    return Progress(*ends, *columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
