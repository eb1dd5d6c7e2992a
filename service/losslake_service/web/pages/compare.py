"""The page that compares workloads: which reaches a target sooner, at which batch sizes, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from losslake.output.answer import Answer
from losslake.questions import compare
from losslake.questions.errors import BadParameter
from losslake.questions.parameters import Natural
from losslake.questions.selection import named_workload
from losslake.questions.wording import joined
from losslake.questions.workload_facts import WorkloadFacts, workload_labels
from losslake_schema.names import Study, Workload
from losslake_service.web.chart import Chart
from losslake_service.web.first_look import by_problem
from losslake_service.web.goals import GoalShown, common_goal, goal_shown, goals_of, metrics_of
from losslake_service.web.lines import statement
from losslake_service.web.page import GoalParameters, Page, PageKind, PageRequest
from losslake_service.web.templates import Query

_MOST_SUGGESTED = 8
_MOST_NAMES = 1000
_LONGEST_TITLE = 120
_LONGEST_DESCRIPTION = 300
_PLAINEST = ("sgd", "momentum", "nesterov_momentum", "nesterov")
_IN_WORDS: Mapping[str | None, str] = {
    "fewer": "fewer steps",
    "more": "more steps",
    "not told": "no difference can be told",
    "too few trials": "too few trials to tell",
    "neither reaches": "neither reaches it",
}
Row = dict[str, Any]
Suggestion = tuple[str, str]
"""Text and address of a comparison."""


class CompareParameters(GoalParameters):
    """The query of the page; a goal by default is one of the first workload which all of them measure."""

    workload: Annotated[list[str], Field(default_factory=list)]
    """The workloads to compare."""
    baseline: str | None = None
    """The workload that the others are compared with; default: the first one."""
    budget: Annotated[Natural | None, Field(ge=1)] = None
    """The tuning budget in trials; default: as many as all have at a batch size."""
    scale: Literal["steps", "relative"] = "steps"
    """Whether the chart of scaling shows steps, or steps relative to those at the smallest batch size of all."""


@dataclass(frozen=True)
class CompareRequest:
    """A comparison. metrics: those that all workloads measure and of which is known which way is better."""

    page: PageRequest
    parameters: CompareParameters
    workloads: tuple[Workload, ...]
    baseline: Workload
    goal: GoalShown
    metrics: Sequence[str]

    @property
    def goal_query(self) -> Query:
        """The parameters of an answer about these workloads and the goal."""
        names = [("workload", str(each)) for each in self.workloads]
        return [*names, ("metric", self.goal.metric), ("target", repr(self.goal.target))]

    def url(self, workloads: Sequence[Workload] | None = None, **changed: object) -> str:
        """Return the address of this page with something changed."""
        given = self.parameters
        chosen = self.workloads if workloads is None else workloads
        state: dict[str, object] = {
            "workload": chosen,
            "baseline": self.baseline if self.baseline in chosen and given.baseline else None,
            **given.goal,
            "budget": given.budget,
            "scale": given.scale if given.scale != "steps" else None,
        }
        return self.page.url("/compare", **(state | changed))

    def chart(self, kind: str, query: Query, title: str, sql: str, is_sql_behind: bool = True) -> Chart:
        """Return a chart about the workloads. sql: the name of a statement."""
        workloads = tuple(astuple(each) for each in self.workloads)
        text = statement(sql, **self.goal.parameters, workloads=workloads)
        return self.page.chart(kind, query, title, sql=text, is_sql_behind=is_sql_behind)


def compare_page(page: PageRequest) -> Page:
    """Return the page; raises BadParameter and UnknownName."""
    names = [str(each) for each in list(page.view.workloads)[:_MOST_NAMES]]
    request = _request(page)
    if request is None:
        return Page(
            template="compare.html",
            title="Compare workloads",
            description="Which optimizer or model reaches a target sooner, at which batch sizes, and how sure that is.",
            url=page.url("/compare"),
            content={"chosen": (), "suggestions": _to_begin_with(page), "names": names, "comparison": None},
        )
    comparison = _comparison(request)
    labels = workload_labels([str(each) for each in request.workloads])
    chosen = [_chosen(request, each, labels.own[str(each)] or str(each)) for each in request.workloads]
    title = f"Compare {joined([each['label'] for each in chosen])}" + (f" on {labels.common}" if labels.common else "")
    picture = comparison["ratio"] or comparison["scaling"]
    sentences = [f"Steps to {request.goal.text} by batch size.", *comparison["sentences"]]
    return Page(
        template="compare.html",
        title=title if len(title) <= _LONGEST_TITLE else f"Compare {len(chosen)} workloads",
        description=" ".join(sentences)[:_LONGEST_DESCRIPTION],
        url=request.url(),
        content={
            "chosen": chosen,
            "labels": {each["name"]: each["label"] for each in chosen},
            "suggestions": _to_add(request),
            "names": names,
            "comparison": comparison,
        },
        picture=picture,
        above=(("Workloads", page.url("/workloads")),),
        data=picture.data("json"),
    )


def _request(page: PageRequest) -> CompareRequest | None:
    """Return the comparison; None if no workload is named. Raises BadParameter and UnknownName."""
    given: CompareParameters = page.parameters
    workloads = tuple(dict.fromkeys(named_workload(name) for name in given.workload))
    if not workloads:
        return None
    if len(workloads) > compare.MOST_COMPARED:
        raise BadParameter(
            "workload", f"give at most {compare.MOST_COMPARED} workloads to compare, not {len(workloads)}"
        )
    facts = [page.view.workload(each) for each in workloads]
    baseline = workloads[0] if given.baseline is None else named_workload(given.baseline)
    if baseline not in workloads:
        raise BadParameter("baseline", f"{baseline} is none of the workloads that are compared: add it first")
    metrics = metrics_of(page.view, *facts)
    if given.metric is not None:
        for each in facts:
            page.view.metric(each, given.metric)
    if not metrics:
        raise BadParameter("workload", "these workloads have no metric in common of which is known which way is better")
    return CompareRequest(page, given, workloads, baseline, _goal(page, facts, metrics), metrics)


def _goal(page: PageRequest, facts: Sequence[WorkloadFacts], metrics: Sequence[str]) -> GoalShown:
    given: CompareParameters = page.parameters
    wanted = [given.metric] if given.metric is not None else metrics
    if given.target is None:
        for each in facts:
            goal = next((goal for goal in goals_of(page.view, each) if goal.metric in wanted), None)
            if goal is not None:
                return goal
    if given.target is not None or page.view.metrics[wanted[-1]].direction is None:
        return goal_shown(page.view, facts[0], wanted[-1], given.target)
    return common_goal(page.view, facts, wanted[-1])


def _comparison(request: CompareRequest) -> dict[str, Any]:
    """Return what the template shows of the comparison."""
    goal, budget, baseline = request.goal, request.parameters.budget, request.baseline
    parameters = compare.CompareParameters(
        workload=[str(workload) for workload in request.workloads],
        metric=goal.metric,
        target=goal.target,
        baseline=str(baseline),
        budget=budget,
    )
    answer = compare.answer(request.page.view, parameters)
    facts, sizes = answer.facts, _sizes(request, answer)
    # Relative steps begin where every workload reaches the target after some step.
    start = next((size for size, rows in sizes if all(row["steps"] for row in rows)), None)
    ratio, profile = None, None
    if len(request.workloads) > 1:
        more = [] if budget is None else [("budget", str(budget))]
        query = [*request.goal_query, ("baseline", str(baseline)), *more]
        title = f"Steps to {goal.text}, relative to {baseline}, by batch size"
        ratio = request.chart("ratio", query, title, "trials_of_workloads")
        title = f"Performance profile: how often each reaches {goal.text} within a factor of the fewest steps"
        profile = request.chart("profile", request.goal_query, title, "trials_of_workloads")
    return {
        "goal": goal,
        "metrics": request.metrics,
        "baseline": baseline,
        "sentences": [each["in_words"] for each in facts["conclusions"]],
        "warnings": list(dict.fromkeys(facts["warnings"])),
        "means": facts["geometric_means"],
        "sizes": sizes,
        "start": start,
        "steps_url": request.url(scale=None),
        "relative_url": request.url(scale="relative"),
        "scaling": _scaling_chart(request, start),
        "ratio": ratio,
        "profile": profile,
        "definition": facts["definition"],
    }


def _scaling_chart(request: CompareRequest, start: int | None) -> Chart:
    """Return steps to the target by batch size; relative to those at `start` where that is wanted and can be."""
    query, title = request.goal_query, f"Steps to {request.goal.text}"
    if request.parameters.scale == "relative" and start is not None:
        query = [*query, ("normalize_to", str(start))]
        title += f", relative to those at batch size {start}"
    return request.chart("scaling", query, f"{title}, by batch size", "results_of_workloads", is_sql_behind=False)


def _sizes(request: CompareRequest, answer: Answer) -> list[tuple[int, list[Row]]]:
    """Return each batch size with a row for each workload. answer: that of /v1/analysis/compare."""
    rows = {(row["batch_size"], row["workload"]): row for row in answer.table().to_pylist()}
    sizes = sorted({size for size, _ in rows})
    return [
        (size, [_at(request, workload, size, rows.get((size, str(workload)))) for workload in request.workloads])
        for size in sizes
    ]


def _at(request: CompareRequest, workload: Workload, size: int, row: Row | None) -> Row:
    """Return a workload's row of the answer with the address of its study, and the difference in words."""
    if row is None:
        return {"url": "", "steps": None, "steps_ratio": None, "words": ""}
    return row | {
        "url": request.page.page_of(Study(workload, size), **request.goal.parameters),
        "steps_ratio": row["steps_ratio"] if workload != request.baseline else None,
        "words": _IN_WORDS.get(row["difference"], ""),
    }


def _chosen(request: CompareRequest, workload: Workload, label: str) -> dict[str, Any]:
    """Return a workload of the page, with the addresses of the page without it and with it as the baseline."""
    return {
        "name": str(workload),
        "label": label,
        "url": request.page.page_of(workload, **request.goal.parameters),
        "without_url": request.url([other for other in request.workloads if other != workload]),
        "as_baseline_url": request.url(baseline=workload),
        "is_baseline": workload == request.baseline,
    }


def _to_add(request: CompareRequest) -> list[Suggestion]:
    """Return workloads of the same data set that measure the metric, the nearest first."""
    first = request.workloads[0]
    others = [
        each
        for each, facts in request.page.view.workloads.items()
        if each not in request.workloads and each.dataset == first.dataset and request.goal.metric in facts.measured
    ]
    others.sort(key=lambda each: (each.model != first.model, each.optimizer != first.optimizer, each))
    nearest = others[:_MOST_SUGGESTED]
    return [(f"{each.model}, {each.optimizer}", request.url((*request.workloads, each))) for each in nearest]


def _to_begin_with(page: PageRequest) -> list[Suggestion]:
    """Return comparisons of all optimizers of a data set and model."""
    suggestions = []
    for (_, dataset, model), workloads in by_problem(page.view).items():
        if len(workloads) > 1:
            plainest_first = sorted(workloads, key=_plainness)
            optimizers = ", ".join(each.optimizer for each in plainest_first)
            suggestions.append((f"{model} on {dataset}: {optimizers}", page.url("/compare", workload=plainest_first)))
    return suggestions[:_MOST_SUGGESTED]


def _plainness(workload: Workload) -> tuple[int, str]:
    name = workload.optimizer
    return (_PLAINEST.index(name) if name in _PLAINEST else len(_PLAINEST), name)


COMPARE = PageKind("/compare", CompareParameters, compare_page)
