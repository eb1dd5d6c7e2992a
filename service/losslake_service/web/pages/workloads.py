"""The page of all workloads and what else a search finds, with filters, sorting, and a selection to compare or draw."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import Field

from losslake.questions.declaration.parameters import Natural
from losslake.questions.lists.listings import WORKLOAD_KEYS
from losslake.questions.lists.lists import MOST_LETTERS
from losslake.questions.release.known_names import heading_of, name_of_part, told_apart
from losslake.questions.release.view import ReleaseView
from losslake_schema.names import Workload
from losslake_service.web.goals import PageGoal, goals_of, steps_by_size
from losslake_service.web.page import Page, PageKind, PageParameters, PageRequest, paginate
from losslake_service.web.per_release import once_per_release
from losslake_service.web.search.matching import Entry, query_of
from losslake_service.web.search.search import SUGGESTED, address_of, search, workload_matches
from losslake_service.web.starting_example import first_chart

ROWS_ON_A_PAGE = 50
_COLUMNS = {"trials": "-n_trials", "studies": "-n_studies"}
_MOST_SEARCHES = 5
# Filters: collection, dataset, model and optimizer; None for any.
Names = Mapping[str, str | None]


class WorkloadsParameters(PageParameters):
    """The query of the page."""

    q: str = ""
    """Words that a workload must all have: in its names, display names, aliases, metrics and batch sizes, or in the
    rounds, organisations and systems of its trials. They find other pages, too."""
    collection: str | None = None
    dataset: str | None = None
    model: str | None = None
    optimizer: str | None = None
    sort: Literal["", "name", "trials", "studies", "batch_size"] = ""
    """Default: the best match first, and of equal ones that of the most trials."""
    page: Annotated[Natural | None, Field(ge=1)] = None
    workload: Annotated[list[str], Field(default_factory=list)]
    """The selected workloads."""

    @property
    def names(self) -> Names:
        """The filters."""
        return {key: getattr(self, key) for key in WORKLOAD_KEYS}

    @property
    def words(self) -> Sequence[str]:
        """The distinct words to search for."""
        return query_of(self.q).words


@dataclass(frozen=True)
class WorkloadListed:
    """A workload in a list. batch_unit: what its batch sizes count. goals: those that are measured."""

    workload: Workload
    batch_unit: str | None
    batch_sizes: Sequence[int]
    n_studies: int
    n_trials: int
    goals: Sequence[PageGoal]

    @property
    def title(self) -> str:
        """The workload in words."""
        return heading_of(self.workload)


# Sort keys other than names and relevance; the largest come first.
_ORDERS: Mapping[str, Callable[[WorkloadListed], Any]] = {
    "trials": lambda row: -row.n_trials,
    "studies": lambda row: -row.n_studies,
    "batch_size": lambda row: -max(row.batch_sizes, default=0),
}


def workloads_page(request: PageRequest) -> Page:
    """Return the page of the workloads that match the query."""
    parameters: WorkloadsParameters = request.parameters
    table, found = _table(request.view), workload_matches(request.view, parameters.q)
    matches = table.matches(parameters.words, parameters.names)
    if parameters.sort != "name":
        matches.sort(key=_ORDERS.get(parameters.sort, lambda row: (-found[row.workload].score, -row.n_trials)))
    pages = paginate(len(matches), ROWS_ON_A_PAGE, parameters.page, lambda number: _url(request, page=number))
    on_page = matches[pages.rows]
    chosen = _chosen(request)
    shown = {str(row.workload) for row in on_page}
    return Page(
        template="workloads.html",
        title=f"Search: {parameters.q[:MOST_LETTERS]}" if parameters.words else "Curves",
        description=f"{len(matches):,} workloads: models trained on datasets with optimizers, at many batch sizes.",
        url=_url(request, page=pages.number if pages.number > 1 else None),
        content={
            "parameters": parameters,
            "most_letters": MOST_LETTERS,
            "choices": table.choices,
            "others": _others(request) if pages.number == 1 else (),
            "rows": [
                (row, table.titles[row.workload], found[row.workload].entry, table.fewest_steps(request.view, row))
                for row in on_page
            ],
            "chosen": chosen,
            "elsewhere": [(name, heading_of(Workload.parse(name))) for name in chosen if name not in shown],
            "pages": pages,
            "total": len(table.rows),
            "other_searches": list(_other_searches(request, table)) if not matches else (),
            "json": _data(request, matches, "json"),
            "csv": _data(request, matches, "csv"),
        },
        picture=first_chart(request),
        styles=("workloads.css",),
        scripts=("workloads.js",),
        data=_data(request, matches, "json"),
    )


def _others(request: PageRequest) -> list[tuple[Entry, str]]:
    """Return what a search without filters finds among the best that isn't a workload, each with its address."""
    if any(request.parameters.names.values()):
        return []
    best = search(request.view, request.parameters.q)[:SUGGESTED]
    return [(each.entry, address_of(request, each.entry)) for each in best if not each.is_of_workload]


class WorkloadTable:
    """The listed workloads of a release, sorted by name; made once per release."""

    def __init__(self, view: ReleaseView) -> None:
        rows = (_listed(view, row) for row in view.table("list_workloads", {}).to_pylist())
        self.rows = sorted((row for row in rows if row.workload in view.listed), key=lambda row: row.workload)
        self.titles = told_apart({row.workload: heading_of(row.workload) for row in self.rows})
        self._words = view.words
        self._fewest: dict[Workload, tuple[int, int] | None] = {}

    @cached_property
    def choices(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """The existing collections, datasets, models and optimizers, each with what people call it."""
        return {key: _choices(key, {getattr(row.workload, key) for row in self.rows}) for key in WORKLOAD_KEYS}

    def matches(self, words: Sequence[str], names: Names) -> list[WorkloadListed]:
        """Return the workloads that contain every word and pass the filters."""
        filters = {key: value for key, value in names.items() if value is not None}
        matching = set(self._words.matches(words))
        return [
            row
            for row in self.rows
            if row.workload in matching and all(getattr(row.workload, key) == value for key, value in filters.items())
        ]

    def fewest_steps(self, view: ReleaseView, row: WorkloadListed) -> tuple[int, int] | None:
        """Return the batch size with the fewest steps to the first goal, and those steps.

        None without a goal, or if no trial reached it. view: the release of the table.
        """
        if row.workload not in self._fewest:
            steps = steps_by_size(view, row.workload, row.goals[0]) if row.goals else []
            self._fewest[row.workload] = min(steps, key=lambda pair: (pair[1], pair[0]), default=None)
        return self._fewest[row.workload]

    def near_searches(self, words: Sequence[str], names: Names) -> Iterator[Sequence[str]]:
        """Yield the words of similar searches that have matches with these filters, most likely first."""
        searches = (each for each in self._words.near_searches(words) if self.matches(each, names))
        yield from islice(searches, _MOST_SEARCHES)


_table = once_per_release(WorkloadTable)


def _choices(kind: str, names: Collection[str]) -> Sequence[tuple[str, str]]:
    """Return stored names with what people call them, sorted by that; of namesakes, it has the stored name, too."""
    texts = told_apart({name: name_of_part(kind, name) for name in names})
    return sorted(texts.items(), key=lambda pair: (pair[1].casefold(), pair[0]))


def _listed(view: ReleaseView, row: Mapping[str, Any]) -> WorkloadListed:
    workload = Workload(*(row[key] for key in WORKLOAD_KEYS))
    return WorkloadListed(
        workload=workload,
        batch_unit=row["batch_unit"],
        batch_sizes=sorted(row["batch_sizes"]),
        n_studies=row["n_studies"],
        n_trials=row["n_trials"],
        goals=goals_of(view, view.workloads[workload]),
    )


def _chosen(request: PageRequest) -> list[str]:
    """Return the selected workloads that exist."""
    names = set(map(str, request.view.workloads))
    return [name for name in dict.fromkeys(request.parameters.workload) if name in names]


def _url(request: PageRequest, **changed: object) -> str:
    """Return the address of this page with other parameters."""
    parameters: WorkloadsParameters = request.parameters
    state = {**parameters.names, "q": parameters.q or None, "workload": _chosen(request)}
    if parameters.sort:
        state["sort"] = parameters.sort
    return request.url("/workloads", **(state | changed))


def _other_searches(request: PageRequest, table: WorkloadTable) -> Iterator[tuple[str, int, str]]:
    """Yield other searches with matches: the words, the number of workloads, and the address."""
    parameters: WorkloadsParameters = request.parameters
    for words in table.near_searches(parameters.words, parameters.names):
        text = " ".join(words)
        yield text, len(table.matches(words, parameters.names)), _url(request, q=text)
    n_matches = len(table.matches(parameters.words, {}))
    if any(parameters.names.values()) and n_matches:
        yield f"{parameters.q} without filters".strip(), n_matches, _url(request, **dict.fromkeys(parameters.names))


def _data(request: PageRequest, matches: Sequence[WorkloadListed], ending: str) -> str | None:
    """Return the address of the list in REST with the search and filters; None if it is empty or the words too long."""
    parameters: WorkloadsParameters = request.parameters
    if not matches or len(parameters.q) > MOST_LETTERS:
        return None
    query = {**parameters.names, "q": parameters.q or None, "sort": _COLUMNS.get(parameters.sort or "trials")}
    return request.url(f"/v1/workloads.{ending}", **query)


WORKLOADS = PageKind("/workloads", WorkloadsParameters, workloads_page)
