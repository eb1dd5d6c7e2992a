"""Reading measurements of a study from its Parquet files: only the row groups of the metric and trials asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schema.errors import LakeBroken
from schema.stored_values import stored_columns, with_values

COLUMNS = ("trial_id", "step", "value", "elapsed_s")
_MOST_OPEN = 512


@dataclass(frozen=True)
class _RowGroup:
    """What a row group holds, by its statistics; None where they don't say."""

    first_metric: str | None
    last_metric: str | None
    first_trial: int | None
    last_trial: int | None

    def may_hold(self, metric: str, trials: Sequence[int] | None) -> bool:
        if (self.first_metric or metric) > metric or (self.last_metric or metric) < metric:
            return False
        if trials is None or self.first_trial is None or self.last_trial is None:
            return True
        return any(self.first_trial <= trial <= self.last_trial for trial in trials)

    def is_all_of(self, metric: str) -> bool:
        return self.first_metric == self.last_metric == metric


def measurements(
    files: Sequence[str], metric: str, trials: Sequence[int] | None, columns: Sequence[str] = COLUMNS
) -> Iterator[pa.Table]:
    """The evaluations of one metric by trial and step, a row group at a time.

    files: of one study; each is sorted by metric, trial and step. trials: by number, ascending; None for all.
    columns: of COLUMNS, trial_id among them.
    Raises LakeBroken when a file is missing or can't be read.
    """
    for path in files:
        try:
            yield from _of_file(path, metric, trials, columns)
        except (OSError, pa.ArrowException) as error:
            raise LakeBroken(f"the data file {path} can't be read ({error}): restore it") from None


def _of_file(path: str, metric: str, trials: Sequence[int] | None, columns: Sequence[str]) -> Iterator[pa.Table]:
    metadata, groups = _opened(path)
    wanted = [number for number, group in enumerate(groups) if group.may_hold(metric, trials)]
    if not wanted:
        return
    with pq.ParquetFile(path, metadata=metadata, memory_map=True) as file:
        for number in wanted:
            is_all = groups[number].is_all_of(metric)
            names = [*stored_columns(columns), *([] if is_all else ["metric"])]
            rows = file.read_row_group(number, names, use_threads=False)
            if not is_all:
                rows = rows.filter(pc.equal(rows["metric"], metric))
            rows = rows if trials is None else _of_trials(rows, trials)
            yield with_values(rows).select(columns)


def _of_trials(rows: pa.Table, trials: Sequence[int]) -> pa.Table:
    """The rows of these trials, which lie together each."""
    numbers = rows["trial_id"].to_numpy()
    starts, ends = (np.searchsorted(numbers, trials, side) for side in ("left", "right"))
    parts = [rows.slice(start, end - start) for start, end in zip(starts, ends, strict=True)]
    return pa.concat_tables(parts) if parts else rows.slice(0, 0)


@lru_cache(_MOST_OPEN)
def _opened(path: str) -> tuple[pq.FileMetaData, tuple[_RowGroup, ...]]:
    """The metadata of a file, which never changes once it is published."""
    metadata = pq.read_metadata(path)
    names = metadata.schema.names
    at_metric, at_trial = names.index("metric"), names.index("trial_id")
    groups = []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        found = (group.column(at).statistics for at in (at_metric, at_trial))
        bounds = [(s.min, s.max) if s is not None and s.has_min_max else (None, None) for s in found]
        groups.append(_RowGroup(*chain.from_iterable(bounds)))
    return metadata, tuple(groups)
