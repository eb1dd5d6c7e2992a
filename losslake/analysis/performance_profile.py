"""Performance profiles: in which share of columns a competitor is within a factor of the best.

A column is whatever competitors are timed on: a workload, or a workload at one batch size. Times are seconds or steps.
Source: Dolan and More 2002; AlgoPerf, scoring/performance_profile.py (METHODS 5.1).
"""

from __future__ import annotations

import numpy as np

from losslake_schema.reached import Floats

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


def _n_columns(ratios: Floats) -> int:
    if not ratios.shape[1]:
        raise ValueError("a profile needs one column or more")
    return int(ratios.shape[1])


def _check_largest(largest: float) -> None:
    if not (np.isfinite(largest) and largest > 1):
        raise ValueError(f"the largest factor is {largest}: give one above 1")
