"""The question of both steps to target and scaling, and what each trial of the workload has to say to it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from schema.names import LARGEST_INTEGER, Workload
from schema.registry import DIRECTIONS
from schema.tables import STATUSES
from service.errors import BadParameter
from service.release_view import Flags, Integers, Metric, ReleaseView, WorkloadFacts

Floats = npt.NDArray[np.float64]
Column = np.ma.MaskedArray[Any, Any] | npt.NDArray[Any]
Number = TypeVar("Number", np.int64, np.float64)
NEVER = np.int64(-1)
NOTHING = np.float64("nan")


@dataclass(frozen=True)
class GoalQuestion:
    """When do the trials of a workload reach a target?

    direction: minimize or maximize; None: the metric's own.
    step_budget, example_budget: evaluations with step, or step times batch size, up to and including this count.
    trials: of each study, the first so many by trial_id among those with an admitted status; None: all of them.
    """

    workload: Workload
    metric: str
    target: float
    direction: str | None = None
    step_budget: int | None = None
    example_budget: int | None = None
    trials: int | None = None
    statuses: tuple[str, ...] = ("COMPLETE",)

    def __post_init__(self) -> None:
        if not math.isfinite(self.target):
            raise BadParameter("target", f"target {self.target} is not finite: give a number to be beaten")
        if self.direction not in (None, *DIRECTIONS):
            raise BadParameter("direction", f"direction '{self.direction}' is neither minimize nor maximize")
        if not self.statuses or not set(self.statuses) <= set(STATUSES):
            raise BadParameter("status", f"status has to be one or more of {', '.join(STATUSES)}")
        for name, least in (("step_budget", 0), ("example_budget", 0), ("trials", 1)):
            count = getattr(self, name)
            if count is not None and not least <= count <= LARGEST_INTEGER:
                raise BadParameter(name, f"{name} {count} is out of range: give {least} or more, up to 2^63 - 1")


@dataclass(frozen=True)
class TrialResults:
    """For each trial of the workload, in the order of facts.trials: its first hit and its best value.

    admitted: of an admitted status, and among the first so many. reached: hit the target within the budgets.
    steps, value, previous_step: of the first hit, meaningless unless reached; previous_step is -1 for none.
    best_value: best finite value within the budgets, NaN for none.
    """

    facts: WorkloadFacts
    direction: str
    admitted: Flags
    reached: Flags
    steps: Integers
    value: Floats
    previous_step: Integers
    best_value: Floats


def trial_results(view: ReleaseView, question: GoalQuestion) -> TrialResults:
    """Find every trial's first hit; raises UnknownName and BadParameter."""
    facts = view.workload(question.workload)
    metric = view.metric(facts, question.metric)
    direction = question.direction or metric.direction
    if direction is None:
        why = f"nobody has said which way {metric.name} is better: give direction=minimize or direction=maximize"
        raise BadParameter("direction", why)
    found = _first_hits(view, facts, metric, question, direction)
    rows = _rows_of_trials(facts, found["study"], found["trial_id"])
    n = len(facts.trials.trial_id)
    steps = _spread(n, rows, found["steps"], NEVER)
    return TrialResults(
        facts=facts,
        direction=direction,
        admitted=_admitted(facts, question),
        reached=steps != NEVER,
        steps=steps,
        value=_spread(n, rows, found["value"], NOTHING),
        previous_step=_spread(n, rows, found["previous_step"], NEVER),
        best_value=_spread(n, rows, found["best_value"], NOTHING),
    )


def _first_hits(
    view: ReleaseView, facts: WorkloadFacts, metric: Metric, question: GoalQuestion, direction: str
) -> Mapping[str, Column]:
    """The columns of first_hits_in_records.sql, from the records if they were made for this direction."""
    parameters = {
        "sign": 1.0 if direction == "minimize" else -1.0,
        "target": float(question.target),
        "step_limits": _step_limits(facts, question),
    }
    if direction == metric.direction:
        studies = {"first_study": facts.first_study, "last_study": facts.last_study}
        columns = view.query("first_hits_in_records", parameters | studies | {"metric_id": metric.metric_id})
    else:
        where = {"files": view.measurement_files(facts), "batch_sizes": facts.batch_sizes, "metric": metric.name}
        columns = view.query("first_hits_in_measurements", parameters | where)
    return columns.fetchnumpy()


def _step_limits(facts: WorkloadFacts, question: GoalQuestion) -> list[int] | None:
    """By study, the last step within both budgets; None without a budget."""
    if question.step_budget is None and question.example_budget is None:
        return None
    limits = [LARGEST_INTEGER if question.step_budget is None else question.step_budget] * len(facts.batch_sizes)
    if question.example_budget is None:
        return limits
    return [min(limit, question.example_budget // size) for limit, size in zip(limits, facts.batch_sizes, strict=True)]


def _rows_of_trials(facts: WorkloadFacts, study: Integers, trial_id: Integers) -> Integers:
    """The row in facts.trials of each of these trials."""
    rows = np.empty(len(study), np.int64)
    order = np.argsort(study, kind="stable")
    parts = np.split(order, np.searchsorted(study[order], np.arange(1, len(facts.batch_sizes))))
    for index, part in enumerate(parts):
        own = facts.rows_of(index)
        rows[part] = own.start + np.searchsorted(facts.trials.trial_id[own], trial_id[part])
    return rows


def _admitted(facts: WorkloadFacts, question: GoalQuestion) -> Flags:
    codes = [STATUSES.index(status) for status in question.statuses]
    admitted = np.isin(facts.trials.status, codes)
    if question.trials is not None:
        for index in range(len(facts.batch_sizes)):
            own = admitted[facts.rows_of(index)]
            own &= np.cumsum(own) <= question.trials
    return admitted


def _spread(n: int, rows: Integers, values: Column, fill: Number) -> npt.NDArray[Number]:
    """An array of n entries: the values at those rows, and `fill` elsewhere and where they are null."""
    spread = np.full(n, fill, type(fill))
    spread[rows] = np.ma.filled(values, fill)
    return spread
