"""The records of a release once more, trial by trial in one Arrow file that every process maps into memory.

A question about a target has to look at every trial of a workload. Records of a trial get better step by step, so a
binary search in each finds its first hit: a few reads per trial, from the page cache, whatever the number of records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
NO_STEP = -1
ROWS_AT_A_TIME = 500_000
_STEPS, _VALUES = pa.list_(pa.int64()), pa.list_(pa.float64())
SCHEMA = pa.schema(
    [
        ("study_id", pa.int64()),
        ("trial_id", pa.int64()),
        ("step", _STEPS),
        ("previous_step", _STEPS),
        ("value", _VALUES),
    ]
)
_KEYS = b"metric_id and first study_id of each batch"


@dataclass(frozen=True)
class TrialRecords:
    """The records of one metric in one workload.

    study_id, trial_id: one for each trial that has any, in this order. offsets: records of trial i are offsets[i] up to
    offsets[i+1] of the others, which are in the order of steps. previous_step: NO_STEP for none.
    """

    study_id: Integers
    trial_id: Integers
    offsets: Integers
    step: Integers
    previous_step: Integers
    value: Floats


class RecordCurves:
    """The file opened: the records of any metric in any workload, without a copy."""

    def __init__(self, source: pa.NativeFile) -> None:
        self._reader = pa.ipc.open_file(source)

    @staticmethod
    def open(path: Path) -> RecordCurves:
        """Map the file into memory; its pages are shared with every other process that does."""
        return RecordCurves(pa.memory_map(str(path)))

    def of(self, metric_id: int, first_study: int) -> TrialRecords:
        """The records of a metric in the workload whose first study that is; without any, all arrays are empty."""
        number = self._batches.get((metric_id, first_study))
        batch = self._reader.get_batch(number) if number is not None else pa.RecordBatch.from_pylist([], SCHEMA)
        study_id, trial_id, step, previous_step, value = batch.columns
        return TrialRecords(
            study_id=study_id.to_numpy(),
            trial_id=trial_id.to_numpy(),
            offsets=step.offsets.to_numpy().astype(np.int64),
            step=step.values.to_numpy(),
            previous_step=previous_step.values.to_numpy(),
            value=value.values.to_numpy(),
        )

    @cached_property
    def _batches(self) -> dict[tuple[int, int], int]:
        keys = json.loads((self._reader.schema.metadata or {})[_KEYS])
        return {(metric_id, first_study): number for number, (metric_id, first_study) in enumerate(keys)}


def write_record_curves(connection: duckdb.DuckDBPyConnection, sink: str | pa.NativeFile) -> None:
    """Write `base.records`, which is in the order of metric, study, trial and step: a batch per metric and workload."""
    first_of_workload = _first_studies(connection)
    keys = connection.execute("SELECT DISTINCT metric_id, study_id FROM base.records ORDER BY ALL").fetchall()
    groups = list(dict.fromkeys((metric_id, int(first_of_workload[study_id])) for metric_id, study_id in keys))
    schema = SCHEMA.with_metadata({_KEYS: json.dumps(groups).encode()})
    with pa.ipc.new_file(sink, schema) as writer:
        for expected, (key, rows) in zip(groups, _by_metric_and_workload(connection, first_of_workload), strict=True):
            assert key == expected, "base.records is not in its order"
            writer.write_batch(_by_trial(rows).cast(schema))


def _first_studies(connection: duckdb.DuckDBPyConnection) -> Integers:
    """By study_id, the first study of its workload."""
    rows = connection.execute(
        "SELECT study_id, min(study_id) OVER (PARTITION BY collection, dataset, model, optimizer) FROM base.studies"
    ).fetchall()
    found = np.zeros(max((study_id for study_id, _ in rows), default=0) + 1, np.int64)
    for study_id, first in rows:
        found[study_id] = first
    return found


def _by_metric_and_workload(
    connection: duckdb.DuckDBPyConnection, first_of_workload: Integers
) -> Iterator[tuple[tuple[int, int], pa.Table]]:
    """The records in their order, cut where the metric or the workload changes; with each part, metric and workload."""
    begun: list[pa.Table] = []
    last: tuple[int, int] | None = None
    for batch in connection.sql("FROM base.records").to_arrow_reader(ROWS_AT_A_TIME):
        metrics = batch["metric_id"].to_numpy(zero_copy_only=False)
        workloads = first_of_workload[batch["study_id"].to_numpy(zero_copy_only=False)]
        cuts = np.flatnonzero((np.diff(metrics) != 0) | (np.diff(workloads) != 0)) + 1
        for start, end in zip([0, *cuts.tolist()], [*cuts.tolist(), len(metrics)], strict=True):
            key = (int(metrics[start]), int(workloads[start]))
            if last is not None and key != last:
                yield last, pa.concat_tables(begun)
                begun = []
            begun.append(pa.Table.from_batches([batch.slice(start, end - start)]))
            last = key
    if last is not None:
        yield last, pa.concat_tables(begun)


def _by_trial(rows: pa.Table) -> pa.RecordBatch:
    """The same rows as one per trial."""
    study_id, trial_id = (rows[name].to_numpy().astype(np.int64) for name in ("study_id", "trial_id"))
    starts = np.flatnonzero(np.r_[True, (np.diff(study_id) != 0) | (np.diff(trial_id) != 0)])
    offsets = pa.array(np.r_[starts, len(study_id)], pa.int32())
    columns = {
        "step": rows["step"],
        "previous_step": rows["previous_step"].fill_null(NO_STEP),
        "value": rows["value"],
    }
    lists = [pa.ListArray.from_arrays(offsets, column.combine_chunks()) for column in columns.values()]
    return pa.RecordBatch.from_arrays(
        [pa.array(study_id[starts]), pa.array(trial_id[starts]), *lists], names=SCHEMA.names
    )
