"""Time to target and what it costs: by batch size, the front of both, and where time falls no more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from losslake.analysis.break_points import USEFUL_WITHIN, BreakPoints, max_useful
from losslake.analysis.identifiability import identified_fits
from losslake.analysis.time_cost import goodput, is_on_front, statistical_efficiency, throughput
from losslake.output.answer import Answer, row_shape
from losslake.output.plain import finite
from losslake.questions.analysis.finding import Finding
from losslake.questions.analysis.hit_times import hit_times
from losslake.questions.errors import BadParameter
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling import examples_of
from losslake.questions.scaling_curve import ScalingCurve, never_reached, scaling_curve, usable_curve
from losslake.questions.search import Search, at, facts_of, search
from losslake.questions.selection import Goal, Selection
from losslake.questions.wording import lone_batch_size
from losslake_schema.names import Workload
from losslake_schema.reached import NEVER, Floats, Integers

TIME_COST = row_shape(
    "time-cost", "workload", "batch_size", "steps", "trial_id", "examples", "elapsed_s", "fastest_trial_id",
    "fastest_steps", "fastest_examples", "fastest_elapsed_s", "is_on_front", "examples_per_second",
    "statistical_efficiency", "goodput", "n_trials", "n_reached", "n_timed",
)  # fmt: skip
_DEFINITION = (
    "Cost is examples to the target, steps x batch size. Time is the least elapsed_s at which any admitted trial "
    "reaches it, ties to fewer steps, then to the lower trial_id; where a batch size that reached the target has no "
    "times, steps stand for time in the front and in no_faster_beyond: the smallest batch size after which no larger "
    "one saves more than max_useful_tau of it. Goodput is throughput x (B_c + B_0)/(B_c + B) (Pollux, Qiao et al. "
    "2021), B_0 the smallest batch size, B_c of the robust fit of S = S_min (1 + B_c/B). n_used counts batch sizes "
    "that reached the target."
)


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


def time_cost(view: ReleaseView, selection: Selection, goal: Goal, max_useful_tau: float = USEFUL_WITHIN) -> Answer:
    """Time and cost to a goal by workload and batch size; raises UnknownName and BadParameter.

    max_useful_tau: what a larger batch size has to save, as a share of the time, to count as faster.
    """
    if not 0 <= max_useful_tau <= 1000:
        raise BadParameter(
            "max_useful_tau", f"max_useful_tau={max_useful_tau} is out of range: give 0 or more, up to 1000"
        )
    reached = [_reached(view, selection, goal, workload) for workload in selection.workloads]
    fitted = [_critical_batch_size(one) for one in reached]
    summaries = [_summary(one, max_useful_tau, b_c) for one, b_c in zip(reached, fitted, strict=True)]
    finding = Finding(
        definition=_DEFINITION,
        n_used=sum(int(one.curve.is_reached.sum()) for one in reached),
        left_out=tuple(text for one in reached for text in never_reached(one.found, one.curve)),
        warnings=tuple(text for one, own in zip(reached, summaries, strict=True) for text in _warnings(one, own)),
    )
    facts = facts_of(view, selection, reached[0].found.direction) | goal.facts() | {"max_useful_tau": max_useful_tau}
    facts |= {"summaries": summaries} | finding.facts()
    batches = [_rows(one, b_c) for one, b_c in zip(reached, fitted, strict=True)]
    return Answer(facts, TIME_COST.schema, iter(batches))


def _reached(view: ReleaseView, selection: Selection, goal: Goal, workload: Workload) -> _Reached:
    found = search(view, selection, workload)
    hits = found.first_hits(goal)
    steps = at(found.records.step, hits)
    elapsed = hit_times(view, found, selection.metric, hits)
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
    return pa.RecordBatch.from_pydict(columns, schema=TIME_COST.schema)


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
