"""Made-up training curves of a study: a power law of the steps, with noise, whose best trial is known.

The trend of a trial is f + (v - f) (1 + s / t)^-p: v before training, f where it tends to, and t such that it meets the
goal at the trial's own number of steps. Before that step no value is better than the goal, though some equal it; a
complete trial other than the best one has more steps to the goal than the best, or never gets there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from bench.plan import Floats, Integers, StudyPlan, steps_between
from bench.published import COMPLETE, INFEASIBLE

DIGITS = 6
ROWS_AT_ONCE = 50_000
LOSS_NOISE, LANGUAGE_NOISE, PRECISION_NOISE = 0.005, 0.002, 0.01
REACHED = (0.7, 0.5, 0.2)
ENDS_IN_NAN, BLOWS_UP = 0.5, 0.75
_POWERS = 10.0 ** np.arange(-20, 23)


@dataclass(frozen=True)
class Curves:
    """Evaluations of some trials of a study, one after the other.

    trials: these rows of the plan. ends: behind the last row of each. values: by metric, rounded as they are written.
    """

    trials: range
    ends: Integers
    steps: Integers
    values: dict[str, Floats]


@dataclass(frozen=True)
class Trials:
    """The parameters of the trials of a study, one array each.

    crossing: steps to the goal, inf for never. start, limit, slowness, power: v, f, t and p of the trend. lag: how much
    of an error is left on the training set. badness: decimal logarithm of how far the metaparameters are off.
    """

    crossing: Floats
    start: Floats
    limit: Floats
    slowness: Floats
    power: Floats
    lag: Floats
    badness: Floats


def drawn_trials(plan: StudyPlan, rng: np.random.Generator) -> Trials:
    """Draw the parameters of each trial."""
    n, shape, steps = len(plan.status), plan.workload, plan.steps_to_goal
    is_reaching = rng.random(n) < np.asarray(REACHED)[plan.status]
    is_reaching[plan.best] = True
    slower = 1 + 10 ** rng.uniform(-2, 0.4, n)
    # Trials that don't count are often faster: an answer that takes them in is wrong.
    slower = np.where(plan.status == COMPLETE, slower, slower * rng.uniform(0.3, 1.2, n))
    crossing = np.where(is_reaching, np.maximum(np.ceil(steps * slower), steps + (plan.status == COMPLETE)), np.inf)
    hasty = is_reaching & (plan.status != COMPLETE)
    crossing[hasty] = np.maximum(1, np.ceil(steps * slower))[hasty]
    crossing[plan.best] = steps
    start = shape.start * (1 - 0.01 * rng.random(n))
    short = shape.goal + (shape.start - shape.goal) * 10 ** rng.uniform(-2.5, -0.2, n)
    limit = np.where(is_reaching, shape.limit + (shape.goal - shape.limit) * rng.uniform(0, 0.8, n), short)
    power = rng.uniform(0.8, 1.6, n)
    reference = np.where(is_reaching, limit, shape.limit)
    reach = np.where(is_reaching, crossing, steps * slower)
    slowness = reach / (((start - reference) / (shape.goal - reference)) ** (1 / power) - 1)
    badness = np.where(plan.status == INFEASIBLE, rng.uniform(0.5, 2, n), np.clip(rng.normal(0, 0.5, n), -2, 2))
    badness[plan.best] = 0
    return Trials(crossing, start, limit, slowness, power, 10 ** rng.uniform(-3, -0.2, n), badness)


def curves(plan: StudyPlan, trials: Trials, rng: np.random.Generator) -> Iterator[Curves]:
    """Yield the evaluations of a study, some trials at a time, so that arrays stay in the cache."""
    behind = np.cumsum(plan.rows)
    first = 0
    while first < len(plan.rows):
        before = behind[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(behind, before + ROWS_AT_ONCE, "right")))
        yield _some_curves(plan, trials, range(first, last), rng)
        first = last


def _some_curves(plan: StudyPlan, trials: Trials, chosen: range, rng: np.random.Generator) -> Curves:
    some = slice(chosen.start, chosen.stop)
    rows = plan.rows[some]
    ends = np.cumsum(rows)
    trial = np.repeat(np.arange(chosen.start, chosen.stop), rows)
    steps = _steps(plan, some, rng)
    planted = -1
    if plan.best in chosen:
        begin = int(ends[plan.best - chosen.start] - plan.rows[plan.best])
        curve = steps[begin : ends[plan.best - chosen.start]]
        planted = begin + int(np.searchsorted(curve, plan.steps_to_goal))
        steps[planted] = plan.steps_to_goal
    fall = (1 + steps / trials.slowness[trial]) ** -trials.power[trial]
    trend = trials.limit[trial] + (trials.start[trial] - trials.limit[trial]) * fall
    is_early = steps < trials.crossing[trial]
    values = _values(plan, trend, trials.lag[trial], is_early, planted, rng)
    _break_off(plan, values, chosen, ends, rng)
    return Curves(chosen, ends, steps, values)


def _steps(plan: StudyPlan, some: slice, rng: np.random.Generator) -> Integers:
    """Return the steps of some trials, concatenated."""
    rows, last_step = plan.rows[some].tolist(), plan.last_step[some].tolist()
    if len(plan.grid):
        return np.concatenate([plan.grid[:count] for count in rows])
    return np.concatenate([steps_between(count, last, rng) for count, last in zip(rows, last_step, strict=True)])


def _values(
    plan: StudyPlan, trend: Floats, lag: Floats, is_early: npt.NDArray[np.bool_], planted: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Return every metric of every split; planted: the row that shall reach the goal, or -1."""
    shape, metrics = plan.workload, plan.workload.metrics
    columns = {}
    for split, examples in zip(metrics.splits, metrics.examples, strict=True):
        expected = _of_split(split, trend, lag, shape.start) if examples and split != "val" else trend
        for quantity in metrics.quantities:
            if quantity == "classification_error":
                spread = np.sqrt(expected * (1 - expected) / examples) / 2
                values = expected + spread * rng.standard_normal(len(expected))
            elif quantity == metrics.quantities[0]:
                noise = LANGUAGE_NOISE if quantity == "cross_entropy_error" else PRECISION_NOISE
                values = expected * np.exp(noise * rng.standard_normal(len(expected)))
            else:
                remaining = expected / shape.start if not shape.is_maximized else (1 - expected) ** 2
                values = shape.start_loss * remaining * np.exp(LOSS_NOISE * rng.standard_normal(len(expected)))
            name = f"{split}/{quantity}"
            is_goal = name == metrics.goal_metric
            if is_goal:
                _keep_to_goal(values, shape.goal, shape.is_maximized, is_early, planted, examples)
            columns[name] = _quantised(values, examples) if quantity == "classification_error" else six_digits(values)
    return columns


def _of_split(split: str, trend: Floats, lag: Floats, start: float) -> Floats:
    """Return the trend of error rates on the training or test set, from that on the validation set."""
    return trend * (lag + (1 - lag) * trend / start) if split == "train" else trend * (1.02 - 0.02 * trend / start)


def _keep_to_goal(
    values: Floats, goal: float, is_maximized: bool, is_early: npt.NDArray[np.bool_], planted: int, examples: int
) -> None:
    """Keep early values from reaching the goal, and let the planted one reach it by at least one written digit."""
    if examples:
        not_better, better = (
            np.ceil(goal * examples - 1e-6) / examples,
            (np.ceil(goal * examples - 1e-6) - 1) / examples,
        )
    else:
        digit = 10.0 ** (np.floor(np.log10(goal)) - DIGITS + 1)
        not_better, better = goal, goal + digit if is_maximized else goal - digit
    limit = np.minimum if is_maximized else np.maximum
    values[is_early] = limit(values[is_early], not_better)
    if planted >= 0:
        values[planted] = max(values[planted], better) if is_maximized else min(values[planted], better)


def _break_off(
    plan: StudyPlan, values: dict[str, Floats], chosen: range, ends: Integers, rng: np.random.Generator
) -> None:
    """End diverged trials in nan, or in large values, inf and nan; some just stop."""
    kind = rng.random(len(chosen))
    is_diverged = plan.status[chosen.start : chosen.stop] == INFEASIBLE
    last = ends[is_diverged & (kind < BLOWS_UP)] - 1
    blown = ends[is_diverged & (kind >= ENDS_IN_NAN) & (kind < BLOWS_UP) & (plan.rows[chosen.start : chosen.stop] > 3)]
    large = six_digits(10 ** rng.uniform(1, 5, len(blown)))
    for name, column in values.items():
        if name.endswith("cross_entropy_error"):
            column[last] = np.nan
            column[blown - 2] = np.inf
            column[blown - 3] = large
        else:
            chance = 0.9 if not plan.workload.is_maximized else plan.workload.start
            column[last] = column[blown - 2] = column[blown - 3] = chance


def six_digits(values: Floats) -> Floats:
    """Round positive numbers to six significant digits, to the float64 that is nearest to these."""
    exponent = DIGITS - 1 - np.floor(np.log10(values)).astype(np.int64)
    scale = _POWERS[exponent + 20]
    rounded: Floats = np.rint(values * scale) / scale
    return rounded


def _quantised(values: Floats, examples: int) -> Floats:
    """Return the nearest error rates possible for a number of examples, as they are written."""
    numbers = np.clip(np.rint(values * examples), 0, examples).astype(np.int64)
    return _error_rates(examples)[numbers]


@lru_cache(maxsize=8)
def _error_rates(examples: int) -> Floats:
    rates = np.arange(examples + 1) / examples
    rates[1:] = six_digits(rates[1:])
    return rates
