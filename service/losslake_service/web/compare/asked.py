"""What is compared: workloads, the one that all others are held against, and a goal that all of them measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from losslake.questions.analysis.compare import MOST_COMPARED
from losslake.questions.errors import BadParameter
from losslake.questions.parameters import Natural
from losslake.questions.selection import Goal, Selection, named_workload
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.names import Workload
from losslake_service.web.addresses import Query, with_query
from losslake_service.web.goals import GoalShown, goal_shown, goals_of, metrics_of, reachable
from losslake_service.web.page import PageAsked, PageParameters


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
