"""The amounts that a competitor's trials take to a goal, as entries of a contest."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from losslake.analysis.best_setting import usual_of_settings
from losslake.questions.comparison.contest import Entry
from losslake.questions.release.workload_facts import workload_labels
from losslake.questions.trials.batch_size_words import joined
from losslake.questions.trials.measure import Measure
from losslake.questions.trials.resources import is_one_system, systems_in_words, systems_of
from losslake.questions.trials.scaling_curve import ScalingCurve, scaling_curve, trial_steps
from losslake.questions.trials.search import Search, at
from losslake.questions.trials.selection import Goal
from losslake.questions.trials.study_results import least_by_study
from losslake_schema.reached import NEVER, Floats, Integers


@dataclass(frozen=True)
class MeasuredTrials:
    """The amounts that the trials of a competitor need to reach a goal.

    amounts: by trial, inf for never, NaN where it isn't known. curve: of the least amounts.
    """

    measure: Measure
    amounts: Floats
    curve: ScalingCurve

    def left_out(self) -> Iterator[str]:
        """Yield in words the trials of unknown amounts."""
        yield from self.measure.left_out(int(np.isnan(self.amounts).sum()))


def hardware_differs(measured: Sequence[MeasuredTrials], names: Sequence[str], sizes: Collection[int]) -> Iterator[str]:
    """Yield in words that times compare the hardware, too, unless all trials ran on the same; nothing for steps.

    names: of the competitors. sizes: the batch sizes at which they are compared.
    """
    if measured[0].measure.in_steps is not None:
        return
    of_each = [_systems(each, sizes) for each in measured]
    if not is_one_system(set().union(*of_each)):
        labels = workload_labels(names).short
        parts = [
            f"{labels[name]} ran on {systems_in_words(systems)}"
            for name, systems in zip(names, of_each, strict=True)
            if systems
        ]
        yield f"{measured[0].measure.noun} compare the hardware, too: {joined(parts)}"


def _systems(measured: MeasuredTrials, sizes: Collection[int]) -> set[str | None]:
    """Return what the trials with known amounts at these batch sizes ran on."""
    facts = measured.measure.search.facts
    is_compared = facts.of_batch_sizes(sizes) & np.isfinite(measured.amounts)
    return systems_of(measured.measure.view, facts, is_compared)


def measured_trials(measure: Measure, goal: Goal) -> MeasuredTrials:
    """Return the amounts that the trials of a workload need to reach a goal."""
    search = measure.search
    hits = search.first_hits(goal)
    amounts = measure.of_trials(hits)
    return MeasuredTrials(measure, amounts, _curve_of(measure, scaling_curve(search, goal), hits, amounts))


def _curve_of(measure: Measure, curve: ScalingCurve, hits: Integers, amounts: Floats) -> ScalingCurve:
    """Return a curve with amounts instead of steps. hits, amounts: by trial, as `of_trials` takes and returns them.

    For times, those of evaluations before, and of runs that never reach the target, are those of their steps at
    the least time a step of any trial of the study that reached it; 0 if none did. For other measures, runs that never
    reach it take what the trial of the study would take that takes the least for these steps; 0 if it isn't known.
    """
    search = measure.search
    facts, steps = search.facts, at(search.records.step, hits)
    of_study = least_by_study(search, amounts, steps)
    row, least = of_study.row, of_study.amount
    previous = at(at(search.records.previous_step, hits), row)
    if measure.in_steps is not None:
        of_previous = measure.in_steps.of_steps(previous, row)
        until = measure.in_steps.of_steps(curve.censored_at[facts.study_of_trial], np.arange(len(hits)))
        shortest = facts.first_least_by_study(np.isfinite(until), until)
        censored_at = np.where(shortest == NEVER, 0.0, at(until, shortest))
    else:
        pace = np.where(np.isfinite(amounts) & (steps > 0), amounts / np.maximum(steps, 1), np.inf)
        fastest = facts.first_least_by_study(np.isfinite(pace), pace, steps)
        factors = np.where(fastest == NEVER, 0.0, at(pace, fastest))
        of_previous, censored_at = previous * factors, curve.censored_at * factors
    return ScalingCurve(
        batch_sizes=curve.batch_sizes,
        steps=least,
        previous_steps=np.where((row != NEVER) & (previous >= 0), of_previous, np.nan),
        censored_at=np.where(curve.censored_at >= 0, censored_at, -1),
        n_trials=curve.n_trials,
        n_reached=curve.n_reached,
    )


def entries(measured: MeasuredTrials, goal: Goal, competitor: str, rest: str) -> Iterator[Entry]:
    """Yield the trials of a competitor, or its settings, by batch size. rest: what else tells columns apart."""
    search, steps = measured.measure.search, measured.amounts
    trials = search.facts.trials
    counts = search.admitted & ~search.stopped_earlier(goal) & ~np.isnan(steps)
    for batch_size, rows in zip(search.facts.batch_sizes, search.facts.rows_where(counts), strict=True):
        settings, submitters, place = trials.setting[rows], trials.submitter[rows], (rest, batch_size)
        if search.rule.is_of_settings:
            usual, first = usual_of_settings(steps[rows], settings, search.rule.seeds)
            yield Entry(competitor, place, usual, settings[first], submitters[first], steps[rows])
        else:
            yield Entry(competitor, place, steps[rows], settings, submitters)


def admitted_steps(search: Search, goal: Goal) -> list[Floats]:
    """Return by study the steps to the target of its admitted trials that didn't stop earlier; inf for never."""
    steps = trial_steps(search, goal)
    return [steps[rows] for rows in _admitted_rows(search, goal)]


def admitted_entries(search: Search, goal: Goal, competitor: str, rest: str) -> Iterator[Entry]:
    """Yield by batch size the trials that `admitted_steps` counts. rest: see `entries`."""
    trials = search.facts.trials
    of_studies = zip(search.facts.batch_sizes, _admitted_rows(search, goal), admitted_steps(search, goal), strict=True)
    for batch_size, rows, steps in of_studies:
        yield Entry(competitor, (rest, batch_size), steps, trials.setting[rows], trials.submitter[rows])


def _admitted_rows(search: Search, goal: Goal) -> list[Integers]:
    return search.facts.rows_where(search.admitted & ~search.stopped_earlier(goal))
