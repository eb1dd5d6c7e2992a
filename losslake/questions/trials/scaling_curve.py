"""Steps to a target by batch size, as arrays for the analyses; their part that can be fitted on logarithmic axes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from losslake.analysis.break_points import Domination, dominated
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.batch_size_words import joined
from losslake.questions.trials.search import Search, at
from losslake.questions.trials.selection import Goal
from losslake.questions.trials.step_warnings import coarse_studies, unequal_searches
from losslake.questions.trials.study_results import study_results
from losslake_schema.names import size_name
from losslake_schema.reached import NEVER, Flags, Floats, Integers

_MOST_SHARES = 4
TUNED_WORSE = "tuned worse, not counted"
EXACT_STEPS = (
    "only points of convergence are known, not the evaluations before them: their steps count as exact, so intervals "
    "leave out the spacing of evaluations"
)


@dataclass(frozen=True)
class ScalingCurve:
    """By study of a workload, by ascending batch size.

    batch_sizes: in batch_unit. steps: of the best trial, inf where none reached the target. previous_steps: of the
    evaluation before, NaN where there is none; equal to steps, which count as exact, where only points of convergence
    are known. censored_at: the last evaluation of any admitted trial, or the budget if it was evaluated beyond that; -1
    for none. n_trials, n_reached: trials admitted, and how many of these
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
    steps = np.where(is_reached, results.steps, np.inf)
    return ScalingCurve(
        batch_sizes=np.asarray(facts.batch_sizes, np.float64),
        steps=steps,
        previous_steps=known_before(facts, steps, results.previous_step),
        censored_at=search.last_steps,
        n_trials=search.n_admitted,
        n_reached=results.n_reached,
    )


def known_before(facts: WorkloadFacts, steps: Floats, previous_steps: Integers) -> Floats:
    """Return the steps of the evaluations before these, NaN for none, and where the target is never reached.

    steps: inf for never. previous_steps: below 0 for none. Nobody knows the evaluations before a published point of
    convergence: no spacing may be invented for it, so its steps count as exact.
    """
    known = np.where(previous_steps >= 0, previous_steps, steps if facts.is_reference else np.nan)
    return np.where(np.isfinite(steps), known, np.nan)


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
        text = f"{who} reached the target at batch size {size_name(search.facts.batch_sizes[study])}"
        until = int(curve.censored_at[study])
        yield f"{search.facts.workload}: {text}" + (f" within {until:,} steps" if until >= 0 else "")


@dataclass(frozen=True)
class UsableCurve:
    """The studies with a batch size and steps above 0, or that never reached the target; by ascending batch size.

    measured: all studies. studies: the index of each usable one among them. steps: the fewest, inf for never.
    previous_steps: of the evaluations before, NaN for none. censored_at: the last steps of studies that never reached
    the target. domination: of these, as one curve.
    """

    search: Search
    measured: ScalingCurve
    studies: Integers
    batch_sizes: Floats
    steps: Floats
    previous_steps: Floats
    censored_at: Floats
    domination: Domination

    @property
    def name(self) -> str:
        """The workload."""
        return str(self.search.facts.workload)

    @property
    def is_dominated(self) -> Flags:
        """True for batch sizes that were tuned worse than others, and so say nothing about scaling."""
        is_dominated: Flags = self.domination.is_dominated[0]
        return is_dominated

    @property
    def tuned_steps(self) -> Floats:
        """The fewest steps; inf for never, NaN for dominated batch sizes."""
        return np.where(self.is_dominated, np.nan, self.steps)

    @property
    def n_trials(self) -> Integers | None:
        """The number of trials of which the best counts; None for results of settings."""
        return None if self.search.rule.is_of_settings else self.measured.n_trials[self.studies]

    @property
    def is_reached(self) -> Flags:
        """True where the target was reached."""
        return np.isfinite(self.steps)

    @property
    def n_reached(self) -> int:
        """The number of batch sizes that reached the target."""
        return int(self.is_reached.sum())

    @property
    def n_tuned(self) -> int:
        """The number of batch sizes that reached the target and aren't dominated."""
        return int(np.isfinite(self.tuned_steps).sum())

    def left_out(self) -> Iterator[str]:
        """Yield in words the batch sizes without usable steps."""
        curve = self.measured
        at_once = curve.is_reached & (curve.steps <= 0)
        yield from never_reached(self.search, curve)
        if at_once.any():
            where = f"batch size {self._listed(at_once)}"
            yield f"{self.name}: the target is reached at step 0 at {where}: give a harder one"
        yield from self._dominated()

    def _dominated(self) -> Iterator[str]:
        """Yield in words the batch sizes that took far more examples than a larger one, or steps than a smaller one."""
        by_examples, by_steps = self.domination.examples[0], self.domination.steps[0]
        for times, is_more, than in (
            (by_examples, by_examples >= by_steps, "examples than larger ones"),
            (by_steps, by_examples < by_steps, "steps than smaller ones"),
        ):
            which = self.is_dominated & is_more
            more = [f"{share:.0%}" for share in (times[which] - 1).tolist()]
            if more:
                how_much = joined(more) if len(more) <= _MOST_SHARES else f"up to {times[which].max() - 1:.0%}"
                named = joined([f"{size:,.0f}" for size in self.batch_sizes[which].tolist()])
                sizes = f"batch sizes {named}" if len(more) > 1 else f"batch size {named}"
                yield f"{self.name}: {sizes} took {how_much} more {than}: {TUNED_WORSE}"

    def _listed(self, studies: Flags) -> str:
        return ", ".join(str(self.search.facts.batch_sizes[index]) for index in np.flatnonzero(studies))


def usable_curve(search: Search, measured: ScalingCurve, tau: float | None = None) -> UsableCurve:
    """Return the part of a curve that can be fitted.

    measured: the whole curve, of the same search. tau: the tolerance of dominated batch sizes; None: that of the rule.
    """
    usable = np.flatnonzero(measured.steps > 0).astype(np.int64)
    sizes, steps, before = (each[usable] for each in (measured.batch_sizes, measured.steps, measured.previous_steps))
    domination = dominated(sizes, steps, search.rule.undertuned_tau if tau is None else tau, before)
    censored_at = measured.censored_at[usable].astype(np.float64)
    return UsableCurve(search, measured, usable, sizes, steps, before, censored_at, domination)


def curve_warnings(curve: UsableCurve) -> Iterator[str]:
    """Yield warnings: coarse or unknown evaluations, and unequal searches."""
    measured = curve.measured
    if curve.search.facts.is_reference:
        yield f"{curve.name}: {EXACT_STEPS}"
    if not curve.search.rule.is_of_settings:
        yield from unequal_searches(curve.name, measured.n_trials.tolist())
    counts = measured.is_reached & np.isin(np.arange(len(measured.steps)), curve.studies)
    steps, previous = (
        np.where(np.isfinite(each), each, NEVER).astype(np.int64) for each in (measured.steps, measured.previous_steps)
    )
    yield from coarse_studies(curve.search, counts, steps, previous)
