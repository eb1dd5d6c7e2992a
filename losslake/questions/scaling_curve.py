"""Steps to a target by batch size, as the mathematics takes them.

The part of a scaling curve that can be drawn on logarithmic axes, and in words what is left out of it.
What to know of steps by batch size before anything is read off them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from losslake.analysis.log_curves import ScalingShape
from losslake.questions.search import Search, at
from losslake.questions.selection import Goal
from losslake.questions.study_results import study_results
from losslake.questions.wording import coarse_studies, listed, unequal_searches
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


@dataclass(frozen=True)
class UsableCurve:
    """The studies with a batch size and steps above 0, or that never reached the target; by ascending batch size.

    measured: all studies. studies: the index of each usable one among them. steps: inf for never.
    """

    found: Search
    measured: ScalingCurve
    studies: Integers

    @property
    def name(self) -> str:
        return str(self.found.facts.workload)

    @property
    def batch_sizes(self) -> Floats:
        return self.measured.batch_sizes[self.studies]

    @property
    def steps(self) -> Floats:
        return self.measured.steps[self.studies]

    @property
    def previous_steps(self) -> Floats:
        return self.measured.previous_steps[self.studies]

    @property
    def censored_at(self) -> Floats:
        """Steps that never-reached studies ran to."""
        return self.measured.censored_at[self.studies].astype(np.float64)

    @property
    def is_reached(self) -> Flags:
        return np.isfinite(self.steps)

    @property
    def n_reached(self) -> int:
        """How many batch sizes reached the target."""
        return int(self.is_reached.sum())

    def left_out(self) -> list[str]:
        """In words, the batch sizes that have no steps to use."""
        curve = self.measured
        at_once, sizeless = curve.is_reached & (curve.steps <= 0), curve.batch_sizes <= 0
        found = never_reached(self.found, curve)
        if at_once.any():
            found.append(
                f"{self.name}: the target is reached at step 0 at batch size {self._listed(at_once)}: give a harder one"
            )
        if sizeless.any():
            found.append(f"{self.name}: batch size {self._listed(sizeless)} has no place on a logarithmic scale")
        return found

    def _listed(self, studies: Flags) -> str:
        return ", ".join(str(self.found.facts.batch_sizes[index]) for index in np.flatnonzero(studies))


def usable_curve(found: Search, measured: ScalingCurve) -> UsableCurve:
    """The curve of a workload as the fits take it. measured: all of it, by the same search."""
    usable = (measured.batch_sizes > 0) & (measured.steps > 0)
    return UsableCurve(found, measured, np.flatnonzero(usable).astype(np.int64))


def curve_warnings(curve: UsableCurve, shape: ScalingShape) -> Iterator[str]:
    """In words: coarse evaluations, unequal searches, batch sizes that need more steps than smaller ones."""
    measured = curve.measured
    yield from unequal_searches(curve.name, measured.n_trials.tolist(), "trials= takes equally many")
    counts = measured.is_reached.copy()
    counts[np.setdiff1d(np.arange(len(counts)), curve.studies)] = False
    steps, previous = (
        np.where(np.isfinite(own), own, NEVER).astype(np.int64) for own in (measured.steps, measured.previous_steps)
    )
    yield from coarse_studies(curve.found, counts, steps, previous)
    if shape.is_undertuned.any():
        sizes = listed(curve.batch_sizes[shape.is_undertuned])
        yield f"{curve.name}: batch size {sizes} needs more steps than a smaller one: tuned worse, or noise"
