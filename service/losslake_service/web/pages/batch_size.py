"""The page of batch sizes: the live figure of the regimes, and the critical batch sizes of all workloads.

These are a forest plot, and a table with the reasons for no number. The figure alone is a page for other sites.
"""

from __future__ import annotations

from losslake.questions import atlas
from losslake.questions.declaration.parameters import DirectionParameters
from losslake.questions.release.known_names import heading_of
from losslake.questions.trials.selection import Goal
from losslake_schema.names import Workload
from losslake_service.operation.browser_headers import FORM_EMBED_POLICY
from losslake_service.web.live_figure import LiveFigure, live_figure
from losslake_service.web.page import GoalParameters, Page, PageKind, PageRequest
from losslake_service.web.starting_example import first_chart
from losslake_service.web.workload.request import FRAMED

PATH = "/batch-size"
_FILTERS = ("collection", "dataset", "model", "optimizer")


class LiveFigureParameters(DirectionParameters, GoalParameters):
    """The query of the live figure. direction: of a metric whose direction is unknown."""

    workload: str | None = None
    """The workload by its name, or by its heading in the list of the page. Default: the one with which pages begin."""


class BatchSizeParameters(LiveFigureParameters):
    """The query of the page: the live figure, and the names of workloads below it."""

    collection: str = ""
    dataset: str = ""
    model: str = ""
    optimizer: str = ""

    @property
    def filters(self) -> dict[str, str]:
        """The filters that are set."""
        return {name: value for name in _FILTERS if (value := getattr(self, name))}


def batch_size_page(request: PageRequest) -> Page:
    """Return the page; raises BadParameter for a name that no workload has, and UnknownName."""
    parameters: BatchSizeParameters = request.parameters
    filters = parameters.filters
    figure = live_figure(request, parameters)
    query = atlas.AtlasParameters.model_validate({name: [value] for name, value in filters.items()})
    answer = atlas.QUESTION.answer(request.view, query)
    rows = answer.table().to_pylist()
    numbers = [row for row in rows if row["critical_batch_size"] is not None]
    title = "Critical batch sizes" + (f": {', '.join(filters.values())}" if filters else "")
    chart = request.chart("atlas", filters, title, heading="Critical batch sizes")
    state = _state(figure) if parameters.workload is not None else {}
    return Page(
        template="batch_size.html",
        title="Batch size" + (f": {', '.join(filters.values())}" if filters else ""),
        description="How far larger batches help: the regimes of a workload at any target, and the critical batch "
        f"sizes of {len(numbers)} workloads at their goals.",
        url=request.url(PATH, **state, **filters),
        content={
            "figure": figure,
            "action": PATH,
            "state": state,
            "parameters": parameters,
            "choices": {name: sorted({getattr(each, name) for each in request.view.listed}) for name in _FILTERS},
            "names": {name: _shown(name) for name in _FILTERS},
            "chart": chart if any(row["lower"] or row["upper"] or row["critical_batch_size"] for row in rows) else None,
            "known": [_row(request, row) for row in numbers],
            "unknown": [_row(request, row) for row in rows if row["critical_batch_size"] is None],
            "facts": answer.facts,
        },
        picture=figure.chart if figure is not None else first_chart(request),
        styles=("atlas.css", "live_figure.css"),
        scripts=("live_figure.js",) if figure is not None else (),
        data=request.url("/v1/analysis/atlas.json", **filters),
    )


BATCH_SIZE = PageKind(PATH, BatchSizeParameters, batch_size_page)


def embedded_figure(request: PageRequest) -> Page:
    """Return the page of the live figure alone; raises BadParameter and UnknownName."""
    figure = live_figure(request, request.parameters)
    title = f"Steps by batch size: {figure.heading}" if figure is not None else "Steps by batch size"
    state = _state(figure)
    return Page(
        template="embed_batch_size.html",
        title=title,
        description="",
        url=request.url(FRAMED, **state),
        content={"figure": figure, "action": FRAMED, "above": request.url(PATH, **state)},
        headers={"content-security-policy": FORM_EMBED_POLICY.decode()},
    )


EMBEDDED = PageKind(FRAMED, LiveFigureParameters, embedded_figure)


def _state(figure: LiveFigure | None) -> dict[str, object]:
    """Return the parameters of links to the same figure."""
    return {} if figure is None else figure.request.of_figure


def _shown(name: str) -> str:
    return "Data set" if name == "dataset" else name.capitalize()


def _row(request: PageRequest, row: dict[str, object]) -> dict[str, object]:
    """Return a row of the table."""
    workload = Workload.parse(str(row["workload"]))
    goal = {"metric": row["metric"], "target": row["target"]}
    comparison = Goal(row["target"], row["comparator"])  # type: ignore[arg-type]
    return {
        **row,
        "heading": heading_of(workload),
        "url": request.page_url(workload, **goal),
        "goal": comparison.in_words(str(row["metric"]), str(row["direction"])),
    }
