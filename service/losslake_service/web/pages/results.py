"""The page of MLPerf's results: submissions by round, benchmark, organisation and accelerator, with their runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from losslake.questions.declaration.parameters import MOST_PLACES, Natural
from losslake.questions.results import results
from losslake_service.web.code_lines import Line, library_call
from losslake_service.web.page import Page, PageKind, PageParameters, PageRequest, paginate
from losslake_service.web.results.facets import counts_of, everything, facets, words
from losslake_service.web.results.rows import shown_table
from losslake_service.web.starting_example import first_chart
from losslake_service.web.studies.sources import data_downloads
from losslake_service.web.templates import first_few, query_pairs, with_query

PATH, _QUESTION = "/results", results.QUESTION.path
ROWS_ON_A_PAGE = 50
# All submissions of so few are offered to be opened at once in the viewer.
_MOST_OPENED = 20
_MOST_NAMED = 4
_Several = Annotated[results.Several, Field(default_factory=list, max_length=MOST_PLACES)]
Sort = Literal["round", "time", "accelerator_hours", "examples"]
# What a reader can sort by, and the columns of the question; the default is the order of its answer.
_SORTS: Mapping[Sort, tuple[str, str]] = {
    "round": ("newest round first", ""),
    "time": ("time", "benchmark,time_s"),
    "accelerator_hours": ("accelerator-hours", "benchmark,accelerator_hours"),
    "examples": ("examples to the target", "benchmark,examples"),
}


class ResultsPageParameters(PageParameters):
    """The query of the page. Without a filter it shows the newest round."""

    suite: _Several
    round: _Several
    benchmark: _Several
    organisation: _Several
    accelerator: _Several
    division: _Several
    flag: _Several
    flagged: Literal["", "only"] = ""
    """only: submissions with any flag."""
    q: Annotated[str, Field(max_length=results.MOST_LETTERS)] = ""
    """Words that a submission must all have."""
    sort: Sort = "round"
    page: Annotated[Natural | None, Field(ge=1)] = None
    submission: _Several
    """The submissions that are selected for their curves."""

    @property
    def filters(self) -> dict[str, Any]:
        """The filters that are set."""
        return self.model_dump(exclude_defaults=True, include={*results.FACETS, "flagged", "q"})


def results_page(request: PageRequest) -> Page:
    """Return the page of the submissions that pass the filters; raises BadParameter."""
    view, parameters = request.view, request.parameters
    filters = parameters.filters
    every = everything(view)
    # Counts are those of the reader's filters: the newest round is left as soon as there are any.
    query = filters or ({"round": [every.newest_round]} if every.newest_round else {})
    query |= {"sort": sort} if (sort := _SORTS[parameters.sort][1]) else {}
    answer = results.QUESTION.answer(view, results.ResultsParameters.model_validate(query))
    rows = answer.table()
    counts = counts_of(answer.facts) if filters else every.counts
    pages = paginate(len(rows), ROWS_ON_A_PAGE, parameters.page, lambda number: _url(request, page=number))
    on_page = rows.slice(pages.rows.start, ROWS_ON_A_PAGE).to_pylist()
    names = rows["submission"].to_pylist()
    title = _title(parameters, every.models, every.newest_round)
    downloads = data_downloads(request, "of-results", "These submissions", _QUESTION, query)
    in_python = Line("Python", library_call(request.address, _QUESTION, query_pairs(query.items())))
    return Page(
        template="results.html",
        title=title,
        description=f"{len(rows):,} submissions to MLPerf with the times and curves of their runs: {title}.",
        url=_url(request, page=pages.number if pages.number > 1 else None),
        content={
            "parameters": parameters,
            "facets": facets(view, counts, filters),
            "newest": None if filters else every.newest_round,
            "total": sum(every.counts.get("suite", {}).values()),
            "n_runs": sum(rows["n_runs"].to_pylist()),
            "pages": pages,
            "table": shown_table(request, on_page, parameters.submission, is_by_round=parameters.sort == "round"),
            "sorts": [(name, words) for name, (words, _) in _SORTS.items()],
            "elsewhere": [each for each in parameters.submission if each not in {row["submission"] for row in on_page}],
            "all_curves": request.url("/viewer", submission=names) if 1 < len(names) <= _MOST_OPENED else None,
            "everything": request.url(PATH, submission=parameters.submission),
            "downloads": downloads,
            "in_python": in_python,
            "facts": answer.facts,
        },
        picture=first_chart(request),
        styles=("results.css",),
        scripts=("results.js",),
        data=with_query(f"{_QUESTION}.json", [*query.items(), ("release", view.number)]),
    )


RESULTS = PageKind(PATH, ResultsPageParameters, results_page)


def _url(request: PageRequest, **changed: object) -> str:
    """Return the address of this page with other parameters."""
    state = request.parameters.model_dump(exclude_defaults=True, exclude={"release", "page"})
    return request.url(PATH, **(state | changed))


def _title(parameters: ResultsPageParameters, models: Mapping[str, str], newest: str | None) -> str:
    """Return the title, which names the first few values of the filters."""
    if not parameters.filters:
        return f"MLPerf results, round {newest}" if newest else "MLPerf results"
    rounds = [f"round {each}" for each in parameters.round]
    suites = [words()["suite"].get(each, each) for each in parameters.suite]
    benchmarks = [models.get(each, each) for each in parameters.benchmark]
    others = [*parameters.organisation, *parameters.accelerator, *rounds]
    named = [*suites, *benchmarks, *others, *filter(None, [parameters.q])]
    return f"MLPerf results: {first_few(named, _MOST_NAMED)}" if named else "MLPerf results"
