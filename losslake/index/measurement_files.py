"""Reading measurements of a study from its Parquet files: only the row groups of the metric and trials asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from losslake.lake.manifest import DataFile
from losslake.lake.row_groups import RowGroup, row_groups
from losslake.lake.store.store import Store
from losslake.lake.stored_values import with_values
from losslake_schema.errors import LakeBroken

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
