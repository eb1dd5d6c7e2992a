"""Steps to a target by batch size, as arrays for the analyses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from losslake.questions.trials.search import Search, at
from losslake.questions.trials.selection import Goal
from losslake.questions.trials.study_results import study_results
from losslake_schema.reached import NEVER, Flags, Floats, Integers


@dataclass(frozen=True)
class ScalingCurve:
    """By study of a workload, by ascending batch size.

    batch_sizes: in batch_unit. steps: of the best trial, inf where none reached the target. previous_steps: of the
    evaluation before, NaN where there is none. censored_at: the last evaluation of any admitted trial, or
    the budget if it was evaluated beyond that; -1 for none. n_trials, n_reached: trials admitted, and how many of these
    reached the target.
    """

    batch_sizes: Floats
    steps: Floats
    previous_steps: Floats
    censored_at: Integers | Floats
    n_trials: Integers
    n_reached: Integers

    @property
    def is_reached(self) -> Flags:
        """True where the target was reached."""
        return np.isfinite(self.steps)


def scaling_curve(search: Search, goal: Goal) -> ScalingCurve:
    """Return the scaling curve of a workload for a goal."""
    results, facts = study_results(search, goal), search.facts
    is_reached = results.row != NEVER
    has_previous = is_reached & (results.previous_step >= 0)
    return ScalingCurve(
        batch_sizes=np.asarray(facts.batch_sizes, np.float64),
        steps=np.where(is_reached, results.steps, np.inf),
        previous_steps=np.where(has_previous, results.previous_step, np.nan),
        censored_at=search.last_steps,
        n_trials=search.n_admitted,
        n_reached=results.n_reached,
    )


def trial_steps(search: Search, goal: Goal) -> Floats:
    """Return steps to the target by trial, as in facts.trials; inf for never, and for trials not admitted."""
    hits = search.first_hits(goal)
    return np.where(hits == NEVER, np.inf, at(search.records.step, hits))


def never_reached(search: Search, curve: ScalingCurve) -> Iterator[str]:
    """Yield in words each batch size that didn't reach the target: no trial did, or too few of each setting."""
    for study in np.flatnonzero(~curve.is_reached).tolist():
        n_reached, n_trials = curve.n_reached[study], curve.n_trials[study]
        few = f"fewer than half of the trials of any setting, {n_reached} of all {n_trials},"
        who = few if n_reached else f"no trial of {n_trials}" if n_trials else "no trial counts, so none"
        text = f"{who} reached the target at batch size {search.facts.batch_sizes[study]}"
        until = int(curve.censored_at[study])
        yield f"{search.facts.workload}: {text}" + (f" within {until:,} steps" if until >= 0 else "")
