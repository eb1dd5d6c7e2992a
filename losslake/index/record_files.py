"""Reading records of a study from its Parquet files: only the row groups of the metric asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.manifest import DataFile
from losslake.lake.row_groups import row_groups
from losslake.lake.store.store import Store
from losslake.lake.stored_values import with_values
from losslake_schema.errors import LakeBroken

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
