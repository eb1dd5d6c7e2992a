"""A request for the page of a workload: its goal, and its parameters for answers, charts and links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from pydantic import Field, field_validator

from losslake.questions.declaration.measured import MeasureParameters
from losslake.questions.declaration.parameters import MOST_CONDITIONS, BudgetParameters, DirectionParameters
from losslake.questions.declaration.reference_lines import reference_of
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.step_amounts import measure_noun
from losslake.questions.trials.trials_where import chosen_trials
from losslake_schema.names import Study, Trial, Workload
from losslake_schema.quantities import capitalized
from losslake_schema.registry import metric_named
from losslake_service.web.chart import Chart
from losslake_service.web.code_lines import statement
from losslake_service.web.goals import PageGoal, metrics_of, page_goal, usual_metric
from losslake_service.web.measures import batch_unit, measured
from losslake_service.web.page import GoalParameters, PageRequest
from losslake_service.web.templates import with_query

FRAMED = "/embed/batch-size"
_STEPS = "steps_to_result"
# With fewer batch sizes nothing bends, so there are no regimes.
FEWEST_FOR_SCALING = 3
# Curves of a chart, and evaluations of each: as many as are drawn at once.
_MOST_CURVES, _POINTS = 100, 100
# Of the main chart, in px: it is whole on the first screen of 1400 x 900.
_HEIGHT = 460


class WorkloadParameters(MeasureParameters, BudgetParameters, DirectionParameters, GoalParameters):
    """The query of the page. direction: of a metric whose direction is unknown. Budgets: of the best value."""

    where: Annotated[list[str], Field(default_factory=list, max_length=MOST_CONDITIONS)]
    """Only trials of which this holds: NAME=VALUE of a metaparameter or fact; may be repeated, as for questions."""
    step_times: Annotated[str, Field(max_length=1000)] = ""
    """Seconds per step on the reader's hardware, BATCH_SIZE=SECONDS, separated by commas or spaces."""
    price: str = ""
    """The price of an accelerator hour."""
    trial_accelerators: str = ""
    """On how many accelerators the reader's trials run."""
    budget: str = ""
    """Number of new trials of the reader, of which the best counts."""
    conclusions: bool = False
    """Compare batch sizes at equal steps and at equal examples; it takes a moment."""

    @field_validator("where")
    @classmethod
    def _without_empty_ones(cls, where: list[str]) -> list[str]:
        """Leave out the choice of all trials in a form."""
        return list(dict.fromkeys(filter(None, where)))

    @field_validator("target")
    @classmethod
    def _without_sign_of_zero(cls, target: float | None) -> float | None:
        return None if target is None else target + 0.0


@dataclass(frozen=True)
class WorkloadRequest:
    """A workload and the goal of the page.

    facts: of the trials that the page is about. direction: only if the request gave it. measured: the parameters of
    what is counted; none for steps. where: the conditions that hold of these trials. refused: the requested target, if
    the metric can't have it; the goal is the default one then.
    """

    page: PageRequest
    facts: WorkloadFacts
    goal: PageGoal
    direction: str | None = None
    measured: Mapping[str, Any] = field(default_factory=dict)
    where: tuple[str, ...] = ()
    refused: float | None = None

    @property
    def workload(self) -> Workload:
        """The name of the workload."""
        return self.facts.workload

    @property
    def is_pool(self) -> bool:
        """True if the page is about the trials of all workloads that a pattern matches."""
        return self.facts.workloads != (self.workload,)

    @property
    def is_whole(self) -> bool:
        """True if the page is about all trials of one workload, as analyses of whole searches need it."""
        return not self.is_pool and not self.where

    @property
    def noun(self) -> str:
        """The measure in words: steps, examples, FLOPs, accelerator-seconds."""
        name: str = self.measured.get("measure", "steps")
        return measure_noun(name)

    @property
    def batch_unit(self) -> str:
        """The unit of batch sizes, mostly examples."""
        return batch_unit(self.page.view, self.facts)

    @property
    def has_regimes(self) -> bool:
        """True if the page shows how steps scale: not with one or two batch sizes, and not for other measures."""
        return not self.is_of_few and not self.measured

    @property
    def is_of_few(self) -> bool:
        """True with too few batch sizes to show scaling: the page is about curves instead."""
        return len(self.facts.fixed_sizes) < FEWEST_FOR_SCALING

    @property
    def of_metric(self) -> dict[str, Any]:
        """The parameters of an answer about all targets."""
        return {
            "workload": [str(self.workload)],
            "metric": self.goal.metric,
            "direction": self.direction,
            "where": [*self.where],
        }

    @property
    def of_goal(self) -> dict[str, Any]:
        """The parameters of an answer about the target."""
        return {**self.of_metric, "target": self.goal.target}

    @property
    def of_figure(self) -> dict[str, Any]:
        """The parameters of the page that other sites frame: of the live figure at the target."""
        return {**self.of_goal, "workload": str(self.workload), "where": None}

    def page_url(self, what: Workload | Study | Trial, **changed: object) -> str:
        """Return the address of a page about this goal. changed: parameters to replace."""
        state = {**self.goal.parameters, "direction": self.direction, "where": [*self.where], **self.measured}
        return self.page.page_url(what, **{**state, **changed})

    def compared(self, others: Sequence[Workload]) -> str:
        """Return the address of the page that compares the workload with others, at a goal that isn't just proposed."""
        goal = {} if self.goal.is_proposed else self.goal.parameters
        return self.page.url("/compare", workload=(self.workload, *others), **goal, where=[*self.where])

    @property
    def curves_url(self) -> str:
        """The address of the curve viewer with all trials; of two values of one fact, each has its colour."""
        names = [condition.partition("=")[0] for condition in self.where]
        has_sizes = len(self.facts.batch_sizes) > 1
        query = {
            "workload": self.workload,
            "where": [*self.where],
            "metric": self.goal.metric,
            "target": None if self.goal.is_proposed else self.goal.target,
            "log": "x" if has_sizes else None,
            "panels": "size" if has_sizes else None,
            "colour": next((name for name in names if names.count(name) > 1), None),
        }
        return self.page.url("/viewer", **query)

    def chart(self, kind: str, title: str, sql: str, query: Mapping[str, object] | None = None, **more: Any) -> Chart:
        """Return a chart about the goal, or with another query. sql: the name of a statement, or empty."""
        # Statements support only the metric's own direction and all trials, and only one of them a pool.
        text = ""
        if self.direction or self.where:
            sql = ""
        if self.is_pool and sql == _STEPS:
            text = statement(f"pooled_{sql}", **self.goal.parameters, workload=str(self.workload))
        elif sql and not self.is_pool:
            text = statement(sql, **self.goal.parameters, **asdict(self.workload))
        return self.page.chart(
            kind, query or self.of_goal, f"{title}, {self.workload}", sql=text, heading=title, **more
        )


def workload_request(page: PageRequest, facts: WorkloadFacts) -> WorkloadRequest | None:
    """Return the request; None if the direction of the metric is unknown, or nothing is measured.

    Raises UnknownName for a metric that isn't measured.
    """
    requested: WorkloadParameters = page.parameters
    metric = page_metric(page, facts)
    if metric is None:
        return None
    stored_direction = page.view.metric(facts, metric).direction
    if stored_direction is None and requested.direction is None:
        return None
    can_reach = requested.target is None or metric_named(metric).can_reach(requested.target)
    target, refused = (requested.target, None) if can_reach else (None, requested.target)
    goal = page_goal(page.view, facts, metric, target, requested.direction)
    direction = requested.direction if stored_direction is None else None
    chosen = chosen_trials(page.view, facts, goal.metric, tuple(requested.where))
    return WorkloadRequest(page, chosen, goal, direction, measured(requested), tuple(requested.where), refused)


def page_metric(page: PageRequest, facts: WorkloadFacts) -> str | None:
    """Return the metric of the page; None if nothing is measured."""
    requested: WorkloadParameters = page.parameters
    if requested.metric is not None:
        return requested.metric
    if metrics_of(page.view, facts):
        is_default = requested.target is None
        return page_goal(page.view, facts, None, None).metric if is_default else usual_metric(page.view, facts)
    return facts.measured[0] if facts.measured else None


def main_chart(request: WorkloadRequest) -> Chart:
    """Return the chart of what is counted to the target by batch size; with one or two of them, the curves."""
    return _curves(request) if request.is_of_few else scaling_chart(request)


def scaling_chart(request: WorkloadRequest) -> Chart:
    """Return the chart of what is counted by batch size; beside reference runs if the goal is a known one."""
    reference = reference_of(request.page.view, request.workload) if request.goal.source else None
    query = {**request.of_goal, **request.measured, "reference": reference}
    sql = "" if request.measured else _STEPS
    more = {"height": _HEIGHT, "frame": frame_path(request) if request.has_regimes and request.is_whole else ""}
    return request.chart("scaling", scaling_title(request), sql, query, **more)


def frame_path(request: WorkloadRequest) -> str:
    """Return the path of the page that other sites frame: the chart of a workload with its controls."""
    return with_query(FRAMED, {**request.of_figure, "release": request.page.view.number}.items())


def scaling_title(request: WorkloadRequest) -> str:
    """Return the title of that chart."""
    return f"{capitalized(request.noun)} to {request.goal.text} by batch size"


def _curves(request: WorkloadRequest) -> Chart:
    """Return the chart of the curves of all trials, evenly sampled if there are many."""
    facts, goal = request.facts, request.goal
    names = [
        str(Trial(Study(stored.workload, facts.batch_sizes[study]), trial_id))
        for study, rows, stored, _ in facts.parts()
        for trial_id in facts.trials.trial_id[rows].tolist()
    ]
    drawn = names[:: -(-len(names) // _MOST_CURVES)]
    which = {"trial": drawn}
    if len(drawn) == len(names) and not request.where:
        which = {
            "study": [str(Study(stored.workload, facts.batch_sizes[study])) for study, _, stored, _ in facts.parts()]
        }
    who = "all trials" if len(drawn) == len(names) else f"{len(drawn)} of {len(names):,} trials"
    return request.chart(
        "curves",
        f"{goal.metric} of {who}",
        "",
        {**which, "metric": goal.metric, "points": _POINTS, **request.measured},
        height=_HEIGHT,
        options={"colour_by": "outcome", "target": goal.target},
    )
