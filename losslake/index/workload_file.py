"""The index of a workload: trials, records and frontiers in Arrow files that every process maps into memory.

Opening is instant at any size, and processes share the pages. Studies and trials are numbered within the workload and
metrics are identified by name, so the files serve every release in which the workload is the same.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from losslake.index.frontiers import COUNTED, FRONTIERS, Frontiers, batch_of_frontiers, frontiers, frontiers_of_batch
from losslake.index.measurement_files import FILES, MeasurementFiles
from losslake.index.records import (
    RECORDS,
    TRIALS,
    TrialRecords,
    WorkloadTrials,
    batch_of_records,
    batch_of_trials,
    records_of_batch,
    trials_of_batch,
)
from losslake_schema.errors import LakeBroken
from losslake_schema.reached import Integers, sign_of
from losslake_schema.statuses import STATUSES

NAMES = ("trials", "records", "frontiers", "ends", "measurements")
# By metric, and in each by trial. A metric of which every trial was evaluated until its last step isn't there.
_ENDS = pa.schema([("last_step", pa.int64())])
MOST_OPEN = 2048
_METRICS = b"metric of each batch"
_IS_COUNTED = np.array([status in COUNTED for status in STATUSES])


class OpenWorkload:
    """The mapped files of a workload; their contents are read on first use and cached."""

    def __init__(self, sources: Mapping[str, pa.NativeFile]) -> None:
        """Take the file of each of NAMES."""
        self._sources = sources
        self._readers: dict[str, pa.RecordBatchFileReader] = {}
        self._records: dict[str, TrialRecords] = {}
        self._frontiers: dict[str, Frontiers] = {}
        self._last_steps: dict[str, Integers] = {}

    @staticmethod
    def in_memory(
        trials: WorkloadTrials, metric: str, direction: str | None, records: TrialRecords, last_steps: Integers
    ) -> OpenWorkload:
        """Return a workload without files that has one metric. direction: without it, there are no frontiers."""
        workload = OpenWorkload({})
        workload.trials = trials
        workload._last_steps[metric] = last_steps
        workload._records[metric] = records
        if direction is not None:
            workload._frontiers[metric] = _frontiers_of_counted(trials, direction, records)
        return workload

    @cached_property
    def trials(self) -> WorkloadTrials:
        """The trials of the workload."""
        return trials_of_batch(self._reader("trials").get_batch(0))

    @cached_property
    def measurements(self) -> MeasurementFiles:
        """The data files with the measurements of the workload."""
        return MeasurementFiles(self._reader("measurements").get_batch(0))

    def records(self, metric: str) -> TrialRecords:
        """Return the records of a metric; empty arrays if there are none."""
        records = self._records.get(metric)
        if records is None:
            records = self._records[metric] = records_of_batch(_batch(self._reader("records"), metric))
        return records

    def frontiers(self, metric: str) -> Frontiers:
        """Return the frontiers of a metric with a direction, over the trials that are COUNTED and not flagged."""
        cached = self._frontiers.get(metric)
        if cached is None:
            cached = self._frontiers[metric] = frontiers_of_batch(_batch(self._reader("frontiers"), metric))
        return cached

    def last_steps(self, metric: str) -> Integers:
        """Return by trial the last step at which it was evaluated in a metric of its study; -1 for none."""
        steps = self._last_steps.get(metric)
        if steps is None:
            batch = _batch(self._reader("ends"), metric)
            steps = batch.column(0).to_numpy() if len(batch) else self.trials.trials.last_step
            self._last_steps[metric] = steps
        return steps

    def _reader(self, name: str) -> pa.RecordBatchFileReader:
        if name not in self._readers:
            try:
                self._readers[name] = pa.ipc.open_file(self._sources[name])
            except (OSError, pa.ArrowException) as error:
                raise damaged_serving_file(error) from None
        return self._readers[name]


class OpenWorkloads:
    """A bounded cache of mapped workloads, by the names of their folders.

    Bounded because a process may have 65,530 maps and, on some machines, 1,024 open files.
    """

    def __init__(self, folder: Path, restore: Callable[[Path], None], most: int = MOST_OPEN) -> None:
        """Take the folder of all workloads, and a function that restores a workload's folder that was deleted."""
        self._folder = folder
        self._restore = restore
        self._most = most
        self._open: dict[str, OpenWorkload] = {}
        self._changing = threading.Lock()

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, name: str) -> OpenWorkload:
        """Return the files of a workload, which stay usable if the folder is deleted. Raises LakeBroken."""
        workload = self._open.get(name)
        if workload is None:
            try:
                if not (self._folder / name).is_dir():
                    self._restore(self._folder / name)
                workload = OpenWorkload({part: mapped_file(self._folder / name / f"{part}.arrow") for part in NAMES})
            except (OSError, pa.ArrowException) as error:
                raise damaged_serving_file(error) from None
            with self._changing:
                self._open[name] = workload
                while len(self._open) > self._most:
                    del self._open[next(iter(self._open))]
        return workload


def mapped_file(path: Path) -> pa.BufferReader:
    """Return a file mapped into memory, without an open file handle."""
    with pa.memory_map(str(path)) as file:
        return pa.BufferReader(file.read_buffer())


def damaged_serving_file(error: Exception) -> LakeBroken:
    """Return the error for serving files that can't be read."""
    return LakeBroken(f"a serving file can't be read ({error}): delete the lake's folder `serving`, which is rebuilt")


def _batch(reader: pa.RecordBatchFileReader, metric: str) -> pa.RecordBatch:
    metrics = json.loads((reader.schema.metadata or {})[_METRICS])
    if metric not in metrics:
        return pa.RecordBatch.from_pylist([], reader.schema)
    return reader.get_batch(metrics.index(metric))


def write_workload(
    open_sink: Callable[[str], pa.NativeFile],
    trials: WorkloadTrials,
    directions: Mapping[str, str],
    records: Iterable[TrialRecords],
    ends: Mapping[str, Integers],
    measurements: pa.RecordBatch,
) -> None:
    """Write the files of a workload, one metric after the other.

    Args:
        open_sink: opens the file of each of NAMES for writing.
        trials: of the workload.
        directions: minimize or maximize, by metric.
        records: of each of these metrics, in the same order.
        ends: by metric and trial, the last step at which it was evaluated in the metric, -1 for none; may lack metrics
            in which each was evaluated until its last step.
        measurements: rows of FILES.
    """
    metrics, ending = ({_METRICS: json.dumps(list(names)).encode()} for names in (directions, ends))
    with ExitStack() as stack:

        def writer(name: str, schema: pa.Schema) -> pa.RecordBatchFileWriter:
            return stack.enter_context(pa.ipc.new_file(stack.enter_context(open_sink(name)), schema))

        writer("trials", TRIALS).write_batch(batch_of_trials(trials))
        writer("measurements", FILES).write_batch(measurements)
        to_ends = writer("ends", _ENDS.with_metadata(ending))
        for steps in ends.values():
            to_ends.write_batch(pa.RecordBatch.from_arrays([pa.array(steps)], schema=_ENDS))
        to_records = writer("records", RECORDS.with_metadata(metrics))
        to_frontiers = writer("frontiers", FRONTIERS.with_metadata(metrics))
        for direction, of_metric in zip(directions.values(), records, strict=True):
            to_records.write_batch(batch_of_records(of_metric))
            to_frontiers.write_batch(batch_of_frontiers(_frontiers_of_counted(trials, direction, of_metric)))


def _frontiers_of_counted(trials: WorkloadTrials, direction: str, records: TrialRecords) -> Frontiers:
    """Return the frontiers of the trials whose status is COUNTED and that aren't flagged."""
    counts = _IS_COUNTED[trials.trials.status[records.rows]] & (trials.trials.flagged[records.rows] == 0)
    return frontiers(records, counts, trials.offsets, sign_of(direction))
