"""The questions that list the contents of a lake: rows filtered, sorted, counted and paged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import duckdb
import pyarrow as pa
from duckdb import ColumnExpression
from pydantic import Field

from losslake.lake.lake import Lake
from losslake.lake.notices import read_notices
from losslake.output.answer import Answer, prefetched
from losslake.output.rows import shown
from losslake.questions.declaration.listing import Listing
from losslake.questions.declaration.parameters import (
    MOST_PLACES,
    WORKLOAD,
    PageParameters,
    ReleaseParameters,
    checked_fields,
)
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import ReleaseSummary, Summary
from losslake.questions.lists.filters import (
    Condition,
    Equal,
    Of,
    OfOneLog,
    Parameter,
    all_of,
    conditions,
    has_metaparameters,
)
from losslake.questions.lists.listings import LISTINGS, RELEASES, WITHDRAWN
from losslake.questions.lists.paging import Cursor, SortKey, after, altered_cursor, digest_of
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.parsed_names import parse_study, parse_workload
from losslake.questions.release.view import ReleaseView, sql
from losslake.questions.release.workload_words import words_of

JSON_PAGE = 1000
MOST_LETTERS = 200
ROWS_AT_A_TIME = 8_192


class ListParameters(ReleaseParameters, PageParameters):
    """The parameters of a list of a release."""


class PlacedListParameters(ListParameters):
    """The parameters of a list whose rows belong to workloads."""

    workload: Annotated[list[str], shown([WORKLOAD], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only rows of this workload: collection/dataset/model/optimizer; may be repeated."""


class WorkloadListParameters(PlacedListParameters):
    """The parameters of the list of workloads."""

    q: Annotated[str, shown("mlp nesterov", max_length=MOST_LETTERS)] = ""
    """Words that a workload must all have, in any spelling (resnet50 finds ResNet-50): in its names, display names,
    aliases, metrics and batch sizes, or in the rounds, organisations and systems of its trials."""


class TrialListParameters(PlacedListParameters):
    """The parameters of the list of trials."""

    study: Annotated[list[str], shown([f"{WORKLOAD}/64"], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only trials of this study: collection/dataset/model/optimizer/batch_size; may be repeated."""


_OWN_PARAMETERS: Mapping[str, type[ListParameters]] = {
    "workloads": WorkloadListParameters,
    "trials": TrialListParameters,
}


class PageSummary(Summary):
    """The size of the list, and its next page."""

    total: Annotated[int, shown(64, "rows")]
    """Rows that pass the filters, on all pages."""
    next_cursor: Annotated[str | None, shown("WzEsIjRmMjMiLFsiYnVuZGxlZCJdXQ")]
    """The parameter `cursor` of the next page, also in the header Link; null on the last one."""


class ListSummary(PageSummary, ReleaseSummary):
    """The same, for a list of a release."""


@dataclass(frozen=True)
class ListRequest:
    """The parameters of a list, and its filters by name. is_json: the answer is paged by default."""

    parameters: PageParameters
    filters: Mapping[str, Sequence[str]]
    is_json: bool


def list_questions() -> Iterator[Question]:
    """Yield the lists of a release as questions."""
    for listing in LISTINGS:
        parameters: type[ListParameters] = PlacedListParameters if "optimizer" in listing.columns else ListParameters
        parameters = _OWN_PARAMETERS.get(listing.name, parameters)
        yield Question(
            path=f"/v1/{listing.name}",
            doc=listing.doc,
            parameters=parameters,
            row=listing.row,
            summary=ListSummary,
            compute=partial(_answer, listing),
            listing=listing,
        )


def _answer(listing: Listing, view: ReleaseView, request: ListRequest) -> Answer:
    relation = view.cursor().sql(sql(f"list_{listing.name}"))
    metaparameters = view.metaparameters() if has_metaparameters(listing) else {}
    filters = conditions(listing, request.filters, metaparameters)
    wanted = (*_places(view, request.parameters), *_of_one_log(view, filters))
    return list_rows(relation, _question(listing, request, wanted), {"release": view.number}, view.number)


def _of_one_log(view: ReleaseView, filters: Sequence[Condition]) -> Iterator[Condition]:
    """Yield the conditions, those on metaparameters as one: a trial has several logs if its run was submitted again."""
    of_log = [each for each in filters if isinstance(each, Parameter)]
    yield from (each for each in filters if not isinstance(each, Parameter))
    if of_log:
        copies = view.cursor().sql(sql("facts_of_copies")).filter(all_of([each.expression for each in of_log]))
        yield OfOneLog(of_log, sorted({trial for trial, *_ in copies.fetchall()}))


def _releases(lake: Lake) -> list[dict[str, Any]]:
    return [vars(release) | {"release": release.number} for release in lake.releases()]


def _withdrawn(lake: Lake) -> list[dict[str, Any]]:
    return [
        vars(notice) | {"release_without": notice.release, "digest": notice.content_digest}
        for notice in read_notices(lake)
    ]


def _of_lake(listing: Listing, rows_of: Callable[[Lake], list[dict[str, Any]]]) -> Question:
    """Return the question that lists these rows of a lake."""

    def answer(lake: Lake, request: ListRequest) -> Answer:
        table = pa.Table.from_pylist(rows_of(lake), listing.shape.schema)
        relation = duckdb.connect(":memory:").from_arrow(table)
        return list_rows(relation, _question(listing, request, conditions(listing, request.filters, {})), {}, 0)

    return Question(
        path=f"/v1/{listing.name}",
        doc=listing.doc,
        parameters=PageParameters,
        row=listing.row,
        summary=PageSummary,
        compute=answer,
        listing=listing,
        is_of_release=False,
    )


RELEASES_QUESTION = _of_lake(RELEASES, _releases)
WITHDRAWN_QUESTION = _of_lake(WITHDRAWN, _withdrawn)


def _question(listing: Listing, request: ListRequest, wanted: tuple[Condition, ...]) -> ListQuestion:
    parameters = request.parameters
    return ListQuestion(
        listing=listing,
        conditions=wanted,
        sort=_sort(listing, parameters.sort),
        fields=checked_fields(listing.name, parameters.fields, list(listing.columns)) if parameters.fields else (),
        limit=parameters.limit or (JSON_PAGE if request.is_json else None),
        cursor=parameters.cursor,
    )


def _places(view: ReleaseView, parameters: PageParameters) -> Iterator[Condition]:
    """Yield a condition for the named workloads and studies, and for words; raises UnknownName."""
    if isinstance(parameters, PlacedListParameters) and parameters.workload:
        matching = (view.matching(parse_workload(path)) for path in parameters.workload)
        yield Of(tuple(facts.workload for each in matching for facts in each))
    if isinstance(parameters, WorkloadListParameters) and parameters.q:
        yield Equal("workload", tuple(map(str, view.words.matches(words_of(parameters.q)))))
    if isinstance(parameters, TrialListParameters) and parameters.study:
        yield Of(tuple(study for path in parameters.study for study in view.studies(parse_study(path))))


def _sort(listing: Listing, text: str) -> tuple[SortKey, ...]:
    if listing is RELEASES and not text:
        return (SortKey("release", is_descending=True),)
    keys: dict[str, SortKey] = {}
    sortable = [column.name for column in listing.shape.columns if column.is_ordered]
    for name in text.split(",") if text else ():
        column = name.removeprefix("-")
        if column not in sortable:
            can = "can't be sorted by" if column in listing.columns else "has no column"
            raise BadParameter("sort", f"{listing.name} {can} '{column}': give one or more of {', '.join(sortable)}")
        keys.setdefault(column, SortKey(column, name.startswith("-")))
    return tuple(keys.values())


@dataclass(frozen=True)
class ListQuestion:
    """The rows, order and page of a list.

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
        """The sort keys, completed so that no two rows are equal."""
        named = {key.column for key in self.sort}
        return (*self.sort, *(SortKey(name) for name in self.listing.key if name not in named))

    @property
    def digest(self) -> str:
        """A digest that identifies the question, whatever the page."""
        return digest_of(self.listing.name, self.conditions, self.keys)


def list_rows(
    relation: duckdb.DuckDBPyRelation, question: ListQuestion, facts: Mapping[str, Any], release: int
) -> Answer:
    """Return the page of a list; raises BadParameter for a cursor of another question."""
    for condition in question.conditions:
        relation = relation.filter(condition.expression)
    total = int(relation.aggregate("count(*)").fetchall()[0][0])
    if question.cursor is not None:
        relation = _behind(relation, question, Cursor.read(question.cursor))
    ordered = relation.sort(*(key.order for key in question.keys))
    shape = question.listing.shape.only(question.fields or question.listing.shape.schema.names)
    if question.limit is None:
        return Answer(facts, shape.schema, prefetched(_batches(ordered, shape.schema)), total)
    page = ordered.limit(question.limit + 1).to_arrow_table()
    rows = page.slice(0, question.limit)
    batches = rows.select(shape.schema.names).cast(shape.schema).to_batches()
    return Answer(facts, shape.schema, iter(batches), total, _next(question, page, release))


def _behind(relation: duckdb.DuckDBPyRelation, question: ListQuestion, cursor: Cursor) -> duckdb.DuckDBPyRelation:
    values = cursor.values_of(question.digest)
    columns = [question.listing.columns[key.column] for key in question.keys]
    if not cursor.fits(columns):
        raise altered_cursor()
    behind = after(question.keys, values)
    return relation.limit(0) if behind is None else relation.filter(behind)


def _next(question: ListQuestion, page: pa.Table, release: int) -> str | None:
    """Return the cursor to the next page; None if this is the last."""
    if question.limit is None or page.num_rows <= question.limit:
        return None
    last = page.slice(question.limit - 1, 1).select([key.column for key in question.keys]).to_pylist()[0]
    return Cursor(release, question.digest, tuple(last[key.column] for key in question.keys)).text()


def _batches(relation: duckdb.DuckDBPyRelation, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    columns = [ColumnExpression(name) for name in schema.names]
    for batch in relation.select(*columns).to_arrow_reader(ROWS_AT_A_TIME):
        yield batch.cast(schema)
