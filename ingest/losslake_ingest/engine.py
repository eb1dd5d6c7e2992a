"""Convert the parts of a source on the cores of this machine or on a cluster (`losslake_ingest.spark`).

One part of a study from its bytes to data files: the work that an ingest does on all cores at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from losslake.lake.machine import cores
from losslake.lake.store.store import Store
from losslake_ingest.changes import WrittenPart, packed, trial_rows
from losslake_ingest.gather import RunsPart
from losslake_ingest.report import Quarantined
from losslake_ingest.study import Curves, LoadedPart, StudyPart, StudyRejected, source_digest, trial_digests
from losslake_ingest.write import write_curves


def convert(store: Store, part: StudyPart) -> WrittenPart:
    """Load a part, store its curves and describe them; raises StudyRejected."""
    loaded = part.load()
    trial_ids = [trial.trial_id for trial in loaded.trials]
    written = write_curves(store, part.study, trial_ids, loaded.curves)
    rows = trial_rows(part, loaded, nonfinite_by_trial(loaded.curves))
    return WrittenPart(loaded.facts, packed(rows), written, frozenset(loaded.curves.values), loaded.quarantined)


def nonfinite_by_trial(curves: Curves) -> list[int]:
    """How many measurements of each trial are NaN or infinite."""
    total = np.zeros(len(curves.offsets) - 1, np.int64)
    for metric, values in curves.values.items():
        odd = ~np.isfinite(values)
        if metric in curves.missing:
            odd &= ~curves.missing[metric]
        if odd.any():
            before = np.concatenate([np.zeros(1, np.int64), np.cumsum(odd, dtype=np.int64)])
            total += np.diff(before[curves.offsets])
    return [int(count) for count in total]


_READ_AHEAD = 1 << 26  # bytes, for each core
_MOST_CORES_AHEAD = 8


@dataclass(frozen=True)
class Known:
    """What the newest release holds of a part's study. content: for single runs, the digest of each stored trial."""

    source_digest: str | None
    lacks_trials: bool
    content: Mapping[int, str]


@dataclass(frozen=True)
class Task:
    """A part to convert; it can be sent to another process."""

    part: StudyPart
    known: Known


@dataclass(frozen=True)
class Outcome:
    """What became of a part: its curves are written, or it is the whole of what is stored already, or was rejected."""

    files: Mapping[str, str]
    result: WrittenPart | Quarantined | None
    quarantined_again: Sequence[Quarantined] = ()


@dataclass(frozen=True)
class Converted:
    """A part and what became of it."""

    part: StudyPart
    outcome: Outcome


class Engine(Protocol):
    """Runs `outcome_of` for many parts."""

    def converted(self, tasks: Iterable[Task], in_turns: bool) -> Iterator[Converted]:
        """The parts of a source in their order; only some are under way, so memory is bounded.

        in_turns: drawing the next task takes all cores of this machine.
        """


def outcome_of(store: Store, task: Task) -> Outcome:
    """Convert a part into data files of the store, unless the release has all of it."""
    part, known = task.part, task.known
    files = part.file_digests()
    try:
        if not _is_known(part, known, files):
            return Outcome(files, convert(store, part))
        # Trials that were quarantined when it was stored are told of again.
        is_whole = isinstance(part, RunsPart) or not known.lacks_trials
        return Outcome(files, None, () if is_whole else part.load().quarantined)
    except StudyRejected as rejection:
        return Outcome(files, rejection.reason)


def _is_known(part: StudyPart, known: Known, files: Mapping[str, str]) -> bool:
    """Whether all of a part is stored already: by its files, or for single runs by what each trial says."""
    if known.source_digest is None:
        return False
    if not isinstance(part, RunsPart):
        return known.source_digest == source_digest(part.reader_version, files)
    loaded: LoadedPart = part.load()
    return all(known.content.get(t) == digest for t, digest in zip(part.runs, trial_digests(loaded), strict=True))


class LocalEngine:
    """All cores of this machine."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def converted(self, tasks: Iterable[Task], in_turns: bool) -> Iterator[Converted]:
        with ThreadPoolExecutor(cores() + 1, "convert") as pool:

            def submit(task: Task) -> Future[Converted]:
                return pool.submit(lambda: Converted(task.part, outcome_of(self._store, task)))

            yield from _in_turns(tasks, submit) if in_turns else _side_by_side(tasks, submit)


Submit = Callable[[Task], "Future[Converted]"]


def _side_by_side(tasks: Iterable[Task], submit: Submit) -> Iterator[Converted]:
    """Convert while reading goes on."""
    under_way: deque[Future[Converted]] = deque()
    for task in tasks:
        under_way.append(submit(task))
        if len(under_way) > cores() + 1:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()


def _in_turns(tasks: Iterable[Task], submit: Submit) -> Iterator[Converted]:
    """Read some parts, then convert them, and so on, each on all cores.

    Decompression of bzip2 reads megabytes in random order: with conversion beside it on the same cores it finds them
    gone from the caches, and takes half as much CPU time again.
    """
    for some in batches(tasks, min(cores(), _MOST_CORES_AHEAD) * _READ_AHEAD):
        yield from _all_of(some, submit)


def batches(tasks: Iterable[Task], most_bytes: int) -> Iterator[list[Task]]:
    """Tasks some at a time, whose parts hold just above so many bytes together."""
    some: list[Task] = []
    size = 0
    for task in tasks:
        some.append(task)
        size += task.part.size
        if size > most_bytes:
            yield some
            some, size = [], 0
    if some:
        yield some


def _all_of(tasks: Sequence[Task], submit: Submit) -> Iterator[Converted]:
    """Convert the largest first, so that the cores end together; results come in the order of the parts."""
    largest_first = sorted(range(len(tasks)), key=lambda number: -tasks[number].part.size)
    futures = {number: submit(tasks[number]) for number in largest_first}
    yield from (futures[number].result() for number in range(len(tasks)))
