"""Targets: scaling for many targets in one call."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from losslake.output.answer import Answer, begun
from losslake.output.rows import Row, shown
from losslake.questions.errors import BadParameter
from losslake.questions.parameters import ComparatorParameters, Finite, Natural
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling import batch_of, result_columns
from losslake.questions.search import Search, searches_of, selection_facts
from losslake.questions.selection import Goal
from losslake.questions.study_results import study_results
from losslake.questions.summary import ComparatorSummary

MOST_TARGETS = 1000


class TargetsParameters(ComparatorParameters):
    """Scaling for many targets: give either target, repeated, or target_min and target_max."""

    target: Annotated[list[Finite], shown([0.05], "unit of the metric", max_length=MOST_TARGETS)] = Field(
        default_factory=list
    )
    """A target, in the metric's unit; may be repeated."""
    target_min: Annotated[Finite | None, shown(0.02, "unit of the metric")] = None
    """The lowest target of a grid."""
    target_max: Annotated[Finite | None, shown(0.2, "unit of the metric")] = None
    """The highest target of a grid."""
    n_targets: Annotated[Natural, shown(50, "targets", ge=1, le=MOST_TARGETS)] = 50
    """How many targets the grid has, both ends included."""
    spacing: Annotated[Literal["linear", "log"], shown("linear")] = "linear"
    """Whether the targets of the grid are spaced evenly, or by even ratios."""

    def targets(self) -> list[float]:
        """The targets asked for; raises BadParameter."""
        has_grid = self.target_min is not None or self.target_max is not None
        if bool(self.target) == has_grid:
            raise BadParameter("target", "give either target=…, which may be repeated, or target_min and target_max")
        if not has_grid:
            return list(dict.fromkeys(self.target))
        if self.target_min is None or self.target_max is None:
            raise BadParameter("target_min", "a grid needs both target_min and target_max")
        return target_grid(self.target_min, self.target_max, self.n_targets, self.spacing == "log")


class TargetsRow(Row):
    """A study and target."""

    workload: str
    target: float
    batch_size: int
    steps: Annotated[int | None, shown(400, "steps")]
    """Steps to result: the first step at which any admitted trial reaches the target; null if none does."""
    trial_id: Annotated[int | None, shown(17)]
    """The trial that took these steps, of several the one with the lowest number; null if none reached the target."""
    value: Annotated[float | None, shown(0.0421, "unit of the metric")]
    """The metric of that trial at that step; null if none reached the target."""
    examples: int | None
    previous_step: int | None
    n_trials: int
    n_reached: int


def answer(view: ReleaseView, parameters: TargetsParameters) -> Answer:
    """Steps to result by workload, target in the order given, and batch size; raises UnknownName and BadParameter."""
    selection = parameters.selection()
    goals = [Goal(target, parameters.comparator) for target in parameters.targets()]
    searches = searches_of(view, selection)
    facts = selection_facts(view, selection, searches[0].direction) | {"comparator": parameters.comparator}
    return Answer(facts, QUESTION.rows.schema, begun(_rows(searched, goal) for searched in searches for goal in goals))


QUESTION = Question(
    path="/v1/targets",
    doc="Scaling for many targets in one call.",
    parameters=TargetsParameters,
    row=TargetsRow,
    summary=ComparatorSummary,
    answer=answer,
)


def target_grid(lowest: float, highest: float, count: int, is_log: bool) -> list[float]:
    """So many targets from lowest to highest, both included, evenly or by even ratios; raises BadParameter."""
    if lowest > highest:
        raise BadParameter("target_min", "give finite target_min and target_max, the lower one first")
    if is_log and lowest <= 0:
        raise BadParameter("spacing", "spacing=log needs targets above 0: give another target_min, or spacing=linear")
    grid = np.geomspace(lowest, highest, count) if is_log else np.linspace(lowest, highest, count)
    return [float(target) for target in grid]


def _rows(searched: Search, goal: Goal) -> pa.RecordBatch:
    results = study_results(searched, goal)
    target = pa.repeat(pa.scalar(goal.target, pa.float64()), len(results.row))
    return batch_of({**result_columns(searched, results), "target": target}, QUESTION.rows.schema)
