"""The measurements and records of a study, read from only the row groups of the requested metric and trials."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from losslake.lake.data_files import damaged_file
from losslake.lake.store.store import DataFile, Store
from losslake_schema.reached import NO_STEP, Floats, Integers
from losslake_schema.tables import TABLES

COLUMNS = ("trial_id", "step", "value", "elapsed_s")
_OF_RECORDS = ("trial_id", "step", "previous_step", "value", "elapsed_s")
_SCHEMA = pa.schema([TABLES["records"].field(name) for name in _OF_RECORDS])
_MOST_OPEN = 512
# The bounds of the row groups of a file take much less memory than its metadata.
_MOST_KNOWN = 4096


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


def study_records(store: Store, files: Sequence[DataFile], metrics: Iterable[str]) -> Iterator[StudyRecords]:
    """Yield the records of each metric from the files of one study, which stay open until the last metric.

    Raises LakeBroken if a file is missing or can't be read.
    """
    with ExitStack() as stack:
        opened = [stack.enter_context(_reading(store, file)) for file in files]
        for metric in metrics:
            yield _records([rows for file in opened for rows in file.rows(metric, None, _OF_RECORDS)])


def _records(parts: list[pa.Table]) -> StudyRecords:
    rows = pa.concat_tables(parts) if parts else _SCHEMA.empty_table()
    integers = (rows["trial_id"], rows["step"], rows["previous_step"].fill_null(NO_STEP))
    trial_id, step, previous_step = (np.asarray(column.to_numpy(), np.int64) for column in integers)
    value, elapsed_s = (np.asarray(rows[name].to_numpy(), np.float64) for name in ("value", "elapsed_s"))
    if (np.diff(trial_id) >= 0).all():
        return StudyRecords(trial_id, step, previous_step, value, elapsed_s)
    # A trial is in one file, sorted by step; the files of a study are in any order.
    order = np.argsort(trial_id, kind="stable")
    return StudyRecords(trial_id[order], step[order], previous_step[order], value[order], elapsed_s[order])


def measurements(
    store: Store, files: Sequence[DataFile], metric: str, trials: Sequence[int] | None, columns: Sequence[str] = COLUMNS
) -> Iterator[pa.Table]:
    """Yield the evaluations of one metric by trial and step, a row group at a time.

    files: of one study, each sorted by metric, trial and step. trials: trial_ids, ascending; None for all. columns: a
    subset of COLUMNS with trial_id. Raises LakeBroken if a file is missing or can't be read.
    """
    for file in files:
        with _reading(store, file) as opened:
            yield from opened.rows(metric, trials, columns)


def last_evaluations(store: Store, files: Sequence[DataFile]) -> Iterator[tuple[str, Integers, Integers]]:
    """Yield a metric, trials, ascending, and the last step at which each was evaluated in it, from files of one study.

    A metric or trial may come again, for a step further on. Raises LakeBroken if a file is missing or can't be read.
    """
    for file in files:
        with _reading(store, file) as opened:
            for group in opened.groups:
                yield from group.last_evaluations(opened.file)


@dataclass(frozen=True)
class _OpenFile:
    """A data file, open for reading."""

    open_file: Callable[[], pq.ParquetFile]
    groups: Sequence[_RowGroup]

    @cached_property
    def file(self) -> pq.ParquetFile:
        """The file, opened when a row group of it is read first."""
        return self.open_file()

    def rows(self, metric: str, trials: Sequence[int] | None, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the rows of a metric by row group; trials: trial_ids, ascending; None for all."""
        for group in self.groups:
            if group.may_hold(metric, trials):
                rows = group.rows_of(self.file, metric, columns)
                yield (rows if trials is None else _of_trials(rows, trials)).select(columns)


@contextmanager
def _reading(store: Store, stored: DataFile) -> Iterator[_OpenFile]:
    """Open a data file; raise LakeBroken for any error while it is read."""
    try:
        groups = _row_groups(store, stored.path, stored.bytes)
        with ExitStack() as stack:

            def open_file() -> pq.ParquetFile:
                metadata = _metadata(store, stored.path, stored.bytes)
                return stack.enter_context(pq.ParquetFile(store.open(stored.path, stored.bytes), metadata=metadata))

            yield _OpenFile(open_file, groups)
    except FileNotFoundError:
        raise damaged_file(store, stored.path, "is missing") from None
    except (OSError, pa.ArrowException) as error:
        raise damaged_file(store, stored.path, f"can't be read ({error})") from None


def _of_trials(rows: pa.Table, trials: Sequence[int]) -> pa.Table:
    """Return the rows of these trials; rows are sorted by trial."""
    numbers = rows["trial_id"].to_numpy()
    starts, ends = (np.searchsorted(numbers, trials, side) for side in ("left", "right"))
    parts = [rows.slice(start, end - start) for start, end in zip(starts, ends, strict=True)]
    return pa.concat_tables(parts) if parts else rows.slice(0, 0)


@dataclass(frozen=True)
class _RowGroup:
    """The least and greatest metric and trial of a row group, from its statistics; None where these are missing."""

    number: int
    metrics: tuple[str, str] | None
    trials: tuple[int, int] | None

    def may_hold(self, metric: str, trials: Sequence[int] | None) -> bool:
        """Return True if the row group may contain rows of the metric and of any of these trials."""
        if self.metrics is not None and not self.metrics[0] <= metric <= self.metrics[1]:
            return False
        if trials is None or self.trials is None:
            return True
        return any(self.trials[0] <= trial <= self.trials[1] for trial in trials)

    def rows_of(self, file: pq.ParquetFile, metric: str, columns: Sequence[str]) -> pa.Table:
        """Return the rows of a metric with these columns; file: the file of the row group."""
        import pyarrow.compute as pc  # here, since commands do without it: it takes 0.02 s to import

        is_all = self.metrics == (metric, metric)
        names = [*columns, *([] if is_all else ["metric"])]
        rows = file.read_row_group(self.number, names, use_threads=False)
        return rows if is_all else rows.filter(pc.equal(rows["metric"], metric))

    def last_evaluations(self, file: pq.ParquetFile) -> Iterator[tuple[str, Integers, Integers]]:
        """Yield each metric of the row group with its trials, and the last step of each in it."""
        rows = file.read_row_group(self.number, ["metric", "trial_id", "step"], use_threads=False)
        trial_id, step = (np.asarray(rows[name].to_numpy(), np.int64) for name in ("trial_id", "step"))
        names = rows["metric"].combine_chunks().dictionary_encode()
        metric = names.indices.to_numpy()
        # Rows are sorted by metric, trial and step.
        last = np.flatnonzero(np.append((np.diff(metric) != 0) | (np.diff(trial_id) != 0), len(step) > 0))
        for of_metric in np.split(last, np.flatnonzero(np.diff(metric[last])) + 1):
            if len(of_metric):
                yield names.dictionary[metric[of_metric[0]]].as_py(), trial_id[of_metric], step[of_metric]


@lru_cache(_MOST_KNOWN)
def _row_groups(store: Store, path: str, size: int) -> tuple[_RowGroup, ...]:
    """Return the row groups of a file, cached: published files never change."""
    metadata = _metadata(store, path, size)
    places = [metadata.schema.names.index(name) for name in ("metric", "trial_id")]
    groups = []
    for number in range(metadata.num_row_groups):
        statistics = [metadata.row_group(number).column(place).statistics for place in places]
        bounds = [(s.min, s.max) if s is not None and s.has_min_max else None for s in statistics]
        groups.append(_RowGroup(number, *bounds))
    return tuple(groups)


@lru_cache(_MOST_OPEN)
def _metadata(store: Store, path: str, size: int) -> pq.FileMetaData:
    return pq.read_metadata(store.open(path, size))
