"""A list: the name and the columns of its rows, which are also its filters."""

from __future__ import annotations

from dataclasses import dataclass

from losslake.output.columns import Column, RowShape, row_shape
from losslake.output.rows import Row
from losslake.questions.declaration.shared_columns import SharedColumns


@dataclass(frozen=True, eq=False)
class Listing:
    """A list. key: the columns that identify a row, and its default order."""

    name: str
    row: type[Row]
    key: tuple[str, ...]
    doc: str

    @property
    def shape(self) -> RowShape:
        """The columns of its rows."""
        return row_shape(self.row, SharedColumns)

    @property
    def columns(self) -> dict[str, Column]:
        """The columns by name."""
        return self.shape.by_name
