"""Performance profiles: in which share of columns a competitor is within a factor of the best.

A column is whatever competitors are timed on: a workload, or a workload at one batch size. Times are seconds or steps.
Beside them AlgoPerf's times to target and `scores`, as its scoring code has them.
Source: Dolan and More 2002; mlcommons/algorithmic-efficiency, scoring/performance_profile.py (METHODS 5.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from losslake_schema.reached import Floats, Integers, hits

TrialRule = Literal["index", "time"]
LARGEST_RATIO = 4.0
POINTS = 100


def ratios_to_best(times: Floats) -> Floats:
    """r = time / least time of its column; inf where a competitor didn't get there, or nobody did.

    times: (competitors, columns), 0 or more; inf: not reached; NaN: no data, which counts as not reached.
    A least time of 0 has ratio 1, and everything slower than it inf. Raises ValueError for negative times.
    """
    if times.ndim != 2:
        raise ValueError(f"times have to be a table of competitors by columns, and have {times.ndim} axes")
    if (times < 0).any():
        raise ValueError("times have to be 0 or more")
    reached = np.where(np.isnan(times), np.inf, times)
    best = np.min(reached, axis=0, keepdims=True, initial=np.inf)
    with np.errstate(over="ignore"):
        ratios = np.divide(reached, best, out=np.full(times.shape, np.inf), where=np.isfinite(reached) & (best > 0))
    return np.where((reached == best) & np.isfinite(best), 1.0, ratios)


def share_within(ratios: Floats, factors: Floats) -> Floats:
    """rho(tau): the share of columns with r <= tau, as (competitors, factors).

    ratios: (competitors, columns). Raises ValueError without columns.
    """
    n = _n_columns(ratios)
    ordered = np.sort(ratios, axis=1)
    counts = [np.searchsorted(own, factors, side="right") for own in ordered]
    return np.array(counts, np.float64).reshape(len(ordered), len(factors)) / n


def trapezoid_scores(ratios: Floats, largest: float = LARGEST_RATIO, n_points: int = POINTS) -> Floats:
    """By competitor, the mean of rho over factors 1 to largest, by the trapezoid rule on n_points even points.

    That is AlgoPerf's score; 1 is best in every column. Raises ValueError for largest <= 1 and for fewer than 2 points.
    """
    _check_largest(largest)
    if n_points < 2:
        raise ValueError(f"n_points={n_points} is out of range: give 2 or more")
    factors = np.linspace(1.0, largest, n_points)
    scores = np.trapezoid(share_within(ratios, factors), factors, axis=1) / (largest - 1)
    return np.asarray(scores, np.float64)


def exact_scores(ratios: Floats, largest: float = LARGEST_RATIO) -> Floats:
    """By competitor, the same mean without a grid: the mean over columns of max(0, (largest - r) / (largest - 1))."""
    _check_largest(largest)
    gains = np.maximum(0.0, (largest - ratios) / (largest - 1))
    return np.asarray(gains.sum(axis=1) / _n_columns(ratios), np.float64)


def geometric_mean_of_ratios(times: Floats, base: Floats, never: Floats | None = None) -> tuple[float | None, int]:
    """The geometric mean over columns of time / base, and of how many columns it is.

    times, base: by column; NaN: no data. never: by column, what stands for a time that was not reached (AlgoPerf:
    budget + 1); without it, columns that either didn't reach are left out. Columns without data, and times of 0, are
    left out as well. None where no column is left. Raises ValueError if `never` isn't finite and above 0.
    """
    if never is not None:
        if not (np.isfinite(never) & (never > 0)).all():
            raise ValueError("what stands for a time that was not reached has to be finite and above 0")
        times, base = np.where(np.isposinf(times), never, times), np.where(np.isposinf(base), never, base)
    used = np.isfinite(times) & np.isfinite(base) & (times > 0) & (base > 0)
    if not used.any():
        return None, 0
    return float(np.exp(np.mean(np.log(times[used]) - np.log(base[used])))), int(used.sum())


@dataclass(frozen=True)
class TimedCurve:
    """One trial's evaluations, as they were logged. times: seconds. losses: lower is better; negate to maximize."""

    times: Floats
    losses: Floats


@dataclass(frozen=True)
class Scores:
    """By submission: AlgoPerf's score, the same integral without its grid, and the ratios (submissions, workloads)."""

    score: Floats
    exact: Floats
    ratios: Floats


def time_to_target(trials: Sequence[TimedCurve], target: float, rule: TrialRule = "index") -> float:
    """The time at which a study, the trials of one tuning, first has a loss <= target; inf if no trial ever has.

    rule "index", as the official code has it: of the trial whose first hit has the smallest number among its
    evaluations, of equal ones the first trial; that isn't always the earliest. Rule "time": of the earliest. NaN and
    infinities never reach. Raises ValueError for a target that is not finite, and for hits with a negative or NaN time.
    """
    if not np.isfinite(target):
        raise ValueError(f"target {target} is not finite: give a number")
    first = [np.flatnonzero(hits(trial.losses, target, "inclusive"))[:1] for trial in trials]
    found = [(int(hit[0]), float(trial.times[hit[0]])) for hit, trial in zip(first, trials, strict=True) if len(hit)]
    if not all(time >= 0 for _, time in found):
        raise ValueError("the time of an evaluation that reaches the target has to be 0 or more")
    if not found:
        return np.inf
    return min(found, key=lambda pair: pair[0])[1] if rule == "index" else min(time for _, time in found)


def median_over_studies(times: Sequence[float]) -> float | None:
    """The median of a submission's studies, of which inf, not reached, is one like others; None without studies.

    Of an even number it is the mean of the two in the middle, so inf if either is. Take the studies that are there, and
    say how many: the baseline of v0.5 has 4.
    """
    return float(np.median(np.asarray(times, np.float64))) if len(times) else None


def scores(base: Floats, held_out: Floats | None = None, base_of: Integers | None = None) -> Scores:
    """Scores from times to target.

    base: (submissions, workloads); inf: not reached; NaN: no data. held_out: (submissions, variants), base_of: of each
    variant, the column of its workload in base. In this order: a variant isn't reached where its workload isn't; no
    time counts that exceeds LARGEST_RATIO times the best of its column; a workload isn't reached where a variant isn't;
    then ratios to the best. Raises ValueError for negative times and variants that are of no column.
    """
    if (base < 0).any() or (held_out is not None and (held_out < 0).any()):
        raise ValueError("times have to be 0 or more")
    reached = np.where(np.isnan(base), np.inf, base)
    within = _within(reached)
    if held_out is not None and base_of is not None:
        if held_out.shape != (len(base), len(base_of)) or not ((base_of >= 0) & (base_of < base.shape[1])).all():
            raise ValueError("held_out needs a row for each submission, and base_of a column of base for each variant")
        variants = np.where(np.isnan(held_out) | np.isinf(reached[:, base_of]), np.inf, held_out)
        variants = _within(variants)
        for variant, column in enumerate(base_of.tolist()):
            within[np.isinf(variants[:, variant]), column] = np.inf
    ratios = ratios_to_best(within)
    return Scores(trapezoid_scores(ratios), exact_scores(ratios), ratios)


def _within(times: Floats) -> Floats:
    """The times, inf where they exceed LARGEST_RATIO times the least of their column."""
    best = np.min(times, axis=0, keepdims=True, initial=np.inf)
    return np.where(times > LARGEST_RATIO * best, np.inf, times)


def _n_columns(ratios: Floats) -> int:
    if not ratios.shape[1]:
        raise ValueError("a profile needs one column or more")
    return int(ratios.shape[1])


def _check_largest(largest: float) -> None:
    if not (np.isfinite(largest) and largest > 1):
        raise ValueError(f"the largest factor is {largest}: give one above 1")
