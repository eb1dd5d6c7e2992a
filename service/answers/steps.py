"""Steps to target: when each trial reaches a target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from schema.tables import STATUSES
from service.answers.described import DESCRIBED
from service.answers.goal import GoalQuestion, trial_results
from service.release_view import ReleaseView


@dataclass(frozen=True, slots=True)
class StepsRow:
    """When one trial reached the target."""

    __pydantic_config__ = DESCRIBED

    batch_size: int
    """Batch size of the trial's study, in the workload's batch unit."""
    trial_id: int
    """Number of the trial within its study."""
    status: str
    """COMPLETE, INCOMPLETE (stopped for an outside reason) or INFEASIBLE (diverged)."""
    steps: int | None
    """The first step at which the metric is strictly better than the target; null if it never is within the budgets."""
    value: float | None
    """The metric at that step; null if the target was not reached."""
    previous_step: int | None
    """The trial's evaluation before, the true crossing lies in (previous_step, steps]; null if there is none."""
    last_step: int | None
    """The last step at which the trial was evaluated, whatever the budgets; null if it never was."""


@dataclass(frozen=True, slots=True)
class StepsToTarget:
    """Steps to target of a workload by trial."""

    __pydantic_config__ = DESCRIBED

    release: int
    """The release that answered."""
    workload: str
    """The workload asked for: collection/dataset/model/optimizer."""
    metric: str
    """The metric asked for: split/quantity."""
    target: float
    """The target asked for; reached means strictly better."""
    direction: str
    """minimize or maximize: as asked for, else the metric's own."""
    rows: tuple[StepsRow, ...]
    """One row per admitted trial, by batch size and trial_id."""


def steps_to_target(view: ReleaseView, question: GoalQuestion) -> StepsToTarget:
    """Steps to target by trial; raises UnknownName and BadParameter."""
    results = trial_results(view, question)
    trials, sizes = results.facts.trials, np.diff(results.facts.offsets)
    columns = (
        np.repeat(results.facts.batch_sizes, sizes),
        trials.trial_id,
        trials.status,
        results.reached,
        results.steps,
        results.value,
        results.previous_step,
        trials.last_step,
    )
    rows = tuple(
        StepsRow(
            batch_size=batch_size,
            trial_id=trial_id,
            status=STATUSES[status],
            steps=steps if reached else None,
            value=value if reached else None,
            previous_step=previous_step if reached and previous_step >= 0 else None,
            last_step=last_step if last_step >= 0 else None,
        )
        for batch_size, trial_id, status, reached, steps, value, previous_step, last_step in zip(
            *(column[results.admitted].tolist() for column in columns), strict=True
        )
    )
    return StepsToTarget(view.number, str(question.workload), question.metric, question.target, results.direction, rows)
