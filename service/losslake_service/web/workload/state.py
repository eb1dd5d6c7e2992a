"""What is asked of a workload: its goal, as the answers, the figures and other pages take it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from losslake.questions.parameters import Natural
from losslake.questions.selection import Goal, Selection
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.names import Study, Trial, Workload
from losslake_service.web.goals import GoalShown, goal_shown, metrics_of
from losslake_service.web.page import PageAsked, PageParameters
from losslake_service.web.templates import Query, with_query


def _without_sign_of_zero(target: float | None) -> float | None:
    return None if target is None else target + 0.0


class WorkloadParameters(PageParameters):
    """The state of the page."""

    metric: str | None = None
    """The metric of the goal; default: that of the workload's first goal."""
    target: Annotated[float | None, Field(allow_inf_nan=False), AfterValidator(_without_sign_of_zero)] = None
    """The target; default: the workload's goal, else one that every batch size reaches."""
    direction: Literal["minimize", "maximize"] | None = None
    """Which way is better, of a metric of which nobody has said it."""
    step_budget: Natural | None = None
    """Within how many steps the best value is looked for."""
    example_budget: Natural | None = None
    """Within how many examples."""


@dataclass(frozen=True)
class WorkloadAsked:
    """A workload and the goal that is looked at. is_told: the direction is the asker's, since nobody has said it."""

    page: PageAsked
    facts: WorkloadFacts
    goal: GoalShown
    is_told: bool

    @property
    def workload(self) -> Workload:
        return self.facts.workload

    @property
    def selection(self) -> Selection:
        """The trials that count: those that answers take unless told otherwise."""
        return Selection((self.workload,), self.goal.metric, self._direction)

    @property
    def as_goal(self) -> Goal:
        return Goal(self.goal.target)

    @property
    def metric_query(self) -> Query:
        """The parameters of an answer about all targets."""
        told = [] if self._direction is None else [("direction", self._direction)]
        return [("workload", str(self.workload)), ("metric", self.goal.metric), *told]

    @property
    def goal_query(self) -> Query:
        """The parameters of an answer about the target."""
        return [*self.metric_query, ("target", repr(self.goal.target))]

    def page_of(self, what: Workload | Study | Trial, **changed: object) -> str:
        """The address of a page about this goal; changed: other values of its parameters."""
        own = {"metric": self.goal.metric, "target": self.goal.target, "direction": self._direction}
        return self.page.page_of(what, **(own | changed))

    def compared(self, others: list[Workload]) -> str:
        """The address of the page that compares the workload with others."""
        names = [("workload", str(each)) for each in (self.workload, *others)]
        goal = [pair for pair in self.goal_query if pair[0] != "workload"]
        return with_query("/compare", [*names, *goal, ("release", self.page.pinned)])

    @property
    def _direction(self) -> str | None:
        return self.goal.direction if self.is_told else None


def workload_asked(page: PageAsked, facts: WorkloadFacts) -> WorkloadAsked | None:
    """What a request asks; None where nobody has said which way the metric is better, or nothing is measured.

    Raises UnknownName for a metric that isn't measured.
    """
    asked: WorkloadParameters = page.parameters
    metric = metric_shown(page, facts)
    if metric is None:
        return None
    is_told = page.view.metric(facts, metric).direction is None
    if is_told and asked.direction is None:
        return None
    return WorkloadAsked(
        page, facts, goal_shown(page.view, facts, asked.metric or metric, asked.target, asked.direction), is_told
    )


def metric_shown(page: PageAsked, facts: WorkloadFacts) -> str | None:
    """The metric that is looked at; None where nothing is measured."""
    asked: WorkloadParameters = page.parameters
    if asked.metric is not None:
        return asked.metric
    if metrics_of(page.view, facts):
        return goal_shown(page.view, facts, None, asked.target).metric
    return facts.measured[0] if facts.measured else None
