"""TensorBoard's event files: `events.out.tfevents.…`, one run per folder.

Spec: TFRecord files (https://www.tensorflow.org/tutorials/load_data/tfrecord) of Event messages
(https://github.com/tensorflow/tensorboard/blob/master/tensorboard/compat/proto/event.proto), hyperparameters as the
HParams plugin has them. Of a folder with several files, restarts have written the later ones. Scalars are read however
they are stored: as simple_value or as a tensor of one number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from losslake_ingest.event_files.events import Session
from losslake_ingest.event_files.file import EventFile, read_event_file
from losslake_ingest.event_files.records import HEADER, length_at
from losslake_ingest.event_files.run import ReadFile, run_log, session_of
from losslake_ingest.formats.format import Glimpse, defaults_of, read_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Refusal, Rule
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.member import Member, Source, UntilBreak

LARGEST_PENDING = 1 << 30
_MARK = "tfevents"
_FIRST_EVENT = b"brain.Event:"


class TensorBoard:
    """Reads TensorBoard's event files."""

    name = "tensorboard"
    reads = (
        "TensorBoard event files (*tfevents*): scalars of TF1, TF2 and PyTorch, hyperparameters of the HParams plugin"
    )
    needs = (
        "collection, dataset, model, optimizer, batch_size (often in HParams or the path), and a metric for each tag"
    )
    defaults = defaults_of("tensorboard")

    def detect(self, file: Glimpse) -> float:
        """Certain of a file of that name that begins with a record; its name alone says it too, where it is empty."""
        if not _is_wanted(file.path):
            return 0.0
        if len(file.start) < HEADER:
            return 0.5
        if length_at(file.start, 0) is None:
            return 0.3
        return 0.95 if _FIRST_EVENT in file.start[:256] else 0.9

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """The runs of a source, in order of their folders."""
        return _Reader(source).read()


FORMAT = TensorBoard()


def _is_wanted(path: str) -> bool:
    return _MARK in path.rpartition("/")[2]


class _Reader:
    """Keeps what it has read of each folder until all of it is there, which only the end of a source tells.

    Only when that grows large are the folders handed on that the source seems to have left.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._name = source.name
        self._runs: dict[str, dict[str, ReadFile]] = {}
        self._sessions: dict[str, Session] = {}
        self._handed_on: set[str] = set()
        self._pending = 0

    def read(self) -> Iterator[RunLog | Quarantined]:
        whole = UntilBreak(read_files(self._source, _is_wanted, self._add))
        yield from whole
        yield from self._hand_on()
        whole.tell()

    def _add(self, member: Member) -> Iterator[RunLog | Quarantined]:
        """Read a file into its run, and hand runs on when much is kept; raises Refusal."""
        path, data = member
        folder = path.rpartition("/")[0]
        if folder in self._handed_on:
            message = "other files of its folder came long before it: sort the archive by path"
            raise Refusal(Rule.UNREADABLE_LOG, message)
        run = self._runs.setdefault(folder, {})
        if path in run:
            raise Refusal(Rule.DUPLICATE_FILE, "the archive holds it twice: the first one counts")
        if len(data) >= HEADER and length_at(data, 0) is None:
            message = (
                "it doesn't begin as an event file does (its first checksum is wrong): copy it again or leave it out"
            )
            raise Refusal(Rule.UNREADABLE_LOG, message)
        events = read_event_file(data)
        run[path] = ReadFile(path, hashlib.sha256(data).hexdigest(), events)
        self._pending += _size(events)
        if self._pending > LARGEST_PENDING:
            yield from self._hand_on(except_for=path)

    def _hand_on(self, except_for: str | None = None) -> Iterator[RunLog | Quarantined]:
        """The runs that are there, but for those in whose folder or below the source still is."""
        for folder, files in self._runs.items():
            self._sessions[folder] = session_of(list(files.values()))
        for folder in sorted(self._runs):
            if except_for is not None and (not folder or except_for.startswith(f"{folder}/")):
                continue
            files = self._runs.pop(folder)
            if except_for is not None:
                self._handed_on.add(folder)
            self._pending -= sum(_size(file.events) for file in files.values())
            if files:
                yield from self._run(folder, files)

    def _run(self, folder: str, files: dict[str, ReadFile]) -> Iterator[RunLog | Quarantined]:
        try:
            yield run_log(folder or ".", list(files.values()), self._session_above(folder), self._sessions[folder])
        except Refusal as error:
            is_bare = error.rule == Rule.NO_MEASUREMENTS and not any(file.events.remarks for file in files.values())
            if not (is_bare and self._has_runs_below(folder)):
                yield Quarantined(self._name, folder or ".", error.rule, error.message)

    def _session_above(self, folder: str) -> Session:
        """Keras writes the hyperparameters into a folder and the curves into folders below it."""
        while folder:
            folder = folder.rpartition("/")[0]
            session = self._sessions.get(folder)
            if session is not None and session.is_known:
                return session
        return Session()

    def _has_runs_below(self, folder: str) -> bool:
        """Writers of such runs leave a file in the folder above, with nothing in it or with the session alone."""
        return any(other != folder and (not folder or other.startswith(f"{folder}/")) for other in self._sessions)


def _size(events: EventFile) -> int:
    """The memory that a file's values take, about."""
    groups = (*events.scalars.values(), *events.bare.values())
    return sum(points.nbytes + 512 for group in groups for points in group)
