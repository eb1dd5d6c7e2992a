"""Convert the parts of a source to data files, on this machine's cores or on a cluster (`losslake_ingest.spark`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from losslake.lake.data_files import Written
from losslake.lake.machine import cores
from losslake.lake.store.store import Store
from losslake_ingest.gather import RunsPart
from losslake_ingest.report import Quarantined
from losslake_ingest.study import (
    Curves,
    LoadedPart,
    StudyFacts,
    StudyPart,
    StudyRejected,
    offsets_of,
    source_digest,
    trial_digests,
)
from losslake_ingest.write import write_curves
from losslake_schema.tables import TRIALS

_READ_AHEAD = 1 << 26  # bytes, for each core
_MOST_CORES_AHEAD = 8
_SAID = ("trial_id", "status", "steps", "source", "source_sha256")


@dataclass(frozen=True)
class Task:
    """A part to convert, and what the newest release holds of its study; it can be sent to another process.

    source_digest: of the stored study, None where there is none. lacks_trials: some of its trials were quarantined.
    content: for single runs, the digest of each stored trial.
    """

    part: StudyPart
    source_digest: str | None
    lacks_trials: bool
    content: Mapping[int, str]


@dataclass(frozen=True)
class WrittenPart:
    """A part of a study whose curves are in data files now, small enough to keep a hundred thousand of them.

    packed: its rows of `trials`; as a table they would take ten times the memory. is_carried: it was stored before and
    only stays.
    """

    facts: StudyFacts
    packed: pa.Buffer
    written: Sequence[Written]
    metrics: frozenset[str]
    quarantined: Sequence[Quarantined]
    is_carried: bool = False

    @property
    def trials(self) -> pa.Table:
        """Its rows of `trials`."""
        return pa.Table.from_batches([pa.ipc.read_record_batch(self.packed, TRIALS)])


@dataclass(frozen=True)
class Outcome:
    """What became of a part: its curves are written, or it is the whole of what is stored already, or was rejected."""

    files: Mapping[str, str]
    result: WrittenPart | Quarantined | None
    quarantined_again: Sequence[Quarantined] = ()


Converted = tuple[StudyPart, Outcome]


class Engine(Protocol):
    """Runs `outcome_of` for many parts."""

    def converted(self, tasks: Iterable[Task], in_turns: bool) -> Iterator[Converted]:
        """The parts of a source in their order; only some are under way, so memory is bounded.

        in_turns: drawing the next task takes all cores of this machine.
        """


def outcome_of(store: Store, task: Task) -> Outcome:
    """Convert a part into data files of the store, unless the release has all of it."""
    part = task.part
    files = part.file_digests()
    try:
        if not _is_stored(task, files):
            return Outcome(files, _converted(store, part))
        # Trials that were quarantined when it was stored are reported again.
        is_whole = isinstance(part, RunsPart) or not task.lacks_trials
        return Outcome(files, None, () if is_whole else part.load().quarantined)
    except StudyRejected as rejection:
        return Outcome(files, rejection.reason)


def _is_stored(task: Task, files: Mapping[str, str]) -> bool:
    """Whether all of a part is stored already: by its files, or for single runs by what each trial says."""
    part = task.part
    if task.source_digest is None:
        return False
    if not isinstance(part, RunsPart):
        return task.source_digest == source_digest(part.reader_version, files)
    loaded = part.load()
    digests = trial_digests(loaded.trials, loaded.curves)
    return all(task.content.get(trial) == digest for trial, digest in zip(part.runs, digests, strict=True))


def _converted(store: Store, part: StudyPart) -> WrittenPart:
    """Load a part, store its curves and describe them; raises StudyRejected."""
    loaded = part.load()
    trial_ids = [trial.trial_id for trial in loaded.trials]
    written = write_curves(store, part.study, trial_ids, loaded.curves)
    rows = _trial_rows(part, loaded, _nonfinite_by_trial(loaded.curves))
    return WrittenPart(loaded.facts, packed(rows), written, frozenset(loaded.curves.values), loaded.quarantined)


def _nonfinite_by_trial(curves: Curves) -> list[int]:
    """How many measurements of each trial are NaN or infinite."""
    total = np.zeros(len(curves.offsets) - 1, np.int64)
    for metric, values in curves.values.items():
        odd = ~np.isfinite(values)
        if metric in curves.missing:
            odd &= ~curves.missing[metric]
        if odd.any():
            total += np.diff(offsets_of(odd)[curves.offsets])
    return [int(count) for count in total]


def _trial_rows(part: StudyPart, loaded: LoadedPart, nonfinite: Sequence[int]) -> pa.Table:
    """The rows of `trials` for a loaded part; nonfinite: its measurements that are NaN or infinite, by trial."""
    trials = loaded.trials
    offsets = loaded.curves.offsets
    counts = np.diff(offsets)
    last_rows = np.maximum(offsets[1:] - 1, 0)
    last_steps = loaded.curves.steps[last_rows] if len(loaded.curves.steps) else np.zeros(len(trials), np.int64)
    columns: dict[str, object] = {key: [value] * len(trials) for key, value in part.study.key().items()}
    columns |= {
        **{name: [getattr(trial, name) for trial in trials] for name in _SAID},
        "parameters": [sorted(trial.parameters.items()) for trial in trials],
        "attributes": [sorted(trial.attributes.items()) for trial in trials],
        "n_evaluations": counts,
        "n_nonfinite": nonfinite,
        "last_step": pa.array(last_steps, pa.int64(), mask=counts == 0),
        "content_digest": trial_digests(trials, loaded.curves),
    }
    return pa.Table.from_arrays([pa.array(columns[field.name], field.type) for field in TRIALS], schema=TRIALS)


def packed(trials: pa.Table) -> pa.Buffer:
    """Rows of `trials` as a part keeps them."""
    return pa.record_batch([column.combine_chunks() for column in trials.columns], schema=TRIALS).serialize()


Submit = Callable[[Task], "Future[Converted]"]


class LocalEngine:
    """All cores of this machine."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def converted(self, tasks: Iterable[Task], in_turns: bool) -> Iterator[Converted]:
        with ThreadPoolExecutor(cores() + 1, "convert") as pool:

            def submit(task: Task) -> Future[Converted]:
                return pool.submit(lambda: (task.part, outcome_of(self._store, task)))

            yield from _in_turns(tasks, submit) if in_turns else _side_by_side(tasks, submit)


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
    """Read some parts, then convert them, and so on, each on all cores; results come in the order of the parts.

    Decompression of bzip2 reads megabytes in random order: with conversion beside it on the same cores it finds them
    gone from the caches, and takes half as much CPU time again.
    """
    for some in batches(tasks, min(cores(), _MOST_CORES_AHEAD) * _READ_AHEAD):
        # The largest first, so that the cores end together.
        largest_first = sorted(range(len(some)), key=lambda number: -some[number].part.size)
        futures = {number: submit(some[number]) for number in largest_first}
        yield from (futures[number].result() for number in range(len(some)))


def batches(tasks: Iterable[Task], most_bytes: int) -> Iterator[list[Task]]:
    """Yield tasks some at a time, whose parts hold just above so many bytes together."""
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
