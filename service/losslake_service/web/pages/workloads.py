"""The page of all workloads: searched, filtered, sorted, and chosen from to be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from losslake.questions.parameters import Natural
from losslake_service.web.first_look import first_chart
from losslake_service.web.page import Page, PageAsked, PageKind, PageNumbers, PageParameters, page_numbers
from losslake_service.web.workload_table import (
    ORDERS,
    FewestSteps,
    WorkloadListed,
    WorkloadTable,
    near_searches,
    words_of,
    workload_table,
)

ROWS_ON_A_PAGE = 50
_MOST_NAMED = 50
_COLUMNS = {"trials": "-n_trials", "studies": "-n_studies"}


class WorkloadsParameters(PageParameters):
    """The state of the page."""

    q: str = ""
    """Words that all have to occur in the names of a workload or its metrics."""
    collection: str | None = None
    dataset: str | None = None
    model: str | None = None
    optimizer: str | None = None
    sort: Literal["name", "trials", "studies", "batch_size"] = "name"
    page: Annotated[Natural | None, Field(ge=1)] = None
    workload: Annotated[list[str], Field(default_factory=list)]
    """Those chosen to be compared."""

    @property
    def names(self) -> Mapping[str, str | None]:
        """What is filtered by."""
        return {key: getattr(self, key) for key in ("collection", "dataset", "model", "optimizer")}


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    listed: WorkloadListed
    fewest: FewestSteps | None
    is_chosen: bool


@dataclass(frozen=True)
class WayOut:
    """Another search, which finds so many."""

    text: str
    count: int
    url: str


@dataclass(frozen=True)
class WorkloadsShown:
    """What the template shows. values: to filter by; elsewhere: chosen workloads that aren't among the rows."""

    parameters: WorkloadsParameters
    values: Mapping[str, Sequence[str]]
    rows: Sequence[Row]
    elsewhere: Sequence[str]
    pages: PageNumbers
    total: int
    ways_out: Sequence[WayOut]
    json: str | None
    csv: str | None


def workloads_page(asked: PageAsked) -> Page:
    """The workloads that the query asks for."""
    parameters: WorkloadsParameters = asked.parameters
    table = workload_table(asked.view)
    found = table.found(words_of(parameters.q), parameters.names)
    if parameters.sort in ORDERS:
        found.sort(key=ORDERS[parameters.sort])
    pages = page_numbers(len(found), ROWS_ON_A_PAGE, parameters.page, lambda number: _url(asked, page=number))
    on_page = found[pages.rows]
    chosen = _chosen(asked)
    shown = {str(row.workload) for row in on_page}
    title = f"Workloads: {parameters.q}" if parameters.q else "Workloads"
    return Page(
        template="workloads.html",
        title=title,
        description=f"{len(found):,} workloads: models trained on datasets with optimizers, at many batch sizes.",
        url=_url(asked, page=pages.number if pages.number > 1 else None),
        content=WorkloadsShown(
            parameters=parameters,
            values=table.values,
            rows=[Row(row, table.fewest_steps(asked.view, row), str(row.workload) in chosen) for row in on_page],
            elsewhere=[name for name in chosen if name not in shown],
            pages=pages,
            total=len(table.rows),
            ways_out=list(_ways_out(asked, table)) if not found else (),
            json=_data(asked, found, "json"),
            csv=_data(asked, found, "csv"),
        ),
        picture=first_chart(asked),
        styles=("workloads.css",),
        scripts=("workloads.js",),
        data=_data(asked, found, "json"),
    )


def _chosen(asked: PageAsked) -> list[str]:
    """The workloads that were chosen, as far as there are such."""
    known = set(map(str, asked.view.workloads))
    return [name for name in dict.fromkeys(asked.parameters.workload) if name in known]


def _url(asked: PageAsked, **instead: object) -> str:
    """This page with other parameters."""
    parameters: WorkloadsParameters = asked.parameters
    state = {**parameters.names, "q": parameters.q or None, "workload": _chosen(asked)}
    if parameters.sort != "name":
        state["sort"] = parameters.sort
    return asked.url("/workloads", **(state | instead))


def _ways_out(asked: PageAsked, table: WorkloadTable) -> Iterator[WayOut]:
    parameters: WorkloadsParameters = asked.parameters
    words = words_of(parameters.q)
    for search in near_searches(table, words, parameters.names):
        text = " ".join(search)
        yield WayOut(text, len(table.found(search, parameters.names)), _url(asked, q=text))
    if any(parameters.names.values()):
        count = len(table.found(words, {}))
        if count:
            nothing = dict.fromkeys(parameters.names)
            yield WayOut(f"{parameters.q} without filters".strip(), count, _url(asked, **nothing))


def _data(asked: PageAsked, found: Sequence[WorkloadListed], ending: str) -> str | None:
    """The same list from the REST interface: by filters, or by name where words were searched for.

    None where there is nothing, or more than an address can name.
    """
    parameters: WorkloadsParameters = asked.parameters
    query: dict[str, object] = {**parameters.names, "sort": _COLUMNS.get(parameters.sort)}
    if not found or (parameters.q and len(found) > _MOST_NAMED):
        return None
    if parameters.q:
        query["workload"] = [str(row.workload) for row in found]
    return asked.url(f"/v1/workloads.{ending}", **query)


WORKLOADS = PageKind("/workloads", WorkloadsParameters, workloads_page)
