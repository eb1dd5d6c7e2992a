"""Scaling for many targets in one call."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field

from losslake.output.answer import Answer, Part, prefetched
from losslake.output.rows import Row, shown
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.measured import AmountColumns, MeasureParameters, MeasureSummary
from losslake.questions.declaration.parameters import (
    ComparatorParameters,
    Finite,
    Natural,
    ResultParameters,
    check_targets,
)
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import ComparatorSummary, ResultSummary, results_of
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.scaling import ResultColumns, result_columns
from losslake.questions.trials.examples import shown_sizes
from losslake.questions.trials.measure import Measure
from losslake.questions.trials.search import open_searches
from losslake.questions.trials.selection import Goal
from losslake.questions.trials.study_results import study_results

MOST_TARGETS = 1000


class TargetsParameters(MeasureParameters, ResultParameters, ComparatorParameters):
    """The parameters of scaling for many targets: give either target, repeated, or target_min and target_max."""

    target: Annotated[list[Finite], shown([0.05], "unit of the metric", max_length=MOST_TARGETS)] = Field(
        default_factory=list
    )
    """A target, in the metric's unit; may be repeated."""
    target_min: Annotated[Finite | None, shown(0.02, "unit of the metric")] = None
    """The lowest target of a grid."""
    target_max: Annotated[Finite | None, shown(0.2, "unit of the metric")] = None
    """The highest target of a grid."""
    n_targets: Annotated[Natural, shown(50, "targets", ge=1, le=MOST_TARGETS)] = 50
    """Number of targets in the grid, both ends included."""
    spacing: Annotated[Literal["linear", "log"], shown("linear")] = "linear"
    """linear: targets of the grid are spaced evenly; log: by even ratios."""

    def with_goal(self, view: ReleaseView) -> Self:
        """Return these parameters, completed; raises UnknownName, and BadParameter for a target out of range, too."""
        completed = super().with_goal(view)
        check_targets(completed.metric, target_min=self.target_min, target_max=self.target_max)
        for target in self.target:
            check_targets(completed.metric, target=target)
        return completed

    def targets(self) -> list[float]:
        """Return the requested targets; raises BadParameter."""
        has_grid = self.target_min is not None or self.target_max is not None
        if bool(self.target) == has_grid:
            raise BadParameter("target", "give either target=…, which may be repeated, or target_min and target_max")
        if not has_grid:
            return list(dict.fromkeys(self.target))
        if self.target_min is None or self.target_max is None:
            raise BadParameter("target_min", "a grid needs both target_min and target_max")
        return target_grid(self.target_min, self.target_max, self.n_targets, self.spacing == "log")


class TargetKeys(Row):
    """The columns that name a study and a target."""

    workload: str
    target: float
    batch_size: int | None


class TargetsRow(AmountColumns, ResultColumns, TargetKeys):
    """A study and target."""


class TargetsSummary(MeasureSummary, ResultSummary, ComparatorSummary):
    """The request, and warnings about the amounts."""

    warnings: Annotated[list[str], shown(["FLOPs are 6 x n_parameters a token"])]
    """The rules by which FLOPs were counted that no log states; empty for other measures."""


def _answer(view: ReleaseView, parameters: TargetsParameters) -> Answer:
    """Return steps to result by workload, target as given, and batch size; raises UnknownName and BadParameter."""
    comparator = parameters.known_comparator
    goals = [Goal(target, comparator) for target in parameters.targets()]
    searches = open_searches(view, parameters.selection(), with_schedules=True)
    measures = [Measure.of(view, search, parameters.counting()) for search in searches]
    parts = prefetched(_rows(measure, goal) for measure in measures for goal in goals)
    hardest = [min(goals, key=lambda goal: goal.target * search.sign) for search in searches]
    warnings = [text for measure in measures for text in measure.caveats()]
    facts = {"results": results_of(searches), "warnings": warnings}
    return QUESTION.answered(view, parameters, parts, facts, searches=searches, goals=hardest)


QUESTION = Question(
    path="/v1/targets",
    doc="Scaling for many targets in one call.",
    parameters=TargetsParameters,
    row=TargetsRow,
    summary=TargetsSummary,
    compute=_answer,
    cost=lambda parameters: Cost(600, 20, 0.5).times(len(parameters.target) or parameters.n_targets),
)


def target_grid(lowest: float, highest: float, count: int, is_log: bool) -> list[float]:
    """Return `count` targets from lowest to highest, spaced evenly or by even ratios; raises BadParameter."""
    if lowest > highest:
        raise BadParameter("target_min", "give finite target_min and target_max, the lower one first")
    if is_log and lowest <= 0:
        raise BadParameter("spacing", "spacing=log needs targets above 0: give another target_min, or spacing=linear")
    grid = np.geomspace(lowest, highest, count) if is_log else np.linspace(lowest, highest, count)
    return [float(target) for target in grid]


def _rows(measure: Measure, goal: Goal) -> Part:
    search = measure.search
    results = study_results(search, goal)
    amounts = measure.least(results, goal).columns(search)
    rows = QUESTION.rows.of({**result_columns(search, results, goal), **amounts, "target": goal.target})
    return shown_sizes(search.facts, rows)
