"""The rows of a list: filtered, sorted, counted, and cut into a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
from duckdb import ColumnExpression

from losslake.output.answer import Answer, begun
from losslake.questions.errors import BadParameter
from losslake.questions.lists.filters import Condition, expression
from losslake.questions.lists.listing import Listing
from losslake.questions.lists.paging import Cursor, SortKey, after, digest_of

ROWS_AT_A_TIME = 8_192


@dataclass(frozen=True)
class ListQuestion:
    """Which rows of a list, in which order, and how much of them.

    conditions: all have to hold. sort: before the list's own key. fields: columns to give; none for all.
    limit: rows on a page; None for all rows. cursor: where the page begins.
    """

    listing: Listing
    conditions: tuple[Condition, ...] = ()
    sort: tuple[SortKey, ...] = ()
    fields: tuple[str, ...] = ()
    limit: int | None = None
    cursor: str | None = None

    @property
    def keys(self) -> tuple[SortKey, ...]:
        """What rows are sorted by in the end, so that no two are equal."""
        named = {key.column for key in self.sort}
        return (*self.sort, *(SortKey(name) for name in self.listing.key if name not in named))

    @property
    def digest(self) -> str:
        """Tells this question from others, whatever the page."""
        return digest_of(self.listing.name, self.conditions, self.keys)


def list_rows(
    relation: duckdb.DuckDBPyRelation, question: ListQuestion, facts: Mapping[str, Any], release: int
) -> Answer:
    """Answer from the list's rows; raises BadParameter for a cursor of another question."""
    for condition in question.conditions:
        relation = relation.filter(expression(condition))
    total = int(relation.aggregate("count(*)").fetchall()[0][0])
    if question.cursor is not None:
        relation = _behind(relation, question, Cursor.read(question.cursor))
    ordered = relation.sort(*(key.order for key in question.keys))
    shape = question.listing.shape.only(question.fields or question.listing.shape.schema.names)
    if question.limit is None:
        return Answer(facts, shape.schema, begun(_batches(ordered, shape.schema)), total)
    page = ordered.limit(question.limit + 1).to_arrow_table()
    rows = page.slice(0, question.limit)
    batches = rows.select(shape.schema.names).cast(shape.schema).to_batches()
    return Answer(facts, shape.schema, iter(batches), total, _next(question, page, release))


def _behind(relation: duckdb.DuckDBPyRelation, question: ListQuestion, cursor: Cursor) -> duckdb.DuckDBPyRelation:
    if cursor.question != question.digest:
        raise BadParameter("cursor", "this cursor is of another list, filter or order: take all of them from its link")
    columns = [question.listing.columns[key.column] for key in question.keys]
    if not cursor.fits(columns):
        raise BadParameter("cursor", "this cursor was altered: take it from the answer before, as it is")
    behind = after(question.keys, cursor.values)
    return relation.limit(0) if behind is None else relation.filter(behind)


def _next(question: ListQuestion, page: pa.Table, release: int) -> str | None:
    """The cursor to the page after this one; None if this is the last."""
    if question.limit is None or page.num_rows <= question.limit:
        return None
    last = page.slice(question.limit - 1, 1).select([key.column for key in question.keys]).to_pylist()[0]
    return Cursor(release, question.digest, tuple(last[key.column] for key in question.keys)).text()


def _batches(relation: duckdb.DuckDBPyRelation, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    columns = [ColumnExpression(name) for name in schema.names]
    for batch in relation.select(*columns).to_arrow_reader(ROWS_AT_A_TIME):
        yield batch.cast(schema)


def checked_columns(
    listing: Listing, parameter: str, names: Sequence[str], known: Sequence[str] | None = None
) -> tuple[str, ...]:
    """The names, each once, all of them columns of the list, or of those in `known`; raises BadParameter."""
    known = list(listing.columns) if known is None else known
    for name in names:
        if name not in known:
            can = "can't be sorted by" if name in listing.columns else "has no column"
            raise BadParameter(parameter, f"{listing.name} {can} '{name}': give some of {', '.join(known)}")
    return tuple(dict.fromkeys(names))
