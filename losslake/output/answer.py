"""The answer to a question: facts about the whole answer, and rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa

from losslake.output.columns import Rows

Part: TypeAlias = pa.RecordBatch | Rows
AnyPart = TypeVar("AnyPart", bound=Part)


@dataclass(frozen=True)
class Answer:
    """The answer to a question.

    facts: properties of the whole answer by name, for example {"release": 3}; in JSON the fields before the rows.
    schema: of the rows. parts: the rows, which can be read once; each part has this schema.
    total: the number of rows of all pages; None for an answer without pages.
    next_cursor: of the next page; None on the last one. rows_name: of the field with the rows in JSON.
    is_plain: True if all formats are known to have its types, and its columns distinct names, as declared rows do.
    """

    facts: Mapping[str, Any]
    schema: pa.Schema
    parts: Iterator[Part]
    total: int | None = None
    next_cursor: str | None = None
    rows_name: str = "rows"
    is_plain: bool = False

    @property
    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in Arrow; consumes the parts."""
        return (part.batch() if isinstance(part, Rows) else part for part in self.parts)

    def only(self, names: Sequence[str]) -> Answer:
        """Return the answer with these columns only, in the order of `names`."""
        schema = pa.schema([self.schema.field(name) for name in names], self.schema.metadata)
        parts = (part.only(names) if isinstance(part, Rows) else part.select(names) for part in self.parts)
        return replace(self, schema=schema, parts=parts)

    def table(self) -> pa.Table:
        """Return all rows; consumes the parts."""
        return pa.Table.from_batches(self.batches, self.schema)


def prefetched(parts: Iterable[AnyPart]) -> Iterator[AnyPart]:
    """Return the parts after fetching the first, so that its errors are raised before anything is sent."""
    rest = iter(parts)
    first = next(rest, None)
    return iter(()) if first is None else chain([first], rest)
