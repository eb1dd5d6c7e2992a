"""Time and examples to a target by batch size, and the batch size beyond which time no longer falls."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from losslake.analysis.break_points import USEFUL_WITHIN, max_useful
from losslake.analysis.identifiability import identified_fits
from losslake.analysis.time_cost import goodput, is_on_front, statistical_efficiency, throughput
from losslake.output.answer import Answer
from losslake.output.columns import Rows
from losslake.output.plain import finite
from losslake.output.rows import Row, shown
from losslake.questions.declaration.cost import Cost
from losslake.questions.declaration.parameters import WORKLOAD, GoalParameters, ResultParameters, Share
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Censoring, Finding, GoalSummary, ResultSummary, Summary, results_of
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.batch_size_words import listed
from losslake.questions.trials.examples import examples_column
from losslake.questions.trials.measure import Amounts, Measure
from losslake.questions.trials.resources import most_common, several_systems
from losslake.questions.trials.scaling_curve import ScalingCurve, never_reached, scaling_curve, usable_curve
from losslake.questions.trials.search import Search, at, column_at, open_searches
from losslake.questions.trials.selection import Goal
from losslake.questions.trials.step_warnings import lone_batch_size, unequal_searches
from losslake.questions.trials.study_results import study_results
from losslake_schema.reached import NEVER, Flags, Floats, Integers


class TimeCostParameters(ResultParameters, GoalParameters):
    """The parameters of time and cost."""

    max_useful_tau: Annotated[Share, shown(0.1, "none: a ratio")] = USEFUL_WITHIN
    """A larger batch size counts as faster if it saves more than this share of the time of a smaller one."""


class TimeCostRow(Row):
    """A study."""

    workload: str
    batch_size: int
    steps: Annotated[int | None, shown(400, "steps")]
    """Fewest steps in which an admitted trial reaches the target; null if none does."""
    trial_id: Annotated[int | None, shown(17)]
    """The trial with the fewest steps; ties go to the lowest trial_id; null if none reached the target."""
    trial_workload: str | None
    examples: int | None
    elapsed_s: Annotated[float | None, shown(12.5, "seconds")]
    """Time at which that trial reached the target, since the start of training; null without times."""
    fastest_trial_id: Annotated[int | None, shown(23)]
    """Trial with the least time to the target, ties to fewer steps; null if no trial that reached it has times."""
    fastest_trial_workload: Annotated[str | None, shown(WORKLOAD)]
    """The workload of the fastest trial if `workload` is a pattern; null without a pattern, or without times."""
    fastest_steps: Annotated[int | None, shown(420, "steps")]
    """Steps of the fastest trial; null without times."""
    fastest_examples: Annotated[int | None, shown(26880, "batch_unit of the study, mostly examples")]
    """fastest_steps times batch_size; null without times, and beyond 64 bits."""
    fastest_elapsed_s: Annotated[float | None, shown(11.8, "seconds")]
    """Time to target: the least time at which any admitted trial reached it; null without times."""
    is_on_front: Annotated[bool, shown(True)]
    """True if one of its trials is on the Pareto front of all trials, in time and examples."""
    fastest_accelerator: Annotated[str | None, shown("NVIDIA H100")]
    """The accelerator of the fastest trial; null where its log doesn't say it."""
    examples_per_second: Annotated[float | None, shown(2278.0, "batch_unit of the study, mostly examples, per second")]
    """Throughput of the fastest trial up to the target; null without times."""
    statistical_efficiency: Annotated[float | None, shown(0.71)]
    """Examples of the smallest batch size over examples of this one, by the fit; null without a fit."""
    goodput: Annotated[float | None, shown(1617.0, "examples as good as those of the smallest batch size, per second")]
    """Throughput times statistical efficiency (Pollux); null without times, or without a fit."""
    n_trials: int
    n_reached: int
    n_timed: Annotated[int, shown(21, "trials")]
    """Trials that reached the target and have a time for it."""


class TimedWorkload(Summary):
    """A workload's time and cost."""

    workload: Annotated[str, shown(WORKLOAD)]
    time_is: Annotated[str, shown("elapsed_s")]
    least_time: Annotated[float | None, shown(11.8)]
    least_time_batch_size: Annotated[int | None, shown(256)]
    least_examples: Annotated[float | None, shown(9600.0)]
    least_examples_batch_size: Annotated[int | None, shown(8)]
    no_faster_beyond: Annotated[int | None, shown(128)]
    censoring: Annotated[Censoring | None, shown(None)]
    critical_batch_size: Annotated[float | None, shown(96.5)]


class TimeCostSummary(ResultSummary, GoalSummary, Finding):
    """The end of falling time by workload."""

    max_useful_tau: Annotated[float, shown(0.1, "none: a ratio")]
    """The share of the time that a larger batch size must save to count."""
    summaries: list[TimedWorkload]
    """Per workload: time_is elapsed_s or steps; the least time and the fewest examples of any trials to the target with
    their batch sizes; the batch size beyond which time no longer falls (null for times of several accelerators;
    censoring right: still falling at the largest, or too close to it to tell; left: it is the smallest); and the
    critical batch size of the fit, null for none."""


@dataclass(frozen=True)
class _Reached:
    """By study of a workload: the trials that reached the target in the fewest steps and in the least time.

    fewest: rows in facts.trials, NEVER for none. steps, elapsed: by trial; elapsed inf for never, NaN where it isn't
    known. least: the least of these times.
    """

    measure: Measure
    curve: ScalingCurve
    fewest: Integers
    steps: Integers
    elapsed: Floats
    least: Amounts

    @property
    def search(self) -> Search:
        """The trials of the workload."""
        return self.measure.search

    @property
    def fastest(self) -> Integers:
        """The rows of the trials with the least time; NEVER for none."""
        return self.least.row

    @property
    def is_timed(self) -> bool:
        """True if half of the studies that reached the target have a time, two or more if two reached it."""
        n_reached, n_timed = int(self.curve.is_reached.sum()), int((self.fastest != NEVER).sum())
        return n_timed >= max(1, min(2, n_reached), n_reached / 2)

    @property
    def accelerators(self) -> list[str]:
        """The accelerators of the fastest trials, those known, the most common first."""
        return most_common(self.least.accelerator)

    @property
    def untimed(self) -> list[int]:
        """The batch sizes that reached the target and are left out, since they have no time."""
        is_left_out = self.curve.is_reached & (self.fastest == NEVER) & self.is_timed
        return [size for size, out in zip(self.search.facts.batch_sizes, is_left_out, strict=True) if out]

    @property
    def who(self) -> Integers:
        """The trial of each study whose time and cost count."""
        return self.fastest if self.is_timed else self.fewest

    @property
    def time(self) -> Floats:
        """Seconds by study, or steps where most studies have no seconds; inf where it isn't known or wasn't reached."""
        times = self.elapsed if self.is_timed else self.steps.astype(np.float64)
        return np.where(self.who != NEVER, at(times, self.who), np.inf)

    @property
    def cost(self) -> Floats:
        """The fewest examples of any trial by study; inf where the target wasn't reached."""
        steps = np.where(self.curve.is_reached, self.curve.steps, 0)
        return np.where(self.curve.is_reached, steps * self.curve.batch_sizes, np.inf)

    @property
    def is_on_front(self) -> Flags:
        """True by study if any of its trials is on the Pareto front of all trials."""
        if not self.is_timed:
            return is_on_front(self.time, self.cost)
        facts = self.search.facts
        of_trials = is_on_front(self.elapsed, self.steps * self.curve.batch_sizes[facts.study_of_trial])
        return np.asarray(facts.sums_by_study(of_trials) > 0)


def _answer(view: ReleaseView, parameters: TimeCostParameters) -> Answer:
    """Return time and cost to a goal by workload and batch size; raises UnknownName and BadParameter."""
    goal, max_useful_tau = parameters.goal, parameters.max_useful_tau
    reached = [_reached(view, search, goal) for search in open_searches(view, parameters.selection())]
    fitted = [_critical_batch_size(one) for one in reached]
    summaries = [_summary(one, max_useful_tau, b_c) for one, b_c in zip(reached, fitted, strict=True)]
    return QUESTION.analysis(
        view,
        parameters,
        [_rows(one, b_c) for one, b_c in zip(reached, fitted, strict=True)],
        {"results": results_of(one.search for one in reached), "summaries": summaries},
        n_used=sum(int(one.curve.is_reached.sum()) for one in reached),
        left_out=(text for one in reached for text in _left_out(one)),
        warnings=(
            text for one, summary in zip(reached, summaries, strict=True) for text in _warnings(one, goal, summary)
        ),
    )


QUESTION = Question(
    path="/v1/analysis/time-cost",
    doc="Time to a target against the examples it costs by batch size, and from which size on time no longer falls.",
    parameters=TimeCostParameters,
    row=TimeCostRow,
    summary=TimeCostSummary,
    compute=_answer,
    cost=lambda _: Cost(40_000, 400, 5),
)


def _reached(view: ReleaseView, search: Search, goal: Goal) -> _Reached:
    hits, measure = search.first_hits(goal), Measure.of_seconds(view, search)
    steps, elapsed = at(search.records.step, hits), measure.of_trials(hits)
    return _Reached(
        measure=measure,
        curve=scaling_curve(search, goal),
        fewest=study_results(search, goal).row,
        steps=steps,
        elapsed=elapsed,
        least=measure.least_of(elapsed, steps),
    )


def _left_out(one: _Reached) -> Iterator[str]:
    """Yield in words the batch sizes that never reached the target, and those without times."""
    yield from never_reached(one.search, one.curve)
    if one.untimed:
        why = "no trial that reached the target has a time"
        yield f"{one.search.facts.workload}: {why} at batch size {listed(one.untimed)}"


def _critical_batch_size(one: _Reached) -> float | None:
    """Return B_c of the robust fit; None where the data can't support one."""
    curve = usable_curve(one.search, one.curve)
    steps, before = curve.tuned_steps[None], curve.previous_steps[None]
    fits = identified_fits(curve.batch_sizes, steps, curve.censored_at, before, curve.n_trials)
    fitted = float(fits.critical_batch_size[0])
    return fitted if math.isfinite(fitted) else None


def _summary(one: _Reached, max_useful_tau: float, critical_batch_size: float | None) -> dict[str, Any]:
    """Return the entry of a workload in the summary."""
    sizes, time, cost = one.search.facts.batch_sizes, one.time, one.cost
    slowing = max_useful(sizes, time, max_useful_tau)
    censoring, is_compared = slowing.censoring(0), not one.is_timed or len(one.accelerators) < 2
    index, has_any = int(slowing.index[0]), bool(one.curve.is_reached.any())
    fastest, cheapest = int(time.argmin()), int(cost.argmin())
    return {
        "workload": str(one.search.facts.workload),
        "time_is": "elapsed_s" if one.is_timed else "steps",
        "least_time": float(time[fastest]) if has_any else None,
        "least_time_batch_size": sizes[fastest] if has_any else None,
        "least_examples": float(cost[cheapest]) if has_any else None,
        "least_examples_batch_size": sizes[cheapest] if has_any else None,
        "no_faster_beyond": sizes[index] if index != NEVER and is_compared else None,
        "censoring": censoring if is_compared and censoring != "none" else None,
        "critical_batch_size": critical_batch_size,
    }


def _warnings(one: _Reached, goal: Goal, summary: dict[str, Any]) -> Iterator[str]:
    name, sizes = str(one.search.facts.workload), one.curve.batch_sizes[np.isfinite(one.time)]
    if not len(sizes):
        return
    yield from unequal_searches(name, one.curve.n_trials.tolist())
    if not one.is_timed:
        timed = int((one.fastest != NEVER).sum())
        which = f"only {timed} of {len(sizes)} batch sizes have times" if timed else "the logs have no times"
        yield f"{name}: {which}: steps stand for time, as if a step took equally long at every batch size"
    else:
        yield from _doubts(one, goal)
    if len(sizes) == 1:
        yield lone_batch_size(name, sizes[0])
    elif summary["censoring"] == "right" and (end := summary["no_faster_beyond"]) < sizes[-1]:
        yield f"{name}: whether time falls beyond batch size {end:,} isn't known: larger ones are too close"
    elif summary["censoring"] == "right":
        yield f"{name}: time still falls at {sizes[-1]:,.0f}, the largest batch size that reached the target"
    if one.is_timed and summary["critical_batch_size"] is None:
        yield f"{name}: the steps don't determine a critical batch size, so there is no efficiency or goodput"
    differs = (one.fewest != one.fastest) & (one.fastest != NEVER)
    if differs.any() and one.is_timed:
        where = ", ".join(f"{size:,.0f}" for size in one.curve.batch_sizes[differs].tolist())
        yield f"{name}: the trial with the least time isn't the one with the fewest steps at {where}"


def _doubts(one: _Reached, goal: Goal) -> Iterator[str]:
    """Yield what to know about the times of a workload."""
    if systems := several_systems(one.measure.view, one.search.facts, np.isfinite(one.elapsed)):
        where = f"{one.search.facts.workload}: times were measured on {systems}"
        yield f"{where}: where they fall, it may be the hardware"
    if len(one.accelerators) > 1:
        kinds = f"{one.search.facts.workload}: times of {len(one.accelerators)} kinds of accelerators"
        only = f"where=accelerator={one.accelerators[0]} takes those of one"
        yield f"{kinds} don't tell what the batch size saves, so no_faster_beyond is null: {only}"
    yield from one.measure.doubts(goal)


def _rows(one: _Reached, critical_batch_size: float | None) -> Rows:
    search, sizes = one.search, one.search.facts.batch_sizes
    trial_id = search.facts.trials.trial_id
    fastest_steps = np.where(one.fastest != NEVER, at(one.steps, one.fastest), np.nan)
    rates = throughput(one.curve.batch_sizes, fastest_steps, at(one.elapsed, one.fastest))
    efficiency = good = np.full(len(sizes), np.nan)
    if critical_batch_size is not None:
        efficiency = statistical_efficiency(one.curve.batch_sizes, critical_batch_size)
        good = goodput(one.curve.batch_sizes, rates, critical_batch_size)
    return QUESTION.rows.of(
        {
            "workload": str(search.facts.workload),
            "batch_size": sizes,
            "steps": column_at(one.steps, one.fewest),
            "trial_id": column_at(trial_id, one.fewest),
            "trial_workload": search.facts.workloads_of(one.fewest),
            "examples": examples_column(at(one.steps, one.fewest), sizes, one.fewest != NEVER),
            "elapsed_s": column_at(one.elapsed, one.fewest),
            "fastest_trial_id": column_at(trial_id, one.fastest),
            "fastest_trial_workload": search.facts.workloads_of(one.fastest),
            "fastest_steps": column_at(one.steps, one.fastest),
            "fastest_examples": examples_column(at(one.steps, one.fastest), sizes, one.fastest != NEVER),
            "fastest_elapsed_s": column_at(one.elapsed, one.fastest),
            "is_on_front": one.is_on_front,
            "fastest_accelerator": one.least.accelerator,
            "examples_per_second": finite(rates),
            "statistical_efficiency": finite(efficiency),
            "goodput": finite(good),
            "n_trials": search.n_admitted,
            "n_reached": one.curve.n_reached,
            "n_timed": one.least.n_known,
        }
    )
