"""The comparison of all trials on a data set: the best value of each against steps, examples, FLOPs or time."""

from __future__ import annotations

from collections import Counter
from typing import Literal, get_args

import pyarrow as pa

from losslake.figures.charts.frontier import ColourBy
from losslake.questions import frontier
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.known_names import display_name, heading_of
from losslake.questions.release.pool import ANY
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.step_amounts import measure_noun
from losslake_schema.names import CHANGES, Study, Trial, Workload
from losslake_service.web.code_lines import statement
from losslake_service.web.page import Page, PageRequest
from losslake_service.web.starting_example import first_chart

PATH = "/compare"
_MOST_ROWS = 30
Measure = Literal["steps", "examples", "tokens", "flops", "seconds"]


def frontier_page(request: PageRequest) -> Page:
    """Return the page of a request that names a data set, `*` for that with the most trials.

    The default metric is that of most goals of the data set, else the one that most of its workloads measure. Raises
    BadParameter and UnknownName.
    """
    parameters, view = request.parameters, request.view
    if parameters.measure not in get_args(Measure):
        raise BadParameter("measure", f"a data set is compared by {', '.join(get_args(Measure))}: give one of these")
    datasets = Counter[str]()
    for facts in view.listed.values():
        datasets[facts.workload.dataset] += len(facts.trials.trial_id)
    if not datasets:
        return _without_data(request)
    dataset = datasets.most_common(1)[0][0] if parameters.dataset == ANY else parameters.dataset
    if dataset not in datasets:
        raise BadParameter("dataset", f"no workload has the data set {dataset}: /v1/workloads lists them")
    metrics = _metrics(view, dataset)
    metric = parameters.metric or next(iter(metrics), None)
    if metric is None:
        raise BadParameter("dataset", f"it isn't known for any metric of {dataset} whether lower or higher is better")
    query = {"workload": [f"*/{dataset}/*/*"], "metric": metric, "measure": parameters.measure}
    state = {"dataset": dataset, "metric": metric, "measure": parameters.measure, "colour": parameters.colour}
    answer, trouble = None, ""
    try:
        answer = frontier.QUESTION.answer(view, frontier.FrontierParameters.model_validate(query))
    except BadParameter as error:
        trouble = str(error)
    shown = display_name("dataset", next(each for each in view.listed if each.dataset == dataset))
    noun = measure_noun(parameters.measure)
    title = f"Best {metric} on {shown} by {noun}"
    chart = None
    if answer is not None:
        text = statement("frontier", dataset=dataset, metric=metric, measure=parameters.measure)
        options = {"colour_by": parameters.colour}
        chart = request.chart("frontier", query, title, sql=text, options=options, height=480)
    return Page(
        template="compare/frontier.html",
        title=title,
        description=f"The best {metric} of every trial on {shown}, and how few {noun} it took.",
        url=request.url(PATH, **state),
        content={
            "state": state,
            "noun": noun,
            "datasets": sorted(datasets),
            "metrics": metrics,
            "measures": [
                (name, measure_noun(name), request.url(PATH, **{**state, "measure": name}))
                for name in _measures(view, dataset)
            ],
            "colours": get_args(ColourBy),
            "chart": chart,
            "trouble": trouble,
            "front": _front(request, answer.table()) if answer is not None else [],
            "most": _MOST_ROWS,
            "facts": answer.facts if answer is not None else None,
        },
        picture=chart or first_chart(request),
        above=(("Curves", request.url("/workloads", dataset=dataset)),),
        styles=("atlas.css",),
        data=chart.data("json") if chart else None,
    )


def _measures(view: ReleaseView, dataset: str) -> list[str]:
    """Return what a data set is compared by: without tokens and FLOPs where no trial's are known."""
    has_tokens = dataset in view.table("datasets_with_tokens", {})["dataset"].to_pylist()
    return [name for name in get_args(Measure) if has_tokens or name not in ("tokens", "flops")]


def _without_data(request: PageRequest) -> Page:
    title = "Best values by steps, examples or time"
    return Page(
        template="compare/frontier.html",
        title=title,
        description=title,
        url=request.url(PATH, dataset=ANY),
        content={"datasets": (), "trouble": "this release has no trials", "chart": None, "front": (), "facts": None},
        styles=("atlas.css",),
    )


def _metrics(view: ReleaseView, dataset: str) -> list[str]:
    """Return the metrics of a data set with a known direction: those of goals first, then the most measured.

    Of equals, a loss that is each model's own is last.
    """
    members = [facts for facts in view.listed.values() if facts.workload.dataset == dataset]
    measured = Counter(name for facts in members for name in facts.measured if view.metrics[name].direction)
    aimed = Counter(goal.metric for goal in view.goals if goal.workload.dataset == dataset)
    return sorted(measured, key=lambda name: (-aimed[name], frontier.is_own_objective(name), -measured[name], name))


def _front(request: PageRequest, table: pa.Table) -> list[dict[str, object]]:
    """Return the rows on the front, the best first."""
    front = table.filter(table["is_on_front"]).sort_by([("amount", "descending")]).slice(0, _MOST_ROWS)
    rows = []
    for row in front.to_pylist():
        workload = Workload.parse(str(row["workload"]))
        trial = Trial(Study(workload, row["batch_size"] or CHANGES), row["trial_id"])
        rows.append({**row, "heading": heading_of(workload), "url": request.page_url(trial)})
    return rows
