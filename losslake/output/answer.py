"""The answer to a question: facts about the whole answer, and rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Answer:
    """The answer to a question.

    facts: properties of the whole answer by name, for example {"release": 3}; in JSON the fields before the rows.
    schema: of the rows. batches: the rows, which can be read once; each batch has this schema.
    total: the number of rows of all pages; None for an answer without pages.
    next_cursor: of the next page; None on the last one. rows_name: of the field with the rows in JSON.
    """

    facts: Mapping[str, Any]
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    total: int | None = None
    next_cursor: str | None = None
    rows_name: str = "rows"

    def table(self) -> pa.Table:
        """Return all rows; consumes the batches."""
        return pa.Table.from_batches(self.batches, self.schema)


def prefetched(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the batches after fetching the first, so that its errors are raised before anything is sent."""
    rest = iter(batches)
    first = next(rest, None)
    return iter(()) if first is None else chain([first], rest)
