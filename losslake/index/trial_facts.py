"""What every question needs to know of the trials of a workload."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from losslake_schema.reached import Integers


@dataclass(frozen=True)
class Trials:
    """Trials in the order of study and trial_id.

    status: index into STATUSES. last_step: -1 for a trial that was never evaluated.
    """

    trial_id: Integers
    status: Integers
    last_step: Integers

    def __getitem__(self, rows: slice) -> Trials:
        return Trials(self.trial_id[rows], self.status[rows], self.last_step[rows])


@dataclass(frozen=True)
class WorkloadTrials:
    """The trials of a workload; those of its study i are offsets[i] up to offsets[i+1] of them."""

    offsets: Integers
    trials: Trials

    def rows_of(self, study: int, trial_id: Integers) -> Integers:
        """Where trials of a study, by number, are among those of the workload."""
        start, end = self.offsets[study], self.offsets[study + 1]
        found: Integers = start + np.searchsorted(self.trials.trial_id[start:end], trial_id)
        return found


_LISTS = pa.list_(pa.int64())
TRIALS = pa.schema([("trial_id", _LISTS), ("status", _LISTS), ("last_step", _LISTS)])


def batch_of_trials(found: WorkloadTrials) -> pa.RecordBatch:
    """The trials as one row per study."""
    offsets = pa.array(found.offsets, pa.int32())
    columns = (found.trials.trial_id, found.trials.status, found.trials.last_step)
    lists = [pa.ListArray.from_arrays(offsets, pa.array(column)) for column in columns]
    return pa.RecordBatch.from_arrays(lists, schema=TRIALS)


def trials_of_batch(batch: pa.RecordBatch) -> WorkloadTrials:
    """What `batch_of_trials` made into this batch, without a copy."""
    trial_id, status, last_step = (column.values.to_numpy() for column in batch.columns)
    return WorkloadTrials(batch.column(0).offsets.to_numpy().astype(np.int64), Trials(trial_id, status, last_step))
