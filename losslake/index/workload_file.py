"""What questions need of a workload, in Arrow files that every process maps into memory: trials, records, frontiers.

Opening takes no time whatever their size, and their pages are shared. Studies and trials are numbered within the
workload and metrics go by name, so that the files serve every release in which the workload is the same.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from losslake.index.frontiers import COUNTED, FRONTIERS, Frontiers, batch_of_frontiers, frontiers, frontiers_of_batch
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
from losslake_schema.reached import sign_of
from losslake_schema.tables import STATUSES

NAMES = ("trials", "records", "frontiers")
MOST_OPEN = 2048
_METRICS = b"metric of each batch"
_IS_COUNTED = np.array([status in COUNTED for status in STATUSES])


class OpenWorkload:
    """The files of a workload; what is in them is looked at when it is first asked for, and then kept."""

    def __init__(self, sources: Mapping[str, pa.NativeFile]) -> None:
        """sources: the file of each of NAMES."""
        self._sources = sources
        self._records: dict[str, TrialRecords] = {}
        self._frontiers: dict[str, Frontiers] = {}

    @cached_property
    def trials(self) -> WorkloadTrials:
        """Its trials."""
        return trials_of_batch(self._reader("trials").get_batch(0))

    def records(self, metric: str) -> TrialRecords:
        """The records of a metric; without any, all arrays are empty."""
        records = self._records.get(metric)
        if records is None:
            records = self._records[metric] = records_of_batch(_batch(self._record_batches, metric))
        return records

    def frontiers(self, metric: str) -> Frontiers:
        """The frontiers of a metric with a direction, over the trials whose status is COUNTED."""
        of_studies = self._frontiers.get(metric)
        if of_studies is None:
            of_studies = self._frontiers[metric] = frontiers_of_batch(_batch(self._frontier_batches, metric))
        return of_studies

    @cached_property
    def _record_batches(self) -> pa.RecordBatchFileReader:
        return self._reader("records")

    @cached_property
    def _frontier_batches(self) -> pa.RecordBatchFileReader:
        return self._reader("frontiers")

    def _reader(self, name: str) -> pa.RecordBatchFileReader:
        try:
            return pa.ipc.open_file(self._sources[name])
        except (OSError, pa.ArrowException) as error:
            raise harmed(error) from None


class OpenWorkloads:
    """The files of workloads, mapped when they are first asked for, by the names of their folders.

    Only so many at once: a process may have 65,530 maps and, on some machines, 1,024 open files.
    """

    def __init__(self, folder: Path, have_again: Callable[[Path], None], most: int = MOST_OPEN) -> None:
        """folder: that of all workloads. have_again: has those of a folder that was removed."""
        self._folder = folder
        self._have_again = have_again
        self._most = most
        self._open: dict[str, OpenWorkload] = {}
        self._changing = threading.Lock()

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, name: str) -> OpenWorkload:
        """The files of a workload; whoever has them keeps them, whatever becomes of the folder. Raises LakeBroken."""
        found = self._open.get(name)
        if found is None:
            try:
                if not (self._folder / name).is_dir():
                    self._have_again(self._folder / name)
                found = OpenWorkload({part: mapped_file(self._folder / name / f"{part}.arrow") for part in NAMES})
            except (OSError, pa.ArrowException) as error:
                raise harmed(error) from None
            with self._changing:
                self._open[name] = found
                while len(self._open) > self._most:
                    del self._open[next(iter(self._open))]
        return found


def mapped_file(path: Path) -> pa.BufferReader:
    """A file in memory, without a file handle."""
    with pa.memory_map(str(path)) as file:
        return pa.BufferReader(file.read_buffer())


def harmed(error: Exception) -> LakeBroken:
    """What to say of files that can't be read."""
    return LakeBroken(f"a serving file can't be read ({error}): delete the lake's folder serving, it is made again")


def _batch(reader: pa.RecordBatchFileReader, metric: str) -> pa.RecordBatch:
    metrics = json.loads((reader.schema.metadata or {})[_METRICS])
    if metric not in metrics:
        return pa.RecordBatch.from_pylist([], reader.schema)
    return reader.get_batch(metrics.index(metric))


def write_workload(
    open_sink: Callable[[str], pa.NativeFile],
    trials: WorkloadTrials,
    directions: Mapping[str, str],
    records_of: Callable[[str], TrialRecords],
) -> None:
    """Write the files of a workload, one metric after the other.

    Args:
        open_sink: where to write the file of each of NAMES.
        trials: of the workload.
        directions: of its metrics; minimize or maximize.
        records_of: the records of a metric.
    """
    metrics = {_METRICS: json.dumps(list(directions)).encode()}
    with ExitStack() as stack:

        def writer(name: str, schema: pa.Schema) -> pa.RecordBatchFileWriter:
            return stack.enter_context(pa.ipc.new_file(stack.enter_context(open_sink(name)), schema))

        writer("trials", TRIALS).write_batch(batch_of_trials(trials))
        to_records = writer("records", RECORDS.with_metadata(metrics))
        to_frontiers = writer("frontiers", FRONTIERS.with_metadata(metrics))
        for metric, direction in directions.items():
            records = records_of(metric)
            counts = _IS_COUNTED[trials.trials.status[records.rows]]
            found = frontiers(records, counts, trials.offsets, sign_of(direction))
            to_records.write_batch(batch_of_records(records))
            to_frontiers.write_batch(batch_of_frontiers(found))
