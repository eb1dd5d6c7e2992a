"""Writing of curves to Parquet: each data file holds (part of) one study, sorted by metric, trial and step.

Row groups are small and hold one metric each, so that a query for one metric or curve reads little else. The keys of
the study are in the path and in Iceberg's partition data, not in the file, as in Hive and Iceberg. An encoding applies
to a whole file, so metrics whose values repeat often (error rates, k/N) and others (losses) get a file each.

Records are the measurements strictly better than every earlier one of the same trial and metric. The first step that
reaches any target is a record, so steps to target over records equal steps to target over measurements (METHODS 6.1;
a test checks this property).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.data_files import WrittenFile, write_data_file
from losslake.lake.ranges import Ranges
from losslake.lake.store.store import DataFile, Store
from losslake_ingest.contracts.study import Curves, offsets_of
from losslake_ingest.pipeline import encodings
from losslake_ingest.pipeline.encodings import DICTIONARY, SPLIT, STEPS, Encoding
from losslake_schema.names import Study
from losslake_schema.reached import Flags, Floats, Integers
from losslake_schema.registry import Direction, metric_named
from losslake_schema.tables import PARTITIONED, file_schema

LARGEST_ROW_GROUP = 1 << 14
_VALUES_AT_ONCE = 1 << 15
_SCHEMAS = {name: file_schema(name) for name in PARTITIONED}
_ENCODINGS = {
    "metric": Encoding(DICTIONARY, 1),
    "trial_id": Encoding("DELTA_BINARY_PACKED", 1),
    "elapsed_s": Encoding("BYTE_STREAM_SPLIT", 1),
}


def write_curves(store: Store, study: Study, trial_ids: Sequence[int], curves: Curves) -> list[WrittenFile]:
    """Store the measurements and records of some trials of a study; return the files, not yet published."""
    trials = np.repeat(np.asarray(trial_ids, np.int64), np.diff(curves.offsets))
    steps = encodings.smallest(curves.steps, STEPS)
    previous, is_first = previous_steps(curves.steps, curves.offsets)
    records = CurveFile("records", {"step": steps, "previous_step": steps}, SPLIT)
    files: dict[str, CurveFile] = {}
    for metric in sorted(curves.values):
        if metric in curves.missing:
            measured = _without_missing(curves, metric, trials)
        else:
            measured = _Measured(metric, curves, trials, previous, is_first)
        values = encodings.for_values(measured.values, LARGEST_ROW_GROUP)
        if values.name not in files:
            files[values.name] = CurveFile("measurements", {"step": steps}, values)
        files[values.name].add(metric, measured.columns(slice(None)))
        direction = metric_named(metric).direction
        if direction is not None:
            records.add(metric, measured.records(direction))
    if not files:
        files[""] = CurveFile("measurements", {"step": steps}, SPLIT)
    return [file.finish(store, study) for file in (*files.values(), records)]


def write_records(
    store: Store, study: Study, files: Iterable[DataFile], directions: Mapping[str, Direction]
) -> WrittenFile:
    """Store the records of some metrics of a study, from its measurements; return the file, not yet published."""
    stored = [store.open(file.path, file.bytes) for file in files if file.table == "measurements"]
    rows = pa.concat_tables([pq.ParquetFile(file).read() for file in stored]).unify_dictionaries()
    steps = encodings.smallest(np.asarray(rows["step"].to_numpy()), STEPS)
    records = CurveFile("records", {"step": steps, "previous_step": steps}, SPLIT)
    for metric, direction in sorted(directions.items()):
        metric_rows = rows.filter(pc.equal(rows["metric"], metric)).sort_by(
            [("trial_id", "ascending"), ("step", "ascending")]
        )
        trial_id, step, value = (metric_rows[name].to_numpy() for name in ("trial_id", "step", "value"))
        elapsed_s = pc.fill_null(metric_rows["elapsed_s"], np.nan).to_numpy()
        offsets = np.append(np.unique(trial_id, return_index=True)[1], len(trial_id))
        curves = Curves(offsets, step, {metric: value}, {}, elapsed_s)
        records.add(metric, _Measured(metric, curves, trial_id, *previous_steps(step, offsets)).records(direction))
    return records.finish(store, study)


def record_rows(values: Floats, offsets: Integers, direction: str) -> Flags:
    """Return flags of the rows that are records.

    Args:
        values: one metric of some trials, one after the other, by ascending step; NaN and infinities are never records.
        offsets: n_trials + 1 row numbers; trial i has rows offsets[i]:offsets[i+1].
        direction: minimize or maximize.
    """
    candidates = values if direction == "minimize" else -values
    is_finite = np.isfinite(candidates)
    if not is_finite.all():
        candidates = np.where(is_finite, candidates, np.inf)
    best_before = np.empty_like(candidates)
    best_before[offsets[:-1][np.diff(offsets) > 0]] = np.inf
    for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        if stop - start > 1:
            np.minimum.accumulate(candidates[start : stop - 1], out=best_before[start + 1 : stop])
    return candidates < best_before


def previous_steps(steps: Integers, offsets: Integers) -> tuple[Integers, Flags]:
    """Return the step of the previous row of the same trial, and flags of first rows (where it is undefined)."""
    is_first = np.zeros(len(steps), np.bool_)
    is_first[offsets[:-1][np.diff(offsets) > 0]] = True
    return np.concatenate([steps[:1], steps[:-1]]), is_first


@dataclass(frozen=True)
class _Measured:
    """The measurements of one metric: the curves reduced to the rows with a value.

    trials: the trial of each row. previous: the step of the trial's previous row, undefined where is_first.
    """

    metric: str
    curves: Curves
    trials: Integers
    previous: Integers
    is_first: Flags

    @property
    def values(self) -> Floats:
        """The metric's values."""
        return self.curves.values[self.metric]

    def columns(self, rows: Integers | slice) -> dict[str, pa.Array]:
        """Return the common columns of measurements and records, for some rows."""
        numbers = {"trial_id": self.trials, "step": self.curves.steps, "value": self.values}
        columns = {name: pa.array(column[rows]) for name, column in numbers.items()}
        if self.curves.elapsed_s is not None:
            elapsed = self.curves.elapsed_s[rows]
            columns["elapsed_s"] = pa.array(elapsed, mask=np.isnan(elapsed))
        return columns

    def records(self, direction: str) -> dict[str, pa.Array]:
        """Return the columns of records."""
        rows = np.flatnonzero(record_rows(self.values, self.curves.offsets, direction))
        return self.columns(rows) | {"previous_step": pa.array(self.previous[rows], mask=self.is_first[rows])}


def _without_missing(curves: Curves, metric: str, trials: Integers) -> _Measured:
    """Return the measurements of a metric that is missing in some rows."""
    keep = ~curves.missing[metric]
    offsets = offsets_of(keep)[curves.offsets]
    steps, values = curves.steps[keep], curves.values[metric][keep]
    elapsed = curves.elapsed_s[keep] if curves.elapsed_s is not None else None
    measured = Curves(offsets, steps, {metric: values}, {}, elapsed)
    return _Measured(metric, measured, trials[keep], *previous_steps(steps, offsets))


class CurveFile:
    """A data file that is being written."""

    def __init__(self, table: str, steps: dict[str, Encoding], values: Encoding) -> None:
        """Open the file, with these encodings of the columns of steps and of the values."""
        self._table = table
        self._n_rows = 0
        self._ranges = Ranges()
        self._buffer = pa.BufferOutputStream()
        self._writer = pq.ParquetWriter(
            self._buffer,
            _SCHEMAS[table],
            write_statistics=["metric", "trial_id"],
            write_batch_size=_VALUES_AT_ONCE,
            **encodings.options(_ENCODINGS | {"value": values} | steps),
        )

    def add(self, metric: str, columns: dict[str, pa.Array]) -> None:
        """Append rows of one metric in row groups of their own; absent columns become null."""
        n_rows = len(columns["step"])
        if not n_rows:
            return
        constant = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, np.int32)), pa.array([metric]))
        schema = _SCHEMAS[self._table]
        of_columns = {"metric": constant} | columns
        arrays = [
            of_columns[field.name] if field.name in of_columns else pa.nulls(n_rows, field.type) for field in schema
        ]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=LARGEST_ROW_GROUP)
        self._n_rows += n_rows
        self._ranges.extend("metric", metric)
        for name in ("trial_id", "step", "value"):
            self._ranges.extend_by(name, columns[name])

    def finish(self, store: Store, study: Study) -> WrittenFile:
        """Close the file and store it."""
        self._writer.close()
        file = write_data_file(store, self._table, study, self._buffer.getvalue(), self._n_rows)
        return WrittenFile.of(file, self._writer.writer.metadata, self._ranges.row)
