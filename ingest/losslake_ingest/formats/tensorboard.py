"""Logs of TensorBoard: event files `events.out.tfevents.…`, one run per folder.

Spec: TFRecord files (https://www.tensorflow.org/tutorials/load_data/tfrecord) of Event messages
(https://github.com/tensorflow/tensorboard/blob/master/tensorboard/compat/proto/event.proto), hyperparameters as the
HParams plugin stores them. If a folder has several files, restarts wrote the later ones. Scalars are read in both
forms: simple_value, and tensor of one number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import BundledFormat, Glimpse, read_all_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.event_files.events import Session
from losslake_ingest.readers.event_files.file import EventFile, read_event_file
from losslake_ingest.readers.event_files.folder import ReadFile, run_log, session_of
from losslake_ingest.readers.event_files.layouts import POINT
from losslake_ingest.readers.event_files.records import HEADER, length_at
from losslake_ingest.sources.member import Member, Source

LARGEST_PENDING = LARGEST_RUN = 1 << 27
_PER_FILE = 4096


class TensorBoard(BundledFormat):
    """The format of TensorBoard's event files."""

    name = "tensorboard"

    def detect(self, file: Glimpse) -> float:
        """Recognize a file by its name and a valid first record; an empty file by its name."""
        if not _is_wanted(file.path):
            return 0.0
        if len(file.start) < HEADER:
            return 0.5
        if length_at(file.start, 0) is None:
            return 0.3
        return 0.95 if b"brain.Event:" in file.start[:256] else 0.9

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield the runs of a source in order of their folders."""
        return _Reader(source).read()


FORMAT = TensorBoard()


def _is_wanted(path: str) -> bool:
    return "tfevents" in path.rpartition("/")[2]


class _Reader:
    """A reader that collects each folder until the source ends, since only then is a run known to be complete.

    If too much memory is held, it yields the runs of folders that the source seems to have left.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._runs: dict[str, dict[str, ReadFile]] = {}
        self._sessions: dict[str, Session] = {}
        self._finished: set[str] = set()
        self._pending = 0

    def read(self) -> Iterator[RunLog | Quarantined]:
        """Yield the runs of the source."""
        return read_all_files(self._source, _is_wanted, self._add, self._flush)

    def _add(self, member: Member) -> Iterator[RunLog | Quarantined]:
        """Add a file to its run; yield runs when too much memory is held. Raises Refusal."""
        path, data = member
        folder = path.rpartition("/")[0]
        if folder in self._finished:
            message = "other files of its folder came long before it: sort the archive by path"
            raise Refusal(Rule.UNREADABLE_LOG, message)
        run = self._runs.setdefault(folder, {})
        if path in run:
            raise Refusal(Rule.DUPLICATE_FILE, "the archive holds it twice: the first one is used")
        if len(data) >= HEADER and length_at(data, 0) is None:
            why = "it isn't an event file, or is damaged (its first checksum is wrong): copy it again or leave it out"
            raise Refusal(Rule.UNREADABLE_LOG, why)
        events = read_event_file(data)
        if sum(_size(file.events) for file in run.values()) + _size(events) > LARGEST_RUN:
            most = f"more than {LARGEST_RUN // POINT.itemsize:,} values: log less often"
            raise Refusal(Rule.FILE_TOO_LARGE, f"the files of its folder have {most}")
        run[path] = ReadFile(path, hashlib.sha256(data).hexdigest(), events)
        self._pending += _size(events)
        del member, data
        if self._pending > LARGEST_PENDING:
            yield from self._flush(except_for=path)

    def _flush(self, except_for: str | None = None) -> Iterator[RunLog | Quarantined]:
        """Yield the pending runs, except those whose folder contains `except_for`."""
        for folder, files in self._runs.items():
            self._sessions[folder] = session_of(list(files.values()))
        for folder in sorted(self._runs):
            if except_for is not None and (not folder or except_for.startswith(f"{folder}/")):
                continue
            files = self._runs.pop(folder)
            if except_for is not None:
                self._finished.add(folder)
            self._pending -= sum(_size(file.events) for file in files.values())
            if files:
                yield from self._run(folder, files)

    def _run(self, folder: str, files: dict[str, ReadFile]) -> Iterator[RunLog | Quarantined]:
        try:
            yield run_log(folder or ".", list(files.values()), self._session_above(folder), self._sessions[folder])
        except Refusal as error:
            is_bare = error.rule == Rule.NO_MEASUREMENTS and not any(file.events.remarks for file in files.values())
            if not (is_bare and self._has_runs_below(folder)):
                yield Quarantined(self._source.name, folder or ".", error.rule, error.message)

    def _session_above(self, folder: str) -> Session:
        """Return the session of the nearest folder above: Keras writes hyperparameters above the curves' folders."""
        while folder:
            folder = folder.rpartition("/")[0]
            session = self._sessions.get(folder)
            if session is not None and session.is_known:
                return session
        return Session()

    def _has_runs_below(self, folder: str) -> bool:
        """Return True if there are runs below: their writers leave a file without scalars in the folder above."""
        return any(other != folder and (not folder or other.startswith(f"{folder}/")) for other in self._sessions)


def _size(events: EventFile) -> int:
    """Return the approximate size of a file's values in memory, in bytes."""
    groups = (*events.scalars.values(), *events.bare.values())
    return _PER_FILE + sum(points.nbytes + 512 for group in groups for points in group)
