"""The trials of a workload and their records of one metric, as arrays and as Arrow batches of lists.

A question about a target examines every trial of a workload. The records of a trial improve strictly, so bisection
finds its first hit with few reads, whatever the number of records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa

from losslake.index.study_files import StudyRecords
from losslake_schema.reached import NEVER, Floats, Integers


@dataclass(frozen=True)
class Trials:
    """The trials of a workload or study, by study and trial_id.

    status: index into STATUSES. last_step: -1 for a trial that was never evaluated. flagged: 1 or 0. setting: a number
    from 0 that the trials of one setting of a study share. has_setting: 1 if that is known, else 0. submitter: a number
    that those of one submitter of a workload share, 0 for unknown. decay_start, schedule_end: the steps at which the
    schedule of the learning rate begins to fall and at which it ends, NEVER for unknown.
    """

    trial_id: Integers
    status: Integers
    last_step: Integers
    flagged: Integers
    setting: Integers
    has_setting: Integers
    submitter: Integers
    decay_start: Integers
    schedule_end: Integers

    def __getitem__(self, rows: slice) -> Trials:
        return Trials(*(getattr(self, each.name)[rows] for each in fields(self)))


@dataclass(frozen=True)
class WorkloadTrials:
    """The trials of a workload; study i has the trials offsets[i]:offsets[i + 1]."""

    offsets: Integers
    trials: Trials

    def rows_of(self, study: int, trial_id: Integers) -> Integers:
        """Return the rows, within the workload, of trials of a study given by trial_id."""
        start, end = self.offsets[study], self.offsets[study + 1]
        rows: Integers = start + np.searchsorted(self.trials.trial_id[start:end], trial_id)
        return rows


@dataclass(frozen=True)
class TrialRecords:
    """The records of one metric in one workload.

    rows: the workload's trials that have records, ascending. offsets: trial rows[i] has the records
    offsets[i]:offsets[i + 1] of the other arrays, by step. previous_step: NO_STEP for none. elapsed_s: seconds, NaN for
    unknown; None if all are unknown.
    """

    rows: Integers
    offsets: Integers
    step: Integers
    previous_step: Integers
    value: Floats
    elapsed_s: Floats | None = None


def trial_records(trials: WorkloadTrials, studies: Sequence[StudyRecords]) -> TrialRecords:
    """Return the records of a metric in a workload from those of each of its studies."""
    rows, starts, n_records = [], [], 0
    for study, records in enumerate(studies):
        changes = np.flatnonzero(np.diff(records.trial_id)) + 1
        first = np.concatenate([[0], changes]) if len(records.trial_id) else changes
        rows.append(trials.rows_of(study, records.trial_id[first]))
        starts.append(first + n_records)
        n_records += len(records.trial_id)
    times = [records.elapsed_s for records in studies]
    return TrialRecords(
        rows=np.concatenate([np.zeros(0, np.int64), *rows]),
        offsets=np.concatenate([np.zeros(0, np.int64), *starts, [n_records]]),
        step=np.concatenate([records.step for records in studies]),
        previous_step=np.concatenate([records.previous_step for records in studies]),
        value=np.concatenate([records.value for records in studies]),
        elapsed_s=None if all(np.isnan(seconds).all() for seconds in times) else np.concatenate(times),
    )


def reordered_records(parts: Sequence[tuple[Integers, TrialRecords]]) -> TrialRecords:
    """Return the records of one metric in several workloads as those of one.

    parts: by workload, the row in the new one of each of its trials, NEVER for those left out, with its records.
    """
    rows = np.concatenate([places[records.rows] for places, records in parts])
    order = np.argsort(rows)[np.count_nonzero(rows == NEVER) :]
    starts = np.cumsum([0, *(len(records.step) for _, records in parts[:-1])])
    firsts = np.concatenate([start + each.offsets[:-1] for start, (_, each) in zip(starts, parts, strict=True)])[order]
    sizes = np.concatenate([np.diff(records.offsets) for _, records in parts])[order]
    offsets = np.append(0, np.cumsum(sizes))
    picked = np.repeat(firsts - offsets[:-1], sizes) + np.arange(offsets[-1])
    times = [np.full(len(each.step), np.nan) if each.elapsed_s is None else each.elapsed_s for _, each in parts]
    return TrialRecords(
        rows=rows[order],
        offsets=offsets,
        step=np.concatenate([records.step for _, records in parts])[picked],
        previous_step=np.concatenate([records.previous_step for _, records in parts])[picked],
        value=np.concatenate([records.value for _, records in parts])[picked],
        elapsed_s=None if all(records.elapsed_s is None for _, records in parts) else np.concatenate(times)[picked],
    )


INTEGER_LISTS, FLOAT_LISTS = pa.list_(pa.int64()), pa.list_(pa.float64())
TRIALS = pa.schema([(each.name, INTEGER_LISTS) for each in fields(Trials)])
RECORDS = pa.schema(
    [
        ("row", pa.int64()),
        ("step", INTEGER_LISTS),
        ("previous_step", INTEGER_LISTS),
        ("value", FLOAT_LISTS),
        ("elapsed_s", FLOAT_LISTS),
    ]
)


def lists(offsets: Integers, values: Integers | Floats | pa.Array) -> pa.Array:
    """Return values as an array of lists; list i has values[offsets[i]:offsets[i + 1]]."""
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values))


def offsets_of(column: pa.ListArray) -> Integers:
    """Return the offsets of the lists into their values, one more than there are lists."""
    offsets: Integers = column.offsets.to_numpy().astype(np.int64)
    return offsets


def batch_of_trials(workload: WorkloadTrials) -> pa.RecordBatch:
    """Return the trials as one row per study."""
    columns = [lists(workload.offsets, getattr(workload.trials, name)) for name in TRIALS.names]
    return pa.RecordBatch.from_arrays(columns, schema=TRIALS)


def trials_of_batch(batch: pa.RecordBatch) -> WorkloadTrials:
    """Return the trials that `batch_of_trials` wrote into a batch, without a copy."""
    return WorkloadTrials(offsets_of(batch.column(0)), Trials(*(column.values.to_numpy() for column in batch.columns)))


def batch_of_records(records: TrialRecords) -> pa.RecordBatch:
    """Return the records as one row per trial; elapsed_s is null in every row if it is None."""
    columns = [lists(records.offsets, values) for values in (records.step, records.previous_step, records.value)]
    elapsed_s = records.elapsed_s
    times = pa.nulls(len(records.rows), FLOAT_LISTS) if elapsed_s is None else lists(records.offsets, elapsed_s)
    return pa.RecordBatch.from_arrays([pa.array(records.rows), *columns, times], schema=RECORDS)


def records_of_batch(batch: pa.RecordBatch) -> TrialRecords:
    """Return the records that `batch_of_records` wrote into a batch, without a copy."""
    row, step, previous_step, value, elapsed_s = batch.columns
    has_times = elapsed_s.null_count < len(elapsed_s)
    columns = (step, previous_step, value, *([elapsed_s] if has_times else []))
    return TrialRecords(row.to_numpy(), offsets_of(step), *(column.values.to_numpy() for column in columns))
