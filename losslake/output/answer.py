"""An answer: facts that hold for all of it, and rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Answer:
    """What a question is answered with.

    facts: by name, what holds for the whole answer, for example {"release": 3}; JSON's fields before the rows.
    schema: of the rows. batches: the rows, to be taken once; each batch has this schema.
    total: rows that the question has in all, of which these may be a page; None where there are no pages.
    next_cursor: where the next page begins; None on the last one. rows_name: of JSON's field with the rows.
    """

    facts: Mapping[str, Any]
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    total: int | None = None
    next_cursor: str | None = None
    rows_name: str = "rows"

    def table(self) -> pa.Table:
        """All rows at once; takes the batches."""
        return pa.Table.from_batches(self.batches, self.schema)


def begun(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches, the first of which is fetched now, so that its errors come before anything is sent."""
    rest = iter(batches)
    first = next(rest, None)
    return iter(()) if first is None else chain([first], rest)
