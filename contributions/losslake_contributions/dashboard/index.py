"""The runs below a folder, read again and again: of each that changed, what is new."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from losslake.record.layout import RUN
from losslake_contributions.dashboard.logged import LoggedReader
from losslake_contributions.dashboard.recorded import RecordedReader
from losslake_contributions.dashboard.runs import LiveRun
from losslake_ingest.readers.recorded.folder import is_spool
from losslake_ingest.readers.safe_parsing import printable

SECONDS_BETWEEN_READS = 0.5
MOST_ENTRIES = 200_000
"""Files and folders that are looked at."""
MOST_RUNS = 10_000
_MOST_CHANGED_AT_ONCE = 0.2  # seconds after which what was read so far is shown
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Snapshot:
    """The runs as they were read last. version: grows with each change. runs: by path.

    n_unread: runs that weren't read whole yet. notes: about the folder. gone_at: the version at which a run left last.
    """

    version: int = 0
    runs: Mapping[str, LiveRun] | None = None
    n_unread: int = 0
    notes: Sequence[str] = ()
    gone_at: int = 0


class RunIndex:
    """The runs below a folder. `refresh` is for one thread, `snapshot` for any."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.snapshot = Snapshot()
        self._recorded: dict[str, RecordedReader] = {}
        self._logged = LoggedReader(folder)
        self._runs: dict[str, LiveRun] = {}
        self._sampled: set[str] = set()
        self._version = self._gone_at = 0
        self._stops = threading.Event()
        self._thread = threading.Thread(target=self._keep_refreshing, name="reads runs", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def close(self) -> None:
        """Stop reading; wait for what is being read."""
        self._stops.set()
        self._thread.join()

    def _keep_refreshing(self) -> None:
        while not self._stops.is_set():
            started = time.monotonic()
            try:
                self.refresh()
            except Exception:  # noqa: BLE001 - whatever it is, the next read may do better
                _log.exception("the runs of a folder can't be read")
            # A large folder leaves half of the time to others, once it was read.
            pause = max(SECONDS_BETWEEN_READS, time.monotonic() - started)
            self._stops.wait(0 if self._sampled else pause)

    def refresh(self) -> None:
        """Read what is new; of long runs samples first, so that there is something to see, and some of them whole."""
        found = _Found(self.folder)
        paths = dict.fromkeys(found.recorded)
        for path in self._recorded.keys() - paths.keys():
            del self._recorded[path]
        for path in paths:
            if path not in self._recorded:
                self._recorded[path] = RecordedReader(self.folder, path)
        self._drop({path for path in self._runs if path not in paths} - self._logged.runs.keys())
        self._read_new(paths, found.notes)
        self._drop(self._logged.refresh(found.files))
        for run in self._logged.changed:
            self._put(run)
        now = time.time()
        for run in [run for run in self._runs.values() if run.state != run.state_at(now)]:
            self._put(run)
        self._publish(found.notes)
        # What grows meanwhile isn't left until all of it is read.
        ends = time.monotonic() + SECONDS_BETWEEN_READS
        for run in sorted((self._runs[path] for path in self._sampled), key=lambda run: -run.seen_at):
            if self._stops.is_set() or time.monotonic() > ends:
                break
            whole = self._recorded[run.path].refresh()
            if whole is not None:
                self._put(whole)
        self._publish(found.notes)

    def _read_new(self, paths: Iterable[str], notes: Sequence[str]) -> None:
        """Read what is new of recorded runs, samples of long ones; show it now and then."""
        shown_at = time.monotonic()
        for path in paths:
            if self._stops.is_set():
                return
            run = self._recorded[path].refresh(is_sample_enough=True)
            if run is not None:
                self._put(run)
            if time.monotonic() - shown_at > _MOST_CHANGED_AT_ONCE:
                self._publish(notes)
                shown_at = time.monotonic()

    def _put(self, run: LiveRun) -> None:
        """Add a run, or replace it."""
        self._version += 1
        self._runs[run.path] = replace(run, version=self._version, state=run.state_at(time.time()))
        (self._sampled.add if run.is_sampled else self._sampled.discard)(run.path)

    def _drop(self, paths: set[str]) -> None:
        for path in paths & self._runs.keys():
            del self._runs[path]
            self._sampled.discard(path)
            self._version += 1
            self._gone_at = self._version

    def _publish(self, notes: Sequence[str]) -> None:
        before = self.snapshot
        self._version += notes != before.notes
        if before.runs is None or (before.version, before.n_unread) != (self._version, len(self._sampled)):
            runs = dict(sorted(self._runs.items()))
            self.snapshot = Snapshot(self._version, runs, len(self._sampled), notes, self._gone_at)


class _Found:
    """Contents of a folder; links aren't followed. recorded: paths of runs. files: others, with size and time."""

    def __init__(self, folder: Path) -> None:
        self.recorded: list[str] = []
        self.files: dict[str, tuple[int, float]] = {}
        self.notes: list[str] = []
        self._n_entries = self._n_links = 0
        if not self._walk(folder, ""):
            self.notes.append(
                f"Only the first {MOST_ENTRIES:,} files and folders are looked at: show a smaller folder."
            )
        if len(self.recorded) > MOST_RUNS:
            self.notes.append(f"{len(self.recorded):,} runs are recorded here: the first {MOST_RUNS:,} are shown.")
            del self.recorded[MOST_RUNS:]
        if self._n_links:
            self.notes.append("Symbolic links to folders aren't followed: show the folders themselves.")

    def _walk(self, folder: Path, prefix: str) -> bool:
        """Add what is below a folder; return False if that is too much."""
        try:
            if is_spool(folder):
                self.recorded.append(prefix.rstrip("/") or ".")
                return True
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            self.notes.append(f"{printable(prefix) or 'The folder'} can't be read ({error.strerror}).")
            return True
        for entry in entries:
            self._n_entries += 1
            if self._n_entries > MOST_ENTRIES:
                return False
            try:
                if entry.is_symlink():
                    # A tool's link to its latest run is usual.
                    self._n_links += entry.is_dir() and "latest" not in entry.name
                elif entry.is_dir(follow_symlinks=False):
                    if not self._walk(Path(entry.path), f"{prefix}{entry.name}/"):
                        return False
                elif entry.is_file(follow_symlinks=False) and entry.name != RUN:
                    status = entry.stat(follow_symlinks=False)
                    self.files[f"{prefix}{entry.name}"] = status.st_size, status.st_mtime
            except OSError:
                continue  # it was removed meanwhile
        return True
