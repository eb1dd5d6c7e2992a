"""The records of a study, read from only the row groups of a metric, and errors of data files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from losslake.lake.data_files import damaged_file
from losslake.lake.store.store import DataFile, Store
from losslake_schema.reached import NO_STEP, Floats, Integers
from losslake_schema.tables import TABLES

_OF_RECORDS = ("trial_id", "step", "previous_step", "value", "elapsed_s")
_SCHEMA = pa.schema([TABLES["records"].field(name) for name in _OF_RECORDS])


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
    opened = [_RecordFile(store, file) for file in files]
    for metric in metrics:
        yield _records([rows for file in opened for rows in file.rows(metric)])


@contextmanager
def reading(store: Store, path: str) -> Iterator[None]:
    """Raise LakeBroken for any error while a data file is read."""
    try:
        yield
    except FileNotFoundError:
        raise damaged_file(store, path, "is missing") from None
    except (OSError, pa.ArrowException) as error:
        raise damaged_file(store, path, f"can't be read ({error})") from None


class _RecordFile:
    """An open data file of records."""

    def __init__(self, store: Store, file: DataFile) -> None:
        """Open the file and read the least and greatest metric of each row group, None without statistics."""
        self._store, self._path = store, file.path
        with reading(store, file.path):
            self._file = pq.ParquetFile(store.open(file.path, file.bytes), pre_buffer=False)
        metadata = self._file.metadata
        column = metadata.schema.names.index("metric")
        statistics = (metadata.row_group(group).column(column).statistics for group in range(metadata.num_row_groups))
        self._bounds = [(each.min, each.max) if each is not None and each.has_min_max else None for each in statistics]

    def rows(self, metric: str) -> Iterator[pa.Table]:
        """Yield the rows of a metric by row group."""
        for group, bounds in enumerate(self._bounds):
            if bounds is None or bounds[0] <= metric <= bounds[1]:
                import pyarrow.compute as pc  # here, since commands do without it: it takes 0.02 s to import

                is_all = bounds == (metric, metric)
                names = [*_OF_RECORDS, *([] if is_all else ["metric"])]
                with reading(self._store, self._path):
                    rows = self._file.read_row_group(group, names, use_threads=False)
                yield (rows if is_all else rows.filter(pc.equal(rows["metric"], metric))).select(_OF_RECORDS)


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
