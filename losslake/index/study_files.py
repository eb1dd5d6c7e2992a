"""Reading records of a study from its Parquet files: only the row groups of the metric asked for.

Row groups of data files: which hold a metric, and their rows of it.
Reading measurements of a study from its Parquet files: only the row groups of the metric and trials asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.data_files import stored_columns, with_values
from losslake.lake.store.store import DataFile, Store
from losslake_schema.errors import LakeBroken


@dataclass(frozen=True)
class RowGroup:
    """What a row group holds, by its statistics; None where they don't say."""

    number: int
    first_metric: str | None
    last_metric: str | None
    first_trial: int | None
    last_trial: int | None

    def may_hold(self, metric: str, trials: Sequence[int] | None = None) -> bool:
        """Whether rows of the metric, and of any of these trials, can be in it."""
        if (self.first_metric or metric) > metric or (self.last_metric or metric) < metric:
            return False
        if trials is None or self.first_trial is None or self.last_trial is None:
            return True
        return any(self.first_trial <= trial <= self.last_trial for trial in trials)

    def rows_of(self, file: pq.ParquetFile, metric: str, columns: Sequence[str]) -> pa.Table:
        """Its rows of a metric with these columns, values as they are stored; file: the one it is in."""
        is_all = self.first_metric == self.last_metric == metric
        names = [*stored_columns(columns), *([] if is_all else ["metric"])]
        rows = file.read_row_group(self.number, names, use_threads=False)
        return rows if is_all else rows.filter(pc.equal(rows["metric"], metric))


def row_groups(metadata: pq.FileMetaData) -> tuple[RowGroup, ...]:
    """The row groups of a data file of measurements or records."""
    places = [metadata.schema.names.index(name) for name in ("metric", "trial_id")]
    groups = []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        found = (group.column(place).statistics for place in places)
        bounds = [(s.min, s.max) if s is not None and s.has_min_max else (None, None) for s in found]
        groups.append(RowGroup(number, *chain.from_iterable(bounds)))
    return tuple(groups)


_COLUMNS = ("trial_id", "step", "interval", "value", "elapsed_s")


@dataclass(frozen=True)
class StudyRecords:
    """The records of one metric in one study, by trial and step.

    previous_step: -1 for none. elapsed_s: seconds since the start of training, NaN for unknown.
    """

    trial_id: npt.NDArray[np.int64]
    step: npt.NDArray[np.int64]
    previous_step: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]
    elapsed_s: npt.NDArray[np.float64]


class RecordFiles:
    """The files of one study, open; raises LakeBroken when one is missing or can't be read.

    To be used in a `with` statement.
    """

    def __init__(self, store: Store, files: Sequence[DataFile]) -> None:
        self._store = store
        self._stored = files
        self._files: list[pq.ParquetFile] = []
        self._open = ExitStack()

    def __enter__(self) -> RecordFiles:
        try:
            for stored in self._stored:
                opened = self._store.open(stored.path, stored.bytes)
                self._files.append(self._open.enter_context(pq.ParquetFile(opened)))
        except (OSError, pa.ArrowException) as error:
            self._open.close()
            raise _broken(self._store.name_of(stored.path), error) from None
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def read(self, metric: str) -> StudyRecords:
        """The records of a metric."""
        parts = [
            part
            for file, stored in zip(self._files, self._stored, strict=True)
            for part in _of(file, self._store.name_of(stored.path), metric)
        ]
        rows = pa.concat_tables(parts) if parts else pa.table({name: pa.array([], _kind(name)) for name in _COLUMNS})
        trial_id = _integers(rows["trial_id"])
        # A trial lies in one file, in the order of steps; the files of a study follow each other in any order.
        order = None if (np.diff(trial_id) >= 0).all() else np.argsort(trial_id, kind="stable")
        previous_step = pc.subtract(rows["step"], rows["interval"]).fill_null(-1)
        found = [trial_id, _integers(rows["step"]), _integers(previous_step)]
        values = [_floats(rows["value"]), _floats(rows["elapsed_s"])]
        if order is not None:
            found, values = [array[order] for array in found], [array[order] for array in values]
        return StudyRecords(found[0], found[1], found[2], values[0], values[1])


def _of(file: pq.ParquetFile, path: str, metric: str) -> Iterator[pa.Table]:
    try:
        for group in row_groups(file.metadata):
            if group.may_hold(metric):
                yield with_values(group.rows_of(file, metric, _COLUMNS)).select(_COLUMNS)
    except (OSError, pa.ArrowException) as error:
        raise _broken(path, error) from None


def _broken(path: str, error: Exception) -> LakeBroken:
    if isinstance(error, FileNotFoundError):
        return LakeBroken(f"the data file {path} is missing: restore it, or use another release")
    return LakeBroken(f"the data file {path} can't be read ({error}): restore it, or use another release")


def _kind(name: str) -> pa.DataType:
    return pa.float64() if name in ("value", "elapsed_s") else pa.int64()


def _integers(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    return np.asarray(column.to_numpy(), np.int64)


def _floats(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    return np.asarray(column.to_numpy(), np.float64)


COLUMNS = ("trial_id", "step", "value", "elapsed_s")
_MOST_OPEN = 512


def measurements(
    store: Store,
    files: Sequence[DataFile],
    metric: str,
    trials: Sequence[int] | None,
    columns: Sequence[str] = COLUMNS,
) -> Iterator[pa.Table]:
    """The evaluations of one metric by trial and step, a row group at a time.

    files: of one study; each is sorted by metric, trial and step. trials: by number, ascending; None for all.
    columns: of COLUMNS, trial_id among them.
    Raises LakeBroken when a file is missing or can't be read.
    """
    for file in files:
        try:
            yield from _of_file(store, file, metric, trials, columns)
        except (OSError, pa.ArrowException) as error:
            what = f"the data file {store.name_of(file.path)} can't be read ({error})"
            raise LakeBroken(f"{what}: restore it") from None


def _of_file(
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


@lru_cache(_MOST_OPEN)
def _opened(store: Store, path: str, size: int) -> tuple[pq.FileMetaData, tuple[RowGroup, ...]]:
    """The metadata of a file, which never changes once it is published."""
    metadata = pq.read_metadata(store.open(path, size))
    return metadata, row_groups(metadata)
