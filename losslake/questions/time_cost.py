"""Time to target and what it costs: by batch size, the front of both, and where time falls no more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from losslake.analysis.break_points import USEFUL_WITHIN, BreakPoints, max_useful
from losslake.analysis.identifiability import identified_fits
from losslake.analysis.time_cost import goodput, is_on_front, statistical_efficiency, throughput
from losslake.index.study_files import measurements
from losslake.output.answer import Answer
from losslake.output.plain import finite
from losslake.output.rows import Row, shown
from losslake.questions.parameters import WORKLOAD, GoalParameters, Share
from losslake.questions.question import Question
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling_curve import ScalingCurve, never_reached, scaling_curve, usable_curve
from losslake.questions.search import Search, at, examples_of, searches_of
from losslake.questions.selection import Goal
from losslake.questions.summary import Censoring, Finding, GoalSummary, Summary
from losslake.questions.wording import lone_batch_size
from losslake_schema.reached import NEVER, Floats, Integers

_DEFINITION = (
    "Cost is examples to the target, steps x batch size. Time is the least elapsed_s at which any admitted trial "
    "reaches it, ties to fewer steps, then to the lower trial_id; where a batch size that reached the target has no "
    "times, steps stand for time in the front and in no_faster_beyond: the smallest batch size after which no larger "
    "one saves more than max_useful_tau of it. Goodput is throughput x (B_c + B_0)/(B_c + B) (Pollux, Qiao et al. "
    "2021), B_0 the smallest batch size, B_c of the robust fit of S = S_min (1 + B_c/B). n_used counts batch sizes "
    "that reached the target."
)


class TimeCostParameters(GoalParameters):
    """What does a target take, in time and in examples?"""

    max_useful_tau: Annotated[Share, shown(0.1, "none: a ratio")] = USEFUL_WITHIN
    """A larger batch size counts as faster if its time is less than that of a smaller one by more than this share."""


class TimeCostRow(Row):
    """A study."""

    workload: str
    batch_size: int
    steps: Annotated[int | None, shown(400, "steps")]
    """Fewest steps in which an admitted trial reaches the target; null if none does."""
    trial_id: Annotated[int | None, shown(17)]
    """The trial with the fewest steps, of several the one with the lowest number; null if none reached the target."""
    examples: int | None
    elapsed_s: Annotated[float | None, shown(12.5, "seconds")]
    """Time at which that trial reached the target, since the start of training; null where its log has no times."""
    fastest_trial_id: Annotated[int | None, shown(23)]
    """The trial with the least time to the target, ties to fewer steps; null where no trial that reached it has times.
    """
    fastest_steps: Annotated[int | None, shown(420, "steps")]
    """The steps that the fastest trial took; null without times."""
    fastest_examples: Annotated[int | None, shown(26880, "batch_unit of the study, mostly examples")]
    """fastest_steps times batch_size; null without times, or where it exceeds 64 bits."""
    fastest_elapsed_s: Annotated[float | None, shown(11.8, "seconds")]
    """Time to target: the least time at which any admitted trial reached it; null without times."""
    is_on_front: Annotated[bool, shown(True)]
    """Whether no other batch size takes at most as much time and examples, and less of one (Pareto front)."""
    examples_per_second: Annotated[float | None, shown(2278.0, "batch_unit of the study, mostly examples, per second")]
    """Throughput of the fastest trial up to the target; null without times."""
    statistical_efficiency: Annotated[float | None, shown(0.71)]
    """Examples that the smallest batch size needs by those that this one needs, of the fit; null where there is none.
    """
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


class TimeCostSummary(GoalSummary, Finding):
    """Where time falls no more."""

    max_useful_tau: Annotated[float, shown(0.1, "none: a ratio")]
    """What a larger batch size has to save of the time to count."""
    summaries: list[TimedWorkload]
    """Of each workload: what stands for time (elapsed_s or steps), the least time and the fewest examples to the target
    and the batch sizes that have them, beyond which batch size time falls no more (censoring: right if it still falls
    at the largest, left if the smallest is it), and the critical batch size of the fit, null for none."""


@dataclass(frozen=True)
class _Reached:
    """By study of a workload: who reached the target with the fewest steps, and who in the least time.

    fewest, fastest: rows in facts.trials, NEVER for none. steps, elapsed: by trial; elapsed NaN where it isn't known.
    n_timed: trials with a time.
    """

    found: Search
    curve: ScalingCurve
    fewest: Integers
    fastest: Integers
    steps: Integers
    elapsed: Floats
    n_timed: Integers

    @property
    def is_timed(self) -> bool:
        """Whether each study that reached the target has a time."""
        return bool(self.curve.is_reached.any() and (self.fastest != NEVER)[self.curve.is_reached].all())

    @property
    def who(self) -> Integers:
        """By study, whose time and cost count."""
        return self.fastest if self.is_timed else self.fewest

    @property
    def time(self) -> Floats:
        """By study, seconds, or steps where not every study has seconds; inf where the target wasn't reached."""
        times = self.elapsed if self.is_timed else self.steps.astype(np.float64)
        return np.where(self.who != NEVER, at(times, self.who), np.inf)

    @property
    def cost(self) -> Floats:
        """By study, examples; inf where the target wasn't reached."""
        return np.where(self.who != NEVER, at(self.steps, self.who) * self.curve.batch_sizes, np.inf)


def answer(view: ReleaseView, parameters: TimeCostParameters) -> Answer:
    """Time and cost to a goal by workload and batch size; raises UnknownName and BadParameter."""
    goal, max_useful_tau = parameters.goal(), parameters.max_useful_tau
    reached = [_reached(view, searched, goal) for searched in searches_of(view, parameters.selection())]
    fitted = [_critical_batch_size(one) for one in reached]
    summaries = [_summary(one, max_useful_tau, b_c) for one, b_c in zip(reached, fitted, strict=True)]
    return QUESTION.analysis(
        view,
        parameters,
        reached[0].found.direction,
        [_rows(one, b_c) for one, b_c in zip(reached, fitted, strict=True)],
        {"max_useful_tau": max_useful_tau, "summaries": summaries},
        definition=_DEFINITION,
        n_used=sum(int(one.curve.is_reached.sum()) for one in reached),
        left_out=(text for one in reached for text in never_reached(one.found, one.curve)),
        warnings=(text for one, own in zip(reached, summaries, strict=True) for text in _warnings(one, own)),
    )


QUESTION = Question(
    path="/v1/analysis/time-cost",
    doc="Time to a target against the examples it costs by batch size, and beyond which batch size time falls no more.",
    parameters=TimeCostParameters,
    row=TimeCostRow,
    summary=TimeCostSummary,
    answer=answer,
)


def _reached(view: ReleaseView, found: Search, goal: Goal) -> _Reached:
    hits = found.first_hits(goal)
    steps = at(found.records.step, hits)
    elapsed = _hit_times(view, found, hits)
    return _Reached(
        found=found,
        curve=scaling_curve(found, goal),
        fewest=found.fewest_steps(hits),
        fastest=found.facts.first_least_by_study(np.isfinite(elapsed), elapsed, steps),
        steps=steps,
        elapsed=elapsed,
        n_timed=found.facts.sums_by_study(np.isfinite(elapsed)),
    )


def _critical_batch_size(one: _Reached) -> float | None:
    """B_c of the robust fit; None where the data can't support one."""
    curve = usable_curve(one.found, one.curve)
    fits = identified_fits(curve.batch_sizes, curve.steps[None], curve.censored_at, curve.previous_steps[None])
    fitted = float(fits.critical_batch_size[0])
    return fitted if math.isfinite(fitted) else None


def _summary(one: _Reached, max_useful_tau: float, critical_batch_size: float | None) -> dict[str, Any]:
    """A workload in numbers, as a fact of the answer."""
    sizes, time, cost = one.found.facts.batch_sizes, one.time, one.cost
    slowing = max_useful(time, max_useful_tau)
    index, has_any = int(slowing.index[0]), bool(one.curve.is_reached.any())
    fastest, cheapest = int(time.argmin()), int(cost.argmin())
    return {
        "workload": str(one.found.facts.workload),
        "time_is": "elapsed_s" if one.is_timed else "steps",
        "least_time": float(time[fastest]) if has_any else None,
        "least_time_batch_size": sizes[fastest] if has_any else None,
        "least_examples": float(cost[cheapest]) if has_any else None,
        "least_examples_batch_size": sizes[cheapest] if has_any else None,
        "no_faster_beyond": sizes[index] if index != NEVER else None,
        "censoring": _censoring(slowing),
        "critical_batch_size": critical_batch_size,
    }


def _censoring(slowing: BreakPoints) -> str | None:
    """Beyond which end of the batch sizes the true one may lie; None for neither."""
    if slowing.is_right_censored[0]:
        return "right"
    return "left" if slowing.is_left_censored[0] else None


def _warnings(one: _Reached, summary: dict[str, Any]) -> list[str]:
    name, sizes = one.found.facts.workload, one.curve.batch_sizes[one.curve.is_reached]
    if not len(sizes):
        return []
    found = []
    if not one.is_timed:
        timed = int((one.fastest != NEVER).sum())
        which = f"only {timed} of {len(sizes)} batch sizes have times" if timed else "the logs have no times"
        found.append(f"{name}: {which}: steps stand for time, as if a step took equally long at every batch size")
    if len(sizes) == 1:
        found.append(lone_batch_size(str(name), sizes[0]))
    elif summary["censoring"] == "right":
        found.append(f"{name}: time still falls at {sizes[-1]:,.0f}, the largest batch size that reached the target")
    if one.is_timed and summary["critical_batch_size"] is None:
        found.append(f"{name}: the steps can't tell a critical batch size, so there is no efficiency or goodput")
    differ = [
        f"{size:,}"
        for size, fewest, fastest in zip(
            one.found.facts.batch_sizes, one.fewest.tolist(), one.fastest.tolist(), strict=True
        )
        if one.is_timed and fewest != fastest
    ]
    if differ:
        found.append(
            f"{name}: the trial with the least time isn't the one with the fewest steps at {', '.join(differ)}"
        )
    return found


def _rows(one: _Reached, critical_batch_size: float | None) -> pa.RecordBatch:
    found, sizes = one.found, one.found.facts.batch_sizes
    trial_id = found.facts.trials.trial_id
    fastest_steps = np.where(one.fastest != NEVER, at(one.steps, one.fastest), np.nan)
    rates = throughput(one.curve.batch_sizes, fastest_steps, at(one.elapsed, one.fastest))
    efficiency = good = np.full(len(sizes), np.nan)
    if critical_batch_size is not None:
        efficiency = statistical_efficiency(one.curve.batch_sizes, critical_batch_size)
        good = goodput(one.curve.batch_sizes, rates, critical_batch_size)
    columns = {
        "workload": [str(found.facts.workload)] * len(sizes),
        "batch_size": sizes,
        "steps": _of(one.fewest, one.steps),
        "trial_id": _of(one.fewest, trial_id),
        "examples": _examples(one, one.fewest),
        "elapsed_s": _of(one.fewest, one.elapsed),
        "fastest_trial_id": _of(one.fastest, trial_id),
        "fastest_steps": _of(one.fastest, one.steps),
        "fastest_examples": _examples(one, one.fastest),
        "fastest_elapsed_s": _of(one.fastest, one.elapsed),
        "is_on_front": is_on_front(one.time, one.cost).tolist(),
        "examples_per_second": finite(rates),
        "statistical_efficiency": finite(efficiency),
        "goodput": finite(good),
        "n_trials": found.n_admitted.tolist(),
        "n_reached": one.curve.n_reached.tolist(),
        "n_timed": one.n_timed.tolist(),
    }
    return pa.RecordBatch.from_pydict(columns, schema=QUESTION.rows.schema)


def _of(rows: Integers, values: npt.NDArray[Any]) -> list[Any]:
    """The values of these trials; None without a trial, and for NaN."""
    picked = at(values, rows).tolist()
    return [
        value if row != NEVER and math.isfinite(value) else None
        for value, row in zip(picked, rows.tolist(), strict=True)
    ]


def _examples(one: _Reached, rows: Integers) -> list[int | None]:
    steps, sizes = _of(rows, one.steps), one.found.facts.batch_sizes
    return [None if count is None else examples_of(count, size) for count, size in zip(steps, sizes, strict=True)]


def _hit_times(view: ReleaseView, found: Search, hits: Integers) -> Floats:
    """By trial, seconds since the start of training at its first hit; NaN without a hit, and where no time is known.

    hits: by trial, which record it is; NEVER for none.
    """
    if not (hits != NEVER).any():
        return np.full(len(hits), np.nan)
    if found.direction == view.metrics[found.metric].direction:
        times = found.records.elapsed_s
        elapsed = np.full(len(hits), np.nan) if times is None else at(times, hits)
    else:
        elapsed = _of_measurements(view, found, hits)
    return np.where((hits != NEVER) & np.isfinite(elapsed) & (elapsed >= 0), elapsed, np.nan)


def _of_measurements(view: ReleaseView, found: Search, hits: Integers) -> Floats:
    """The same for a direction whose records aren't stored: by trial, from the rows of the hits."""
    elapsed = np.full(len(hits), np.nan)
    steps = at(found.records.step, hits)
    for study in range(len(found.facts.batch_sizes)):
        own = found.facts.rows_of(study)
        rows = own.start + np.flatnonzero(hits[own] != NEVER)
        trials = found.facts.trials.trial_id[rows]
        files = view.measurement_files(found.facts, study)
        for part in measurements(view.store, files, found.metric, trials.tolist()):
            numbers, measured_at = part["trial_id"].to_numpy(), part["step"].to_numpy()
            at_row = np.minimum(np.searchsorted(trials, numbers), len(trials) - 1)
            is_hit = (trials[at_row] == numbers) & (steps[rows][at_row] == measured_at)
            elapsed[rows[at_row[is_hit]]] = _floats(part["elapsed_s"])[is_hit]
    return elapsed


def _floats(column: pa.ChunkedArray) -> Floats:
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
