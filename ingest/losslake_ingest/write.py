"""Curves into Parquet: each data file holds (part of) one study, sorted by metric, trial and step.

Row groups don't mix metrics and are small, so that a query for one metric, or one curve, reads little else. The keys of
the study stand in the path and in Iceberg's partition data, not in the file, as both Hive and Iceberg have it. An
encoding holds for a whole file, so metrics whose values repeat much (error rates, k/N) and others (losses) go to two.

Records are the measurements strictly better than every earlier one of the same trial and metric. The first step that
reaches any target is a record, so steps to target over records equals steps to target over measurements (METHODS 6.1;
the property is tested).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from losslake.lake.data_files import Written, keep
from losslake.lake.store.store import Store
from losslake_ingest import encodings
from losslake_ingest.encodings import DICTIONARY, DIGITS, VALUES, Decimals, Encoding
from losslake_ingest.study import Curves, offsets_of
from losslake_schema.names import Study
from losslake_schema.reached import Flags, Floats, Integers
from losslake_schema.registry import metric_named
from losslake_schema.tables import PARTITIONED, file_schema

LARGEST_ROW_GROUP = 1 << 14
_VALUES_AT_ONCE = 1 << 15
_SCHEMAS = {name: file_schema(name) for name in PARTITIONED}
_ENCODINGS = {
    "metric": Encoding(DICTIONARY, 1),
    "trial_id": Encoding("DELTA_BINARY_PACKED", 1),
    "divisor": Encoding(DICTIONARY, 1),
    "elapsed_s": Encoding("BYTE_STREAM_SPLIT", 1),
}


def write_curves(store: Store, study: Study, trial_ids: Sequence[int], curves: Curves) -> list[Written]:
    """Store the measurements and records of some trials of a study, ready to be published."""
    trials = np.repeat(np.asarray(trial_ids, np.int64), np.diff(curves.offsets))
    intervals, is_first = intervals_of(curves.steps, curves.offsets)
    steps = encodings.smallest(curves.steps, encodings.STEPS)
    interval = encodings.smallest(intervals, encodings.INTERVALS)
    records = _File("records", {"step": steps, "interval": interval}, DIGITS[0].name)
    files: dict[str, _File] = {}
    for metric in sorted(curves.values):
        if metric in curves.missing:
            measured = _measured_only(curves, metric, trials)
        else:
            decimals = encodings.decimals(curves.values[metric])
            measured = _Measured(metric, curves, trials, intervals, is_first, decimals)
        name = measured.encoding().name
        if name not in files:
            files[name] = _File("measurements", {"step": steps}, name)
        files[name].add(metric, measured.columns(slice(None)))
        direction = metric_named(metric).direction
        if direction is not None:
            rows = np.flatnonzero(record_rows(measured.values, measured.curves.offsets, direction))
            interval_column = pa.array(measured.intervals[rows], mask=measured.is_first[rows])
            records.add(metric, measured.columns(rows) | {"interval": interval_column})
    if not files:
        files[""] = _File("measurements", {"step": steps}, DIGITS[0].name)
    return [file.finish(store, study) for file in (*files.values(), records)]


def record_rows(values: Floats, offsets: Integers, direction: str) -> Flags:
    """Return which rows are records.

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
    starts = offsets[:-1][np.diff(offsets) > 0]
    best_before[starts] = np.inf
    for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        if stop - start > 1:
            np.minimum.accumulate(candidates[start : stop - 1], out=best_before[start + 1 : stop])
    return candidates < best_before


def intervals_of(steps: Integers, offsets: Integers) -> tuple[Integers, Flags]:
    """Return the steps since the row before in the same trial, and the rows that have none (there the number is 0)."""
    intervals = np.zeros_like(steps)
    np.subtract(steps[1:], steps[:-1], out=intervals[1:])
    first = np.zeros(len(steps), np.bool_)
    first[offsets[:-1][np.diff(offsets) > 0]] = True
    intervals[first] = 0
    return intervals, first


@dataclass(frozen=True)
class _Measured:
    """The measurements of one metric: the curves reduced to where it was measured.

    trials: the trial of each row. intervals: steps since the same trial's row before, nothing where is_first.
    """

    metric: str
    curves: Curves
    trials: Integers
    intervals: Integers
    is_first: Flags
    decimals: Decimals | None

    @property
    def values(self) -> Floats:
        return self.curves.values[self.metric]

    def encoding(self) -> Encoding:
        """Return the encoding of its digits, or of its values where they are no decimals."""
        column, candidates = (self.decimals.digits, DIGITS) if self.decimals is not None else (self.values, VALUES)
        return encodings.for_numbers(column, *candidates, LARGEST_ROW_GROUP)

    def columns(self, rows: Integers | slice) -> dict[str, pa.Array]:
        """Return the columns that measurements and records have in common, for some of the rows."""
        columns = {
            "trial_id": pa.array(self.trials[rows]),
            "step": pa.array(self.curves.steps[rows]),
            **self._numbers(rows),
        }
        if self.curves.elapsed_s is not None:
            elapsed = self.curves.elapsed_s[rows]
            columns["elapsed_s"] = pa.array(elapsed, mask=np.isnan(elapsed))
        return columns

    def _numbers(self, rows: Integers | slice) -> dict[str, pa.Array]:
        """The columns that say the values: digits and divisor where those do, else the values themselves."""
        if self.decimals is None:
            return {"value": pa.array(self.values[rows])}
        digits, divisor = self.decimals.digits[rows], self.decimals.divisor[rows]
        if self.decimals.is_exact is None:
            return {"digits": pa.array(digits), "divisor": pa.array(divisor)}
        is_exact = self.decimals.is_exact[rows]
        return {
            "digits": pa.array(digits, mask=~is_exact),
            "divisor": pa.array(divisor, mask=~is_exact),
            "value": pa.array(self.values[rows], mask=is_exact),
        }


def _measured_only(curves: Curves, metric: str, trials: Integers) -> _Measured:
    """The rows at which a metric was measured that is missing in others."""
    keep = ~curves.missing[metric]
    offsets = offsets_of(keep)[curves.offsets]
    steps, values = curves.steps[keep], curves.values[metric][keep]
    elapsed = curves.elapsed_s[keep] if curves.elapsed_s is not None else None
    measured = Curves(offsets, steps, {metric: values}, {}, elapsed)
    return _Measured(metric, measured, trials[keep], *intervals_of(steps, offsets), encodings.decimals(values))


class _File:
    """A data file while it is written."""

    def __init__(self, table: str, chosen: dict[str, Encoding], numbers: str) -> None:
        """numbers: the encoding of digits and values."""
        self._table = table
        self._n_rows = 0
        self._buffer = pa.BufferOutputStream()
        digits, values = (next(one for one in known if one.name == numbers) for known in (DIGITS, VALUES))
        self._writer = pq.ParquetWriter(
            self._buffer,
            _SCHEMAS[table],
            write_statistics=["metric", "trial_id"],
            write_batch_size=_VALUES_AT_ONCE,
            **encodings.options(_ENCODINGS | {"digits": digits, "value": values} | chosen),
        )

    def add(self, metric: str, columns: dict[str, pa.Array]) -> None:
        """Append rows of one metric, in row groups of their own; columns that aren't there are null."""
        n_rows = len(columns["step"])
        if not n_rows:
            return
        constant = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, np.int32)), pa.array([metric]))
        schema = _SCHEMAS[self._table]
        given = {"metric": constant} | columns
        arrays = [given[field.name] if field.name in given else pa.nulls(n_rows, field.type) for field in schema]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=LARGEST_ROW_GROUP)
        self._n_rows += n_rows

    def finish(self, store: Store, study: Study) -> Written:
        """Put the file in its place."""
        self._writer.close()
        data = self._buffer.getvalue()
        return Written.of(keep(store, self._table, study, data, self._n_rows), self._writer.writer.metadata)
