"""Scaling: how many steps the best trial takes to a target, by batch size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from service.answers.described import DESCRIBED
from service.answers.goal import GoalQuestion, TrialResults, trial_results
from service.release_view import ReleaseView


@dataclass(frozen=True, slots=True)
class ScalingRow:
    """The result of one study: the least steps to target over its admitted trials, ties to the lower trial_id."""

    __pydantic_config__ = DESCRIBED

    batch_size: int
    """Batch size of the study, in the workload's batch unit."""
    steps: int | None
    """Steps to result: the first step at which any admitted trial is strictly better than the target; null if none."""
    trial_id: int | None
    """The trial that took these steps; null if none reached the target."""
    value: float | None
    """The metric of that trial at that step; null if none reached the target."""
    examples: int | None
    """steps times batch_size; null if none reached the target."""
    previous_step: int | None
    """That trial's evaluation before, the true crossing lies in (previous_step, steps]; null if there is none."""
    n_trials: int
    """Trials admitted: of an admitted status, and among the first `trials` of those by trial_id."""
    n_reached: int
    """Of these, the trials that reached the target within the budgets."""
    best_value: float | None
    """Best finite value of the metric over the admitted trials within the budgets; null if there is none."""
    perfect_scaling_steps: float | None
    """Steps if doubling the batch size halved them, from the smallest batch size with a result; null without any."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """Steps to result of a workload by batch size."""

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
    rows: tuple[ScalingRow, ...]
    """One row per batch size, ascending; a study in which no trial reached the target has null steps."""


def scaling(view: ReleaseView, question: GoalQuestion) -> Scaling:
    """Steps to result by batch size; raises UnknownName and BadParameter."""
    results = trial_results(view, question)
    found = [_best_trial(results, index) for index in range(len(results.facts.batch_sizes))]
    sizes = results.facts.batch_sizes
    base = next(((size, int(results.steps[row])) for size, row in zip(sizes, found, strict=True) if row >= 0), None)
    return Scaling(
        release=view.number,
        workload=str(question.workload),
        metric=question.metric,
        target=question.target,
        direction=results.direction,
        rows=tuple(_row(results, index, row, base) for index, row in enumerate(found)),
    )


def _best_trial(results: TrialResults, study: int) -> int:
    """The row of the trial with the least steps, of several the one with the lowest trial_id; -1 for none."""
    own = results.facts.rows_of(study)
    hits = np.flatnonzero(results.admitted[own] & results.reached[own])
    if not len(hits):
        return -1
    return int(own.start + hits[np.argmin(results.steps[own][hits])])


def _row(results: TrialResults, study: int, row: int, base: tuple[int, int] | None) -> ScalingRow:
    own = results.facts.rows_of(study)
    admitted = results.admitted[own]
    batch_size = results.facts.batch_sizes[study]
    steps = int(results.steps[row]) if row >= 0 else None
    return ScalingRow(
        batch_size=batch_size,
        steps=steps,
        trial_id=int(results.facts.trials.trial_id[row]) if row >= 0 else None,
        value=float(results.value[row]) if row >= 0 else None,
        examples=steps * batch_size if steps is not None else None,
        previous_step=int(results.previous_step[row]) if row >= 0 and results.previous_step[row] >= 0 else None,
        n_trials=int(np.count_nonzero(admitted)),
        n_reached=int(np.count_nonzero(admitted & results.reached[own])),
        best_value=_best_value(results.best_value[own][admitted].tolist(), results.direction),
        perfect_scaling_steps=base[1] * base[0] / batch_size if base is not None else None,
    )


def _best_value(values: list[float], direction: str) -> float | None:
    measured = [value for value in values if value == value]
    if not measured:
        return None
    return min(measured) if direction == "minimize" else max(measured)
