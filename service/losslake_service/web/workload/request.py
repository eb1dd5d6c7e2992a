"""A request for the page of a workload: its goal, as answers, charts and other pages take it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from losslake.questions.parameters import Natural
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.names import Study, Trial, Workload
from losslake_service.web.chart import Chart
from losslake_service.web.goals import GoalShown, goal_shown, metrics_of
from losslake_service.web.lines import statement
from losslake_service.web.page import GoalParameters, PageRequest
from losslake_service.web.templates import Query, with_query


def _without_sign_of_zero(target: float | None) -> float | None:
    return None if target is None else target + 0.0


class WorkloadParameters(GoalParameters):
    """The query of the page."""

    target: Annotated[float | None, Field(allow_inf_nan=False), AfterValidator(_without_sign_of_zero)] = None
    direction: Literal["minimize", "maximize"] | None = None
    """Which way is better, of a metric of which nobody has said it."""
    step_budget: Natural | None = None
    """Within how many steps the best value is looked for."""
    example_budget: Natural | None = None
    """Within how many examples."""


@dataclass(frozen=True)
class WorkloadRequest:
    """A workload and the goal that is looked at. direction: that of the goal where the request had to give it."""

    page: PageRequest
    facts: WorkloadFacts
    goal: GoalShown
    direction: str | None = None

    @property
    def workload(self) -> Workload:
        return self.facts.workload

    @property
    def of_metric(self) -> dict[str, Any]:
        """The parameters of a question about all targets."""
        return {"workload": [str(self.workload)], "metric": self.goal.metric, "direction": self.direction}

    @property
    def of_goal(self) -> dict[str, Any]:
        """The parameters of a question about the target."""
        return {**self.of_metric, "target": self.goal.target}

    @property
    def metric_query(self) -> Query:
        """The parameters of an answer about all targets."""
        direction = [] if self.direction is None else [("direction", self.direction)]
        return [("workload", str(self.workload)), ("metric", self.goal.metric), *direction]

    @property
    def goal_query(self) -> Query:
        """The parameters of an answer about the target."""
        return [*self.metric_query, ("target", repr(self.goal.target))]

    def page_of(self, what: Workload | Study | Trial, **changed: object) -> str:
        """Return the address of a page about this goal; changed: other values of its parameters."""
        return self.page.page_of(what, **{**self.goal.parameters, "direction": self.direction, **changed})

    def compared(self, others: Sequence[Workload]) -> str:
        """Return the address of the page that compares the workload with others."""
        names = [("workload", str(each)) for each in (self.workload, *others)]
        return with_query("/compare", [*names, *self.goal_query[1:], ("release", self.page.pinned)])

    def chart(self, kind: str, title: str, sql: str, query: Query | None = None, **options: Any) -> Chart:
        """Return a chart about the goal, or with the query. sql: the name of a statement."""
        # Statements know the metric's own direction only.
        text = "" if self.direction else statement(sql, **self.goal.parameters, **asdict(self.workload))
        return self.page.chart(kind, query or self.goal_query, f"{title}, {self.workload}", sql=text, **options)


def workload_request(page: PageRequest, facts: WorkloadFacts) -> WorkloadRequest | None:
    """Return the request; None where nobody has said which way the metric is better, or nothing is measured.

    Raises UnknownName for a metric that isn't measured.
    """
    given: WorkloadParameters = page.parameters
    metric = metric_shown(page, facts)
    if metric is None:
        return None
    known = page.view.metric(facts, metric).direction
    if known is None and given.direction is None:
        return None
    goal = goal_shown(page.view, facts, given.metric or metric, given.target, given.direction)
    return WorkloadRequest(page, facts, goal, given.direction if known is None else None)


def metric_shown(page: PageRequest, facts: WorkloadFacts) -> str | None:
    """Return the metric that is looked at; None where nothing is measured."""
    given: WorkloadParameters = page.parameters
    if given.metric is not None:
        return given.metric
    if metrics_of(page.view, facts):
        return goal_shown(page.view, facts, None, given.target).metric
    return facts.measured[0] if facts.measured else None


def scaling_chart(request: WorkloadRequest) -> Chart:
    """Return the chart of the steps to the target by batch size."""
    return request.chart("scaling", f"Steps to {request.goal.text} by batch size", "steps_to_result")
