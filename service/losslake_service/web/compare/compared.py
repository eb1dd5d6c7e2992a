"""What is compared: workloads, the one that all others are held against, and a goal that all of them measure.

What can be compared: the workloads chosen, and those that suggest themselves beside them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from losslake.questions.analysis.compare import MOST_COMPARED
from losslake.questions.errors import BadParameter
from losslake.questions.parameters import Natural
from losslake.questions.release_view import ReleaseView
from losslake.questions.selection import Goal, Selection, named_workload
from losslake.questions.workload_facts import WorkloadFacts, workload_labels
from losslake_schema.names import Workload
from losslake_service.web.goals import GoalShown, goal_shown, goals_of, metrics_of, reachable
from losslake_service.web.page import PageAsked, PageParameters
from losslake_service.web.templates import Query, with_query


class CompareParameters(PageParameters):
    """The state of the page."""

    workload: Annotated[list[str], Field(default_factory=list)]
    """The workloads to compare."""
    baseline: str | None = None
    """The workload that the others are compared with; default: the first one."""
    metric: str | None = None
    """The metric of the goal; default: that of a goal of the first workload which all of them measure."""
    target: Annotated[float | None, Field(allow_inf_nan=False)] = None
    """The target; default: that goal's, else one that all of them come near to."""
    budget: Annotated[Natural | None, Field(ge=1)] = None
    """The tuning budget in trials; default: as many as all have at a batch size."""
    scale: Literal["steps", "relative"] = "steps"
    """Whether the chart of scaling shows steps, or steps relative to those at the smallest batch size of all."""


@dataclass(frozen=True)
class CompareAsked:
    """A comparison. metrics: those that all workloads measure and of which is known which way is better."""

    page: PageAsked
    workloads: tuple[Workload, ...]
    baseline: Workload
    goal: GoalShown
    metrics: tuple[str, ...]

    @property
    def parameters(self) -> CompareParameters:
        parameters: CompareParameters = self.page.parameters
        return parameters

    @property
    def selection(self) -> Selection:
        """The trials that count: those that answers take unless told otherwise."""
        return Selection(self.workloads, self.goal.metric)

    @property
    def as_goal(self) -> Goal:
        return Goal(self.goal.target)

    @property
    def goal_query(self) -> Query:
        """The parameters of an answer about these workloads and the goal."""
        names = [("workload", str(each)) for each in self.workloads]
        return [*names, ("metric", self.goal.metric), ("target", repr(self.goal.target))]

    @property
    def compare_query(self) -> Query:
        """Those of the comparison itself."""
        budget = self.parameters.budget
        more = [] if budget is None else [("budget", str(budget))]
        return [*self.goal_query, ("baseline", str(self.baseline)), *more]

    def url(self, workloads: tuple[Workload, ...] | None = None, **changed: object) -> str:
        """The address of this page with something changed."""
        given = self.parameters
        chosen = self.workloads if workloads is None else workloads
        baseline = self.baseline if self.baseline in chosen and given.baseline else None
        own: dict[str, object] = {
            "baseline": baseline,
            "metric": given.metric,
            "target": given.target,
            "budget": given.budget,
        }
        own |= {"scale": given.scale if given.scale != "steps" else None} | changed
        names = [("workload", str(each)) for each in chosen]
        return with_query("/compare", [*names, *own.items(), ("release", self.page.pinned)])


def compare_asked(page: PageAsked) -> CompareAsked | None:
    """What a request asks; None if it names no workload. Raises BadParameter and UnknownName."""
    asked: CompareParameters = page.parameters
    workloads = tuple(dict.fromkeys(named_workload(name) for name in asked.workload))
    if not workloads:
        return None
    if len(workloads) > MOST_COMPARED:
        raise BadParameter("workload", f"give at most {MOST_COMPARED} workloads to compare, not {len(workloads)}")
    facts = [page.view.workload(each) for each in workloads]
    baseline = workloads[0] if asked.baseline is None else named_workload(asked.baseline)
    if baseline not in workloads:
        raise BadParameter("baseline", f"{baseline} is none of the workloads that are compared: add it first")
    metrics = tuple(name for name in metrics_of(page.view, facts[0]) if all(name in each.measured for each in facts))
    if asked.metric is not None:
        for each in facts:
            page.view.metric(each, asked.metric)
    if not metrics:
        raise BadParameter("workload", "these workloads have no metric in common of which is known which way is better")
    return CompareAsked(page, workloads, baseline, _goal(page, facts, metrics), metrics)


def _goal(page: PageAsked, facts: list[WorkloadFacts], metrics: tuple[str, ...]) -> GoalShown:
    asked: CompareParameters = page.parameters
    wanted = (asked.metric,) if asked.metric is not None else metrics
    if asked.target is None:
        for each in facts:
            own = next((goal for goal in goals_of(page.view, each) if goal.metric in wanted), None)
            if own is not None:
                return own
    metric = wanted[-1]
    direction = page.view.metrics[metric].direction
    if asked.target is not None or direction is None:
        return goal_shown(page.view, facts[0], metric, asked.target)
    easiest = max if direction == "minimize" else min
    return GoalShown(metric, easiest(reachable(page.view, each, metric, direction) for each in facts), direction)


_MOST_SUGGESTED = 8
_MOST_LISTED = 1000


@dataclass(frozen=True)
class Chosen:
    """A workload that is compared. without_url: this page without it; as_baseline_url: with it as the baseline."""

    name: str
    label: str
    url: str
    without_url: str
    as_baseline_url: str
    is_baseline: bool


@dataclass(frozen=True)
class Suggestion:
    """A link to a comparison."""

    text: str
    url: str


def chosen(asked: CompareAsked) -> tuple[Chosen, ...]:
    """The workloads of the page."""
    labels = workload_labels([str(each) for each in asked.workloads])
    return tuple(
        Chosen(
            name=str(each),
            label=labels.own[str(each)] or str(each),
            url=asked.page.page_of(each, metric=asked.goal.metric, target=asked.goal.target),
            without_url=asked.url(tuple(other for other in asked.workloads if other != each)),
            as_baseline_url=asked.url(baseline=each),
            is_baseline=each == asked.baseline,
        )
        for each in asked.workloads
    )


def to_add(asked: CompareAsked) -> tuple[Suggestion, ...]:
    """Workloads of the same data set that measure the metric, the nearest first."""
    first = asked.workloads[0]
    found = [
        each
        for each, facts in asked.page.view.workloads.items()
        if each not in asked.workloads and each.dataset == first.dataset and asked.goal.metric in facts.measured
    ]
    found.sort(key=lambda each: (each.model != first.model, each.optimizer != first.optimizer, each))
    return tuple(
        Suggestion(f"{each.model}, {each.optimizer}", asked.url((*asked.workloads, each)))
        for each in found[:_MOST_SUGGESTED]
    )


def to_begin_with(page: PageAsked) -> tuple[Suggestion, ...]:
    """Comparisons of all optimizers of a data set and model."""
    found = []
    for (_, dataset, model), workloads in _by_problem(page.view).items():
        if len(workloads) > 1:
            optimizers = ", ".join(each.optimizer for each in workloads)
            query = [*(("workload", str(each)) for each in workloads), ("release", page.pinned)]
            found.append(Suggestion(f"{model} on {dataset}: {optimizers}", with_query("/compare", query)))
    return tuple(found[:_MOST_SUGGESTED])


def names_to_type(view: ReleaseView) -> Sequence[str]:
    """The names that the field for another workload offers."""
    return [str(each) for each in list(view.workloads)[:_MOST_LISTED]]


def _by_problem(view: ReleaseView) -> dict[tuple[str, str, str], list[Workload]]:
    found = defaultdict(list)
    for each in view.workloads:
        found[each.collection, each.dataset, each.model].append(each)
    # The plainest first: sgd, momentum, nesterov_momentum.
    return {
        problem: sorted(workloads, key=lambda each: _plainness(each.optimizer)) for problem, workloads in found.items()
    }


def _plainness(optimizer: str) -> tuple[int, str]:
    known = ("sgd", "momentum", "nesterov_momentum", "nesterov")
    return (known.index(optimizer) if optimizer in known else len(known), optimizer)
