"""Conversion of the parts of a source to data files, on this machine or on a cluster (`spark_engine.py`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from losslake.lake.data_files import WrittenFile
from losslake.lake.machine import cores
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import NO_MEMORY, Rule
from losslake_ingest.contracts.study import (
    LoadedPart,
    StudyFacts,
    StudyPart,
    StudyRejected,
    source_digest,
    trial_digests,
)
from losslake_ingest.pipeline.gather import RunsPart
from losslake_ingest.pipeline.stored_curves import stored_curves
from losslake_ingest.pipeline.write import write_curves
from losslake_schema.tables import TRIALS

# Memory for the parts that are being converted or wait for it, on however many cores: 90 MB of text as published.
MOST_IN_FLIGHT = 384 * 2**20
_TRIAL_FIELDS = ("trial_id", "status", "steps", "source", "source_sha256")


@dataclass(frozen=True)
class Task:
    """A part to convert, and the stored state of its study. It can be pickled and sent to another process.

    source_digest: of the stored study; None if it isn't stored. has_quarantined_trials: some trials of the stored
    study were quarantined. content: the content digest of each stored trial, for parts of single runs; else empty.
    """

    part: StudyPart
    source_digest: str | None
    has_quarantined_trials: bool
    content: Mapping[int, str]


@dataclass(frozen=True)
class WrittenPart:
    """A part of a study whose curves are written to data files. Compact, since an ingest can have 100,000 of them.

    packed: its rows of `trials`, serialized, which take a tenth of a table's memory. is_carried: the trials were
    carried over from the stored study.
    """

    facts: StudyFacts
    packed: pa.Buffer
    written: Sequence[WrittenFile]
    metrics: frozenset[str]
    quarantined: Sequence[Quarantined]
    is_carried: bool = False

    @property
    def trials(self) -> pa.Table:
        """The part's rows of `trials`."""
        return pa.Table.from_batches([pa.ipc.read_record_batch(self.packed, TRIALS)])


@dataclass(frozen=True)
class Outcome:
    """The result of converting a part: written, already stored completely (None), or rejected."""

    files: Mapping[str, str]
    result: WrittenPart | Quarantined | None
    quarantined_again: Sequence[Quarantined] = ()


Converted = tuple[StudyPart, Outcome]


class Engine(Protocol):
    """An executor of `outcome_of` for many parts."""

    def convert(self, tasks: Iterable[Task], reads_on_all_cores: bool) -> Iterator[Converted]:
        """Yield the parts of a source in order with their outcomes. Few are in progress at a time, to bound memory.

        reads_on_all_cores: producing the next task uses all cores of this machine.
        """


def outcome_of(store: Store, task: Task) -> Outcome:
    """Convert a part to data files in the store, unless all of it is stored already."""
    part = task.part
    files = part.file_digests()
    try:
        if not _is_stored(task, files):
            return Outcome(files, _convert(store, part))
        # Trials that were quarantined when it was stored are reported again.
        is_complete = isinstance(part, RunsPart) or not task.has_quarantined_trials
        return Outcome(files, None, () if is_complete else part.load().quarantined)
    except StudyRejected as rejection:
        return Outcome(files, rejection.reason)
    except MemoryError:
        reason = Quarantined("", str(part.study), Rule.FILE_TOO_LARGE, NO_MEMORY, study=str(part.study))
        return Outcome(files, reason)


def _is_stored(task: Task, files: Mapping[str, str]) -> bool:
    """Return True if the part is stored completely: compare its files or, for single runs, each trial's content."""
    part = task.part
    if task.source_digest is None:
        return False
    if not isinstance(part, RunsPart):
        return task.source_digest == source_digest(part.reader_version, files)
    loaded = part.load()
    digests = trial_digests(loaded.trials, loaded.curves)
    return all(task.content.get(trial) == digest for trial, digest in zip(part.runs, digests, strict=True))


def _convert(store: Store, part: StudyPart) -> WrittenPart:
    """Load a part, write its curves, and describe them. Raises StudyRejected."""
    loaded = part.load()
    written = write_curves(store, part.study, [trial.trial_id for trial in loaded.trials], loaded.curves)
    rows = packed(_trial_rows(part, loaded))
    return WrittenPart(loaded.facts, rows, written, frozenset(loaded.curves.values), loaded.quarantined)


def carried_part(store: Store, facts: StudyFacts, trials: pa.Table, files: Sequence[DataFile]) -> WrittenPart:
    """Write the stored curves of some trials of a study, its rows of `trials`, to files of their own."""
    ids: list[int] = trials["trial_id"].to_pylist()
    curves = stored_curves(store, files, ids)
    written = write_curves(store, facts.study, ids, curves)
    return WrittenPart(facts, packed(trials), written, frozenset(curves.values), (), is_carried=True)


def _trial_rows(part: StudyPart, loaded: LoadedPart) -> pa.Table:
    """Return the rows of `trials` of a loaded part."""
    trials, offsets = loaded.trials, loaded.curves.offsets
    counts = np.diff(offsets)
    last_rows = np.maximum(offsets[1:] - 1, 0)
    last_steps = loaded.curves.steps[last_rows] if len(loaded.curves.steps) else np.zeros(len(trials), np.int64)
    columns: dict[str, object] = {
        **{key: [value] * len(trials) for key, value in part.study.key().items()},
        **{name: [getattr(trial, name) for trial in trials] for name in _TRIAL_FIELDS},
        "parameters": [sorted(trial.parameters.items()) for trial in trials],
        "attributes": [sorted(trial.attributes.items()) for trial in trials],
        "n_evaluations": counts,
        "n_nonfinite": loaded.curves.nonfinite_by_trial(),
        "last_step": pa.array(last_steps, pa.int64(), mask=counts == 0),
        "content_digest": trial_digests(trials, loaded.curves),
    }
    return pa.Table.from_arrays([pa.array(columns[field.name], field.type) for field in TRIALS], schema=TRIALS)


def packed(trials: pa.Table) -> pa.Buffer:
    """Serialize rows of `trials` for a WrittenPart."""
    return pa.record_batch([column.combine_chunks() for column in trials.columns], schema=TRIALS).serialize()


Submit = Callable[[Task], "Future[Converted]"]


class LocalEngine:
    """An engine that uses all cores of this machine."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def convert(self, tasks: Iterable[Task], reads_on_all_cores: bool) -> Iterator[Converted]:
        """Convert the tasks in a thread pool; see `Engine`."""
        with ThreadPoolExecutor(cores() + 1, "convert") as pool:

            def submit(task: Task) -> Future[Converted]:
                return pool.submit(lambda: (task.part, outcome_of(self._store, task)))

            yield from _alternate(tasks, submit) if reads_on_all_cores else _overlap(tasks, submit)


def _overlap(tasks: Iterable[Task], submit: Submit) -> Iterator[Converted]:
    """Convert parts while the next ones are read."""
    pending: deque[Future[Converted]] = deque()
    sizes: deque[int] = deque()
    for task in tasks:
        sizes.append(task.part.size)
        while pending and (len(pending) > cores() or sum(sizes) > MOST_IN_FLIGHT):
            sizes.popleft()
            yield pending.popleft().result()
        pending.append(submit(task))
        del task
    while pending:
        yield pending.popleft().result()


def _alternate(tasks: Iterable[Task], submit: Submit) -> Iterator[Converted]:
    """Alternate between reading a batch and converting it, each on all cores. Results keep the order of the parts.

    bzip2 decompression reads megabytes in random order. Conversion on the same cores evicts them from the CPU caches,
    which costs 50% more CPU time.
    """
    for batch in batches(tasks, MOST_IN_FLIGHT):
        # The largest first, so that all cores finish at about the same time.
        largest_first = sorted(range(len(batch)), key=lambda number: -batch[number].part.size)
        futures = {number: submit(batch[number]) for number in largest_first}
        results = [futures.pop(number) for number in range(len(batch))][::-1]
        batch.clear()
        while results:
            yield results.pop().result()


def batches(tasks: Iterable[Task], most_bytes: int) -> Iterator[list[Task]]:
    """Yield the tasks in batches whose parts need at most `most_bytes` together, or of one part."""
    batch: list[Task] = []
    size = 0
    for task in tasks:
        if batch and size + task.part.size > most_bytes:
            yield batch
            batch, size = [], 0
        batch.append(task)
        size += task.part.size
    if batch:
        yield batch
