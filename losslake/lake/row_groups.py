"""Row groups of data files: which hold a metric, and their rows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from losslake.lake.stored_values import stored_columns


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
