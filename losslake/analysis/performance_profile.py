"""Performance profiles: the share of columns in which a competitor is within a factor of the best.

A column is what competitors are timed on: a workload, or a workload at one batch size. Times are seconds or steps.
Also AlgoPerf's scores, computed as its scoring code does.
Source: Dolan and More 2002; mlcommons/algorithmic-efficiency, scoring/performance_profile.py (METHODS 5.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake_schema.reached import Floats, Integers

LARGEST_RATIO = 4.0
POINTS = 100


def ratios_to_best(times: Floats) -> Floats:
    """Return r = time / least time of its column; inf where a competitor didn't reach the target.

    times: (…, competitors, columns), 0 or more; inf: not reached; NaN: no data, which counts as not reached. A least
    time of 0 has ratio 1; slower times in its column have ratio inf. Raises ValueError for fewer axes and negative
    times.
    """
    if times.ndim < 2:
        raise ValueError(f"times have {times.ndim} axes: give a table of competitors by columns")
    if (times < 0).any():
        raise ValueError("times have to be 0 or more")
    reached = np.where(np.isnan(times), np.inf, times)
    best = np.min(reached, axis=-2, keepdims=True, initial=np.inf)
    with np.errstate(over="ignore"):
        ratios = np.divide(reached, best, out=np.full(times.shape, np.inf), where=np.isfinite(reached) & (best > 0))
    return np.where((reached == best) & np.isfinite(best), 1.0, ratios)


def share_within(ratios: Floats, factors: Floats) -> Floats:
    """Return rho(tau), the share of columns with r <= tau, shape (competitors, factors).

    ratios: (competitors, columns). Raises ValueError without columns. Source: Dolan and More 2002, equation 1.1.
    """
    n = _n_columns(ratios)
    ordered = np.sort(ratios, axis=1)
    counts = [np.searchsorted(row, factors, side="right") for row in ordered]
    return np.array(counts, np.float64).reshape(len(ordered), len(factors)) / n


def staircase(ratios: Floats) -> tuple[Floats, Floats]:
    """Return the factors at which rho of a competitor rises, from 1 on, and rho there. ratios: (columns,)."""
    factors = np.unique(np.append(ratios[np.isfinite(ratios)], 1.0))
    return factors, share_within(ratios[None], factors)[0]


def trapezoid_scores(ratios: Floats, largest: float = LARGEST_RATIO, n_points: int = POINTS) -> Floats:
    """Return AlgoPerf's score: the mean of rho over factors from 1 to `largest`, by the trapezoid rule.

    ratios: (…, competitors, columns); the result: (…, competitors), 1 for the best in every column. n_points: evenly
    spaced. Raises ValueError for largest <= 1, for fewer than 2 points and without columns.
    """
    _check_largest(largest)
    if n_points < 2:
        raise ValueError(f"n_points={n_points} is out of range: give 2 or more")
    factors = np.linspace(1.0, largest, n_points)
    # A column adds to rho from its ratio on, so its share of the area is that of all points from there: 2 for each of
    # the inner ones, 1 for the ends, of 2 (n - 1).
    halves = np.minimum(np.arange(2 * n_points - 1, -1, -2), 2 * (n_points - 1))
    from_there = np.append(halves, 0)[: n_points + 1] / (2 * (n_points - 1))
    gains = from_there[np.searchsorted(factors, ratios)]
    return np.asarray(gains.sum(axis=-1) / _n_columns(ratios), np.float64)


def exact_scores(ratios: Floats, largest: float = LARGEST_RATIO) -> Floats:
    """Return the exact value of `trapezoid_scores`: the mean over columns of max(0, (largest - r) / (largest - 1)).

    Raises ValueError for largest <= 1 and without columns.
    """
    _check_largest(largest)
    gains = np.maximum(0.0, (largest - ratios) / (largest - 1))
    return np.asarray(gains.sum(axis=-1) / _n_columns(ratios), np.float64)


def geometric_mean_of_ratios(times: Floats, base: Floats, never: Floats | None = None) -> tuple[float | None, int]:
    """Return the geometric mean over columns of time / base, and the number of columns used.

    times, base: by column; inf: not reached; NaN: no data. never: by column, the substitute for inf (AlgoPerf:
    budget + 1); without it, columns with an inf are ignored, as are columns without data and times of 0. None if no
    column remains. Raises ValueError if `never` isn't finite and above 0.
    """
    if never is not None:
        if not (np.isfinite(never) & (never > 0)).all():
            raise ValueError("the substitute for times that were not reached has to be finite and above 0")
        times, base = np.where(np.isposinf(times), never, times), np.where(np.isposinf(base), never, base)
    used = np.isfinite(times) & np.isfinite(base) & (times > 0) & (base > 0)
    if not used.any():
        return None, 0
    return float(np.exp(np.mean(np.log(times[used]) - np.log(base[used])))), int(used.sum())


@dataclass(frozen=True)
class Scores:
    """The scores by submission: AlgoPerf's, the exact integral, and the ratios (…, submissions, workloads)."""

    score: Floats
    exact: Floats
    ratios: Floats


def scores(base: Floats, held_out: Floats | None = None, base_of: Integers | None = None) -> Scores:
    """Return AlgoPerf's scores from times to target.

    base: (…, submissions, workloads); inf: not reached; NaN: no data. held_out: (…, submissions, variants). base_of:
    (variants,), the column of each variant's workload in base. In this order: a variant counts as not reached if its
    workload does; so does a time above LARGEST_RATIO times the best of its column; a workload counts as not reached if
    a variant does; then ratios to the best are taken. Raises ValueError for negative times and for shapes that don't
    match.
    """
    if (base < 0).any() or (held_out is not None and (held_out < 0).any()):
        raise ValueError("times have to be 0 or more")
    reached = np.where(np.isnan(base), np.inf, base)
    within = _within(reached)
    if held_out is not None and base_of is not None:
        if (
            held_out.shape != (*base.shape[:-1], len(base_of))
            or not ((base_of >= 0) & (base_of < base.shape[-1])).all()
        ):
            raise ValueError("held_out needs a row for each submission, and base_of a column of base for each variant")
        variants = np.where(np.isnan(held_out) | np.isinf(reached[..., base_of]), np.inf, held_out)
        variants = _within(variants)
        for variant, column in enumerate(base_of.tolist()):
            within[..., column] = np.where(np.isinf(variants[..., variant]), np.inf, within[..., column])
    ratios = ratios_to_best(within)
    return Scores(trapezoid_scores(ratios), exact_scores(ratios), ratios)


def _within(times: Floats) -> Floats:
    """Return the times, inf where they exceed LARGEST_RATIO times the least of their column."""
    best = np.min(times, axis=-2, keepdims=True, initial=np.inf)
    return np.where(times > LARGEST_RATIO * best, np.inf, times)


def _n_columns(ratios: Floats) -> int:
    if not ratios.shape[-1]:
        raise ValueError("a profile needs one column or more")
    return int(ratios.shape[-1])


def _check_largest(largest: float) -> None:
    if not (np.isfinite(largest) and largest > 1):
        raise ValueError(f"the largest factor is {largest}: give one above 1")
