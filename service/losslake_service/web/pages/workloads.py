"""The page of all workloads: searched, filtered, sorted, and chosen from to be compared."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal
from weakref import WeakKeyDictionary

from pydantic import Field

from losslake.questions.lists.listing import WORKLOAD_KEYS
from losslake.questions.parameters import Natural
from losslake.questions.release_view import ReleaseView
from losslake_schema.names import Workload
from losslake_service.web.first_look import first_chart
from losslake_service.web.goals import GoalShown, goals_of, steps_by_size
from losslake_service.web.page import Page, PageKind, PageParameters, PageRequest, page_numbers

ROWS_ON_A_PAGE = 50
_MOST_NAMED = 50
_COLUMNS = {"trials": "-n_trials", "studies": "-n_studies"}
_MOST_SEARCHES = 5
_MOST_WORDS = 6
_LIKENESS = 0.6
Names = Mapping[str, str | None]
"""What is filtered by: collection, dataset, model and optimizer; None for any."""


class WorkloadsParameters(PageParameters):
    """The query of the page."""

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
    def names(self) -> Names:
        """What is filtered by."""
        return {key: getattr(self, key) for key in WORKLOAD_KEYS}

    @property
    def words(self) -> list[str]:
        """What to look for, each word once."""
        return list(dict.fromkeys(self.q.casefold().split()))


@dataclass(frozen=True)
class WorkloadListed:
    """A workload in a list. goals: those that are measured; text: in which words are looked for."""

    workload: Workload
    batch_sizes: Sequence[int]
    n_studies: int
    n_trials: int
    goals: Sequence[GoalShown]
    text: str


_ORDERS: Mapping[str, Callable[[WorkloadListed], Any]] = {
    "trials": lambda row: -row.n_trials,
    "studies": lambda row: -row.n_studies,
    "batch_size": lambda row: -max(row.batch_sizes, default=0),
}
"""By what else than names the list can be sorted; the largest come first."""


def workloads_page(request: PageRequest) -> Page:
    """Return the page of the workloads that match the query."""
    parameters: WorkloadsParameters = request.parameters
    table = _table(request.view)
    matches = table.matches(parameters.words, parameters.names)
    if parameters.sort in _ORDERS:
        matches.sort(key=_ORDERS[parameters.sort])
    pages = page_numbers(len(matches), ROWS_ON_A_PAGE, parameters.page, lambda number: _url(request, page=number))
    on_page = matches[pages.rows]
    chosen = _chosen(request)
    shown = {str(row.workload) for row in on_page}
    return Page(
        template="workloads.html",
        title=f"Workloads: {parameters.q}" if parameters.q else "Workloads",
        description=f"{len(matches):,} workloads: models trained on datasets with optimizers, at many batch sizes.",
        url=_url(request, page=pages.number if pages.number > 1 else None),
        content={
            "parameters": parameters,
            "choices": table.choices,
            "rows": [(row, table.fewest_steps(request.view, row), str(row.workload) in chosen) for row in on_page],
            "elsewhere": [name for name in chosen if name not in shown],
            "pages": pages,
            "total": len(table.rows),
            "ways_out": list(_ways_out(request, table)) if not matches else (),
            "json": _data(request, matches, "json"),
            "csv": _data(request, matches, "csv"),
        },
        picture=first_chart(request),
        styles=("workloads.css",),
        scripts=("workloads.js",),
        data=_data(request, matches, "json"),
    )


class WorkloadTable:
    """Every workload of a release, in the order of their names; made once a release, and kept as long as that."""

    def __init__(self, view: ReleaseView) -> None:
        self.rows = [_listed(view, row) for row in view.table("list_workloads", {}).to_pylist()]
        self.rows.sort(key=lambda row: row.workload)
        self._fewest: dict[Workload, Sequence[tuple[int, int]]] = {}

    @cached_property
    def choices(self) -> Mapping[str, Sequence[str]]:
        """The collections, datasets, models and optimizers there are."""
        return {key: sorted({getattr(row.workload, key) for row in self.rows}) for key in WORKLOAD_KEYS}

    @cached_property
    def words(self) -> Sequence[str]:
        """What can be searched for: names, and their parts."""
        return sorted({word for row in self.rows for word in _split(row.text)})

    def matches(self, words: Sequence[str], names: Names) -> list[WorkloadListed]:
        """Return those in which every word occurs and that have these names."""
        given = {key: value for key, value in names.items() if value is not None}
        return [
            row
            for row in self.rows
            if all(word in row.text for word in words)
            and all(getattr(row.workload, key) == value for key, value in given.items())
        ]

    def fewest_steps(self, view: ReleaseView, row: WorkloadListed) -> Sequence[tuple[int, int]]:
        """Return batch size and fewest steps to its first goal, at the smallest size and where they are fewest.

        Nothing without a goal, or where nobody reached it. view: the release of the table.
        """
        if row.workload not in self._fewest:
            steps = steps_by_size(view, row.workload, row.goals[0]) if row.goals else []
            best = min(steps, key=lambda pair: (pair[1], pair[0]), default=None)
            self._fewest[row.workload] = (steps[0], best) if best is not None else ()
        return self._fewest[row.workload]

    def near_searches(self, words: Sequence[str], names: Names) -> Iterator[Sequence[str]]:
        """Yield the words of other searches that match something among workloads of these names, likeliest first.

        First with every unknown word replaced by one that is much like it, then with each of the words alone.
        """
        given: set[Sequence[str]] = {tuple(words)}
        for search in self._other_words(words[:_MOST_WORDS]):
            if len(given) <= _MOST_SEARCHES and search not in given and self.matches(search, names):
                given.add(search)
                yield search

    def _other_words(self, words: Sequence[str]) -> Iterator[tuple[str, ...]]:
        is_known = [bool(self.matches([word], {})) for word in words]
        choices = [
            [word] if known else difflib.get_close_matches(word, self.words, _MOST_SEARCHES, _LIKENESS)
            for word, known in zip(words, is_known, strict=True)
        ]
        if not all(is_known) and all(choices):
            for rank in range(max(map(len, choices))):
                yield tuple(near[min(rank, len(near) - 1)] for near in choices)
        for near in choices:
            yield from ((word,) for word in near)


_TABLES: WeakKeyDictionary[ReleaseView, WorkloadTable] = WeakKeyDictionary()


def _table(view: ReleaseView) -> WorkloadTable:
    table = _TABLES.get(view)
    if table is None:
        table = _TABLES[view] = WorkloadTable(view)
    return table


def _listed(view: ReleaseView, row: Mapping[str, Any]) -> WorkloadListed:
    workload = Workload(*(row[key] for key in WORKLOAD_KEYS))
    return WorkloadListed(
        workload=workload,
        batch_sizes=sorted(row["batch_sizes"]),
        n_studies=row["n_studies"],
        n_trials=row["n_trials"],
        goals=goals_of(view, view.workloads[workload]),
        text=" ".join([str(workload), *row["metrics"]]).casefold(),
    )


def _split(text: str) -> Iterable[str]:
    for name in text.replace("/", " ").split():
        yield name
        yield from (part for part in name.split("_") if len(part) > 1)


def _chosen(request: PageRequest) -> list[str]:
    """Return the workloads that were chosen, as far as there are such."""
    known = set(map(str, request.view.workloads))
    return [name for name in dict.fromkeys(request.parameters.workload) if name in known]


def _url(request: PageRequest, **changed: object) -> str:
    """Return the address of this page with other parameters."""
    parameters: WorkloadsParameters = request.parameters
    state = {**parameters.names, "q": parameters.q or None, "workload": _chosen(request)}
    if parameters.sort != "name":
        state["sort"] = parameters.sort
    return request.url("/workloads", **(state | changed))


def _ways_out(request: PageRequest, table: WorkloadTable) -> Iterator[tuple[str, int, str]]:
    """Yield other searches that match something: the words, how many workloads, and the address."""
    parameters: WorkloadsParameters = request.parameters
    for search in table.near_searches(parameters.words, parameters.names):
        text = " ".join(search)
        yield text, len(table.matches(search, parameters.names)), _url(request, q=text)
    n_matches = len(table.matches(parameters.words, {}))
    if any(parameters.names.values()) and n_matches:
        url = _url(request, **dict.fromkeys(parameters.names))
        yield f"{parameters.q} without filters".strip(), n_matches, url


def _data(request: PageRequest, matches: Sequence[WorkloadListed], ending: str) -> str | None:
    """Return the same list from the REST interface: by filters, or by name where words were searched for.

    None where there is nothing, or more than an address can name.
    """
    parameters: WorkloadsParameters = request.parameters
    query: dict[str, object] = {**parameters.names, "sort": _COLUMNS.get(parameters.sort)}
    if not matches or (parameters.q and len(matches) > _MOST_NAMED):
        return None
    if parameters.q:
        query["workload"] = [row.workload for row in matches]
    return request.url(f"/v1/workloads.{ending}", **query)


WORKLOADS = PageKind("/workloads", WorkloadsParameters, workloads_page)
