"""The trials of a workload, and their records of one metric, as arrays and as Arrow batches of lists.

A question about a target has to look at every trial of a workload. Records of a trial get better step by step, so a
binary search in each finds its first hit: a few reads per trial, whatever the number of records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from losslake.index.study_files import StudyRecords
from losslake_schema.reached import Floats, Integers


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


@dataclass(frozen=True)
class TrialRecords:
    """The records of one metric in one workload.

    rows: which of the workload's trials have any, ascending. offsets: records of the trial rows[i] are offsets[i] up to
    offsets[i+1] of the others, which are in the order of steps. previous_step: NO_STEP for none. elapsed_s: NaN for
    unknown; None where none is known.
    """

    rows: Integers
    offsets: Integers
    step: Integers
    previous_step: Integers
    value: Floats
    elapsed_s: Floats | None = None


def trial_records(trials: WorkloadTrials, studies: Sequence[StudyRecords]) -> TrialRecords:
    """The records of a metric, from those of each of the workload's studies."""
    rows, starts, begun = [], [], 0
    for study, found in enumerate(studies):
        changes = np.flatnonzero(np.diff(found.trial_id)) + 1
        first = np.concatenate([[0], changes]) if len(found.trial_id) else changes
        rows.append(trials.rows_of(study, found.trial_id[first]))
        starts.append(first + begun)
        begun += len(found.trial_id)
    times = [found.elapsed_s for found in studies]
    return TrialRecords(
        rows=np.concatenate([np.zeros(0, np.int64), *rows]),
        offsets=np.concatenate([np.zeros(0, np.int64), *starts, [begun]]),
        step=np.concatenate([found.step for found in studies]),
        previous_step=np.concatenate([found.previous_step for found in studies]),
        value=np.concatenate([found.value for found in studies]),
        elapsed_s=None if all(np.isnan(own).all() for own in times) else np.concatenate(times),
    )


INTEGER_LISTS, FLOAT_LISTS = pa.list_(pa.int64()), pa.list_(pa.float64())
TRIALS = pa.schema([(name, INTEGER_LISTS) for name in ("trial_id", "status", "last_step")])
RECORDS = pa.schema(
    [
        ("row", pa.int64()),
        ("step", INTEGER_LISTS),
        ("previous_step", INTEGER_LISTS),
        ("value", FLOAT_LISTS),
        ("elapsed_s", FLOAT_LISTS),
    ]
)


def lists(offsets: Integers, values: Integers | Floats) -> pa.Array:
    """Return values as lists, of which list i has those from offsets[i] up to offsets[i+1]."""
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values))


def offsets_of(column: pa.ListArray) -> Integers:
    """Return where each list begins among the values, and the end."""
    offsets: Integers = column.offsets.to_numpy().astype(np.int64)
    return offsets


def batch_of_trials(workload: WorkloadTrials) -> pa.RecordBatch:
    """Return the trials as one row per study."""
    columns = [lists(workload.offsets, getattr(workload.trials, name)) for name in TRIALS.names]
    return pa.RecordBatch.from_arrays(columns, schema=TRIALS)


def trials_of_batch(batch: pa.RecordBatch) -> WorkloadTrials:
    """Return what `batch_of_trials` made into this batch, without a copy."""
    return WorkloadTrials(offsets_of(batch.column(0)), Trials(*(column.values.to_numpy() for column in batch.columns)))


def batch_of_records(records: TrialRecords) -> pa.RecordBatch:
    """Return the records as one row per trial; elapsed_s is null in every row where it is None."""
    columns = [lists(records.offsets, values) for values in (records.step, records.previous_step, records.value)]
    elapsed_s = records.elapsed_s
    times = pa.nulls(len(records.rows), FLOAT_LISTS) if elapsed_s is None else lists(records.offsets, elapsed_s)
    return pa.RecordBatch.from_arrays([pa.array(records.rows), *columns, times], schema=RECORDS)


def records_of_batch(batch: pa.RecordBatch) -> TrialRecords:
    """Return what `batch_of_records` made into this batch, without a copy."""
    row, step, previous_step, value, elapsed_s = batch.columns
    has_times = elapsed_s.null_count < len(elapsed_s)
    columns = (step, previous_step, value, *([elapsed_s] if has_times else []))
    return TrialRecords(row.to_numpy(), offsets_of(step), *(column.values.to_numpy() for column in columns))
