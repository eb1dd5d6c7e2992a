"""The least and greatest values of the columns by which clients select data files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

RANGED = {"metric": pa.string(), "trial_id": pa.int64(), "step": pa.int64(), "value": pa.float64()}
RANGES = pa.schema([(f"{name}_{end}", kind) for name, kind in RANGED.items() for end in ("min", "max")])
Row = tuple[Any, ...]
"""The values of the columns of RANGES. None for a column that the file lacks, or that holds only NaN."""


class Ranges:
    """The ranges of a file's columns, extended while its rows are written or read. NaN is ignored."""

    def __init__(self) -> None:
        self._bounds: dict[str, tuple[Any, ...]] = {}

    def extend(self, name: str, *values: Any) -> None:
        """Extend the range of a column by values that aren't NaN."""
        values = (*self._bounds.get(name, ()), *values)
        self._bounds[name] = (min(values), max(values))

    def extend_by(self, name: str, column: pa.Array | pa.ChunkedArray) -> None:
        """Extend the range of a column by all of its values; ignore columns that have none."""
        column = column.drop_null() if column.null_count else column
        if name not in RANGED or not len(column):
            return
        if RANGED[name] == pa.string():
            limits = pc.min_max(column)
            self.extend(name, limits["min"].as_py(), limits["max"].as_py())
            return
        numbers = column.to_numpy()
        least = np.fmin.reduce(numbers)  # NaN if all are
        if not np.isnan(least):
            self.extend(name, least.item(), np.fmax.reduce(numbers).item())

    @property
    def row(self) -> Row:
        """The ranges."""
        return tuple(bound for name in RANGED for bound in self._bounds.get(name, (None, None)))


def ranges_of(table: pa.Table) -> Row:
    """Return the ranges of the columns of a table."""
    ranges = Ranges()
    for name in RANGED.keys() & set(table.column_names):
        ranges.extend_by(name, table[name])
    return ranges.row
