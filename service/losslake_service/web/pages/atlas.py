"""The page of the critical batch sizes of all workloads: a forest plot, and a table with the reasons for no number."""

from __future__ import annotations

from losslake.questions import atlas
from losslake.questions.release.known_names import heading_of
from losslake.questions.trials.selection import Goal
from losslake_schema.names import Workload
from losslake_service.web.page import Page, PageKind, PageParameters, PageRequest
from losslake_service.web.starting_example import first_chart

PATH = "/critical-batch-sizes"
_FILTERS = ("collection", "dataset", "model", "optimizer")


class AtlasPageParameters(PageParameters):
    """The query of the page: only workloads of these names."""

    collection: str = ""
    dataset: str = ""
    model: str = ""
    optimizer: str = ""

    @property
    def filters(self) -> dict[str, str]:
        """The filters that are set."""
        return {name: value for name in _FILTERS if (value := getattr(self, name))}


def atlas_page(request: PageRequest) -> Page:
    """Return the page; raises BadParameter for a name that no workload has."""
    parameters: AtlasPageParameters = request.parameters
    filters = parameters.filters
    query = atlas.AtlasParameters.model_validate({name: [value] for name, value in filters.items()})
    answer = atlas.QUESTION.answer(request.view, query)
    rows = answer.table().to_pylist()
    numbers = [row for row in rows if row["critical_batch_size"] is not None]
    title = "Critical batch sizes" + (f": {', '.join(filters.values())}" if filters else "")
    chart = request.chart("atlas", filters, title, heading="Critical batch sizes")
    return Page(
        template="atlas.html",
        title=title,
        description=f"The critical batch sizes of {len(numbers)} workloads at their goals, with intervals where known.",
        url=request.url(PATH, **filters),
        content={
            "parameters": parameters,
            "choices": {name: sorted({getattr(each, name) for each in request.view.listed}) for name in _FILTERS},
            "names": {name: _shown(name) for name in _FILTERS},
            "chart": chart if any(row["lower"] or row["upper"] or row["critical_batch_size"] for row in rows) else None,
            "known": [_row(request, row) for row in numbers],
            "unknown": [_row(request, row) for row in rows if row["critical_batch_size"] is None],
            "facts": answer.facts,
        },
        picture=chart if numbers else first_chart(request),
        above=(("Workloads", request.url("/workloads")),),
        styles=("atlas.css",),
        data=request.url("/v1/analysis/atlas.json", **filters),
    )


ATLAS = PageKind(PATH, AtlasPageParameters, atlas_page)


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
