"""Steps to a target by batch size, as the mathematics takes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake.questions.goal import Goal
from losslake.questions.search import Search, at
from losslake.questions.study_results import study_results
from losslake_schema.reached import NEVER, Flags, Floats, Integers


@dataclass(frozen=True)
class ScalingCurve:
    """By study of a workload, by ascending batch size.

    batch_sizes: in batch_unit. steps: of the best trial, inf where none reached the target. previous_steps: of the
    evaluation before, NaN where there is none. censored_at: the last step up to which any admitted trial was seen
    within the budgets, -1 for none. n_trials, n_reached: trials admitted, and how many of these reached the target.
    """

    batch_sizes: Floats
    steps: Floats
    previous_steps: Floats
    censored_at: Integers
    n_trials: Integers
    n_reached: Integers

    @property
    def is_reached(self) -> Flags:
        return np.isfinite(self.steps)


def scaling_curve(found: Search, goal: Goal) -> ScalingCurve:
    """The curve that a workload has for a goal."""
    results, facts = study_results(found, goal), found.facts
    is_reached = results.row != NEVER
    has_previous = is_reached & (results.previous_step >= 0)
    return ScalingCurve(
        batch_sizes=np.asarray(facts.batch_sizes, np.float64),
        steps=np.where(is_reached, results.steps, np.inf),
        previous_steps=np.where(has_previous, results.previous_step, np.nan),
        censored_at=found.last_steps,
        n_trials=found.n_admitted,
        n_reached=results.n_reached,
    )


def trial_steps(found: Search, goal: Goal) -> Floats:
    """By trial, in the order of facts.trials: steps to the target, inf for never or for a trial not admitted."""
    hits = found.first_hits(goal)
    return np.where(hits == NEVER, np.inf, at(found.records.step, hits))


def never_reached(found: Search, curve: ScalingCurve) -> list[str]:
    """In words, each batch size at which no trial reached the target."""
    return [
        f"{found.facts.workload}: no trial of {n_trials} reached the target at batch size {batch_size}"
        + (f" within {until:,} steps" if until >= 0 else "")
        for batch_size, n_trials, until, is_reached in zip(
            found.facts.batch_sizes,
            curve.n_trials.tolist(),
            curve.censored_at.tolist(),
            curve.is_reached.tolist(),
            strict=True,
        )
        if not is_reached
    ]
