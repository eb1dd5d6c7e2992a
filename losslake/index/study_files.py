"""Measurements and records of a study, read from its Parquet files: only the row groups of the metric and trials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.data_files import broken, stored_columns, with_values
from losslake.lake.store.store import DataFile, Store
from losslake_schema.errors import LakeBroken
from losslake_schema.reached import NO_STEP, Floats, Integers
from losslake_schema.tables import TABLES

COLUMNS = ("trial_id", "step", "value", "elapsed_s")
_OF_RECORDS = ("trial_id", "step", "interval", "value", "elapsed_s")
_NO_RECORDS = pa.schema([TABLES["records"].field(name) for name in _OF_RECORDS]).empty_table()
_MOST_OPEN = 512


@dataclass(frozen=True)
class StudyRecords:
    """The records of one metric in one study, by trial and step.

    previous_step: NO_STEP for none. elapsed_s: seconds since the start of training, NaN for unknown.
    """

    trial_id: Integers
    step: Integers
    previous_step: Integers
    value: Floats
    elapsed_s: Floats


def study_records(store: Store, files: Sequence[DataFile], metric: str) -> StudyRecords:
    """Read the records of a metric from the files of one study.

    Raises LakeBroken when a file is missing or can't be read.
    """
    parts: list[pa.Table] = []
    for file in files:
        try:
            parts += _rows(store, file, metric, None, _OF_RECORDS)
        except FileNotFoundError:
            raise broken(store, file.path, "is missing") from None
        except (OSError, pa.ArrowException) as error:
            raise broken(store, file.path, f"can't be read ({error})") from None
    rows = pa.concat_tables(parts) if parts else _NO_RECORDS
    integers = (rows["trial_id"], rows["step"], pc.subtract(rows["step"], rows["interval"]).fill_null(NO_STEP))
    trial_id, step, previous_step = (np.asarray(column.to_numpy(), np.int64) for column in integers)
    value, elapsed_s = (np.asarray(rows[name].to_numpy(), np.float64) for name in ("value", "elapsed_s"))
    if (np.diff(trial_id) >= 0).all():
        return StudyRecords(trial_id, step, previous_step, value, elapsed_s)
    # A trial lies in one file, in the order of steps; the files of a study follow each other in any order.
    order = np.argsort(trial_id, kind="stable")
    return StudyRecords(trial_id[order], step[order], previous_step[order], value[order], elapsed_s[order])


def measurements(
    store: Store,
    files: Sequence[DataFile],
    metric: str,
    trials: Sequence[int] | None,
    columns: Sequence[str] = COLUMNS,
) -> Iterator[pa.Table]:
    """Read the evaluations of one metric by trial and step, a row group at a time.

    files: of one study; each is sorted by metric, trial and step. trials: by number, ascending; None for all.
    columns: of COLUMNS, trial_id among them.
    Raises LakeBroken when a file is missing or can't be read.
    """
    for file in files:
        try:
            yield from _rows(store, file, metric, trials, columns)
        except (OSError, pa.ArrowException) as error:
            what = f"the data file {store.name_of(file.path)} can't be read ({error})"
            raise LakeBroken(f"{what}: restore it") from None


def _rows(
    store: Store, stored: DataFile, metric: str, trials: Sequence[int] | None, columns: Sequence[str]
) -> Iterator[pa.Table]:
    metadata, groups = _opened(store, stored.path, stored.bytes)
    wanted = [group for group in groups if group.may_hold(metric, trials)]
    if not wanted:
        return
    with pq.ParquetFile(store.open(stored.path, stored.bytes), metadata=metadata) as file:
        for group in wanted:
            rows = group.rows_of(file, metric, columns)
            yield with_values(rows if trials is None else _of_trials(rows, trials)).select(columns)


def _of_trials(rows: pa.Table, trials: Sequence[int]) -> pa.Table:
    """The rows of these trials, which lie together each."""
    numbers = rows["trial_id"].to_numpy()
    starts, ends = (np.searchsorted(numbers, trials, side) for side in ("left", "right"))
    parts = [rows.slice(start, end - start) for start, end in zip(starts, ends, strict=True)]
    return pa.concat_tables(parts) if parts else rows.slice(0, 0)


@dataclass(frozen=True)
class _RowGroup:
    """The least and greatest metric and trial of a row group, by its statistics; None where they don't say."""

    number: int
    metrics: tuple[str, str] | None
    trials: tuple[int, int] | None

    def may_hold(self, metric: str, trials: Sequence[int] | None) -> bool:
        """Return whether rows of the metric, and of any of these trials, can be in it."""
        if self.metrics is not None and not self.metrics[0] <= metric <= self.metrics[1]:
            return False
        if trials is None or self.trials is None:
            return True
        return any(self.trials[0] <= trial <= self.trials[1] for trial in trials)

    def rows_of(self, file: pq.ParquetFile, metric: str, columns: Sequence[str]) -> pa.Table:
        """Return its rows of a metric with these columns, values as they are stored; file: the one it is in."""
        is_all = self.metrics == (metric, metric)
        names = [*stored_columns(columns), *([] if is_all else ["metric"])]
        rows = file.read_row_group(self.number, names, use_threads=False)
        return rows if is_all else rows.filter(pc.equal(rows["metric"], metric))


@lru_cache(_MOST_OPEN)
def _opened(store: Store, path: str, size: int) -> tuple[pq.FileMetaData, tuple[_RowGroup, ...]]:
    """The metadata of a file, which never changes once it is published."""
    metadata = pq.read_metadata(store.open(path, size))
    places = [metadata.schema.names.index(name) for name in ("metric", "trial_id")]
    groups = []
    for number in range(metadata.num_row_groups):
        statistics = [metadata.row_group(number).column(place).statistics for place in places]
        bounds = [(s.min, s.max) if s is not None and s.has_min_max else None for s in statistics]
        groups.append(_RowGroup(number, *bounds))
    return metadata, tuple(groups)
