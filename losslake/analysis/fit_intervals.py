"""The uncertainty of the B_c of a fit: profile intervals, and ranges of refits to resampled data.

A profile interval contains every B_c that the steps don't rule out. Data are resampled by drawing residuals with
replacement, by leaving out one batch size, and by drawing half of the trials.
Source: METHODS 2.2, 3.2, 3.3; each function names its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from losslake.analysis.best_of_n import chance_of_none
from losslake.analysis.hyperbola import Criterion, HyperbolaFit, Kind, bend, criteria, fit_hyperbolas, fit_of
from losslake.analysis.log_curves import checked_batch_sizes, checked_curve, log_curves
from losslake_schema.reached import Floats

LEVEL = 0.9
SEED = 20190320
N_RESAMPLES = 500
_MOST_STEPS, _CLOSE = 40, 1e-9


@dataclass(frozen=True)
class Intervals:
    """The intervals of B_c of n curves, arrays of shape (n,); NaN where there is no fit.

    lower, upper: 0 and inf where the steps rule out nothing on that side.
    """

    lower: Floats
    upper: Floats


def profile_intervals(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    censored_at: npt.ArrayLike | None = None,
    kind: Kind = "robust",
    level: float = LEVEL,
) -> Intervals:
    """Return two-sided profile intervals of B_c for n curves; arguments and errors as for fit_hyperbolas.

    All B_c with 2 (Q(B_c) - min Q) / lambda <= t^2, where Q is the criterion at the best S_min and t Student's quantile
    with m - 2 degrees of freedom, for m studies that reached the target. lambda = K sum psi^2 / (m - 2) / mean psi',
    with Huber's correction K = 1 + 2/m (1 - c)/c for the share c of residuals on the parabola (Huber 1981, 7.6; the
    ratio test of Schrader and Hettmansperger 1980). For least squares this is the F test of B_c:
    RSS(B_c) <= RSS_min (1 + t^2/(m - 2)).
    """
    curves = log_curves(batch_sizes, steps, censored_at)
    lower, upper = np.full((2, len(curves.log_steps)), np.nan)
    for rows, criterion in criteria(curves, kind):
        log_b_c, log_s_min = fit_of(criterion)[:2]
        unit, _ = _unit_of_loss(criterion, log_b_c, log_s_min)
        quantile = scipy.special.stdtrit(criterion.curves.is_reached.sum(-1) - 2.0, 0.5 + 0.5 * level)
        above = criterion.curves.log_steps - bend(log_b_c, curves.log_batch_size)
        limit = criterion.total(criterion.residuals(above, log_s_min)) + 0.5 * unit * quantile**2
        lower[rows], upper[rows] = _level_set(criterion, log_b_c, limit)
    return Intervals(np.exp(lower), np.exp(upper))


def log_standard_errors(
    batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, censored_at: npt.ArrayLike | None = None, kind: Kind = "robust"
) -> Floats:
    """Return the standard error of log B_c of n curves, (n,), by the delta method; NaN where there is no fit.

    Arguments and errors as for fit_hyperbolas. Source: METHODS 3.3.
    """
    curves = log_curves(batch_sizes, steps, censored_at)
    errors = np.full(len(curves.log_steps), np.nan)
    for rows, criterion in criteria(curves, kind):
        errors[rows] = _unit_of_loss(criterion, *fit_of(criterion)[:2])[1]
    return errors


def _unit_of_loss(criterion: Criterion, log_b_c: Floats, log_s_min: Floats) -> tuple[Floats, Floats]:
    """Return lambda of `profile_intervals` and the standard error of log B_c, both of shape (n,)."""
    curves = criterion.curves
    z = criterion.residuals(curves.log_steps - bend(log_b_c, curves.log_batch_size), log_s_min)
    z = np.where(curves.is_reached, z, 0.0)
    counts = curves.is_reached.sum(-1)
    inside = np.where(curves.is_reached, np.abs(z) <= criterion.bound, False).sum(-1) / counts
    inside = np.maximum(inside, 1.0 / counts)
    correction = 1.0 + 2.0 / counts * (1.0 - inside) / inside
    unit = correction * np.square(criterion.pull(z)).sum(-1) / (counts - 2.0) / inside
    share = 1.0 / (1.0 + np.exp(curves.log_batch_size - log_b_c[:, None]))
    mean = np.where(curves.is_reached, share, 0.0).sum(-1) / counts
    spread = np.where(curves.is_reached, np.square(share - mean[:, None]), 0.0).sum(-1) * inside
    with np.errstate(divide="ignore", invalid="ignore"):
        error = criterion.scale * np.sqrt(unit / spread)
    return unit, error


def _level_set(criterion: Criterion, log_b_c: Floats, limit: Floats) -> tuple[Floats, Floats]:
    """Return the smallest and largest log B_c whose profile is within the limit; -inf, inf at an edge of the grid.

    Each end is found between a point inside and one outside by the Illinois method (Dowell and Jarratt 1971).
    """
    grid, is_in = criterion.grid, criterion.profile_of_grid[1] <= limit[:, None]
    most = len(grid) - 1
    next_to = np.clip(np.searchsorted(grid, log_b_c), 1, most)
    first = np.where(is_in.any(-1), is_in.argmax(-1), next_to)
    last = np.where(is_in.any(-1), most - is_in[:, ::-1].argmax(-1), next_to - 1)
    # The fit itself may be the only point inside.
    inner = np.stack([np.minimum(grid[first], log_b_c), np.maximum(grid[last], log_b_c)], -1)
    outer = np.stack([grid[np.maximum(first - 1, 0)], grid[np.minimum(last + 1, most)]], -1)
    below, above = (criterion.profile(at)[1] - limit[:, None] for at in (inner, outer))
    # Rounding: the fit is within the limit, and the edge of a grid that is all within has no end beside it.
    below, above = np.minimum(below, 0.0), np.maximum(above, np.finfo(np.float64).tiny)
    middle, was_inside = inner, np.ones(inner.shape, np.bool_)
    for _ in range(_MOST_STEPS):
        before, middle = middle, outer + above / (above - below) * (inner - outer)
        over = criterion.profile(middle)[1] - limit[:, None]
        inside = over <= 0
        # An end that stays twice counts half, so that it moves as well.
        below = np.where(inside, over, np.where(was_inside, below, 0.5 * below))
        above = np.where(inside, np.where(was_inside, 0.5 * above, above), over)
        inner, outer, was_inside = np.where(inside, middle, inner), np.where(inside, outer, middle), inside
        if (np.abs(middle - before) < _CLOSE).all():
            break
    return np.where(is_in[:, 0], -np.inf, middle[:, 0]), np.where(is_in[:, -1], np.inf, middle[:, 1])


@dataclass(frozen=True)
class Range:
    """A closed interval."""

    lower: float
    upper: float


def residual_bootstrap(
    fit: HyperbolaFit, batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, kind: Kind = "robust"
) -> Range:
    """Return the 90% range of B_c over refits to the fitted curve plus residuals drawn with replacement.

    The log residuals of the m studies that reached the target are inflated by sqrt(m/(m - 2)), since two parameters
    were fitted. batch_sizes, steps: (m,). Deterministic: the seed is fixed. Raises ValueError as fit_hyperbolas does.
    Source: Davison and Hinkley 1997, section 6.2.3 (resampling of errors); METHODS 3.3.
    """
    sizes, counts = checked_curve(batch_sizes, steps)
    reached = np.isfinite(counts)
    sizes, log_s = sizes[reached], np.log(counts[reached])
    fitted = np.log(fit.steps(sizes))
    inflated = (log_s - fitted) * np.sqrt(len(sizes) / (len(sizes) - 2))
    drawn = np.random.default_rng(SEED).integers(len(sizes), size=(N_RESAMPLES, len(sizes)))
    return _percentiles(fit_hyperbolas(sizes, np.exp(fitted + inflated[drawn]), kind=kind).critical_batch_size)


def leave_one_out(
    batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, censored_at: npt.ArrayLike | None = None, kind: Kind = "robust"
) -> Range | None:
    """Return the range of B_c over fits that each omit one batch size; None if fewer than 4 reached the target.

    Arguments and errors as for fit_hyperbola.
    """
    sizes, counts = checked_curve(batch_sizes, steps)
    reached = np.flatnonzero(np.isfinite(counts))
    if len(reached) < 4:
        return None
    without = np.tile(counts, (len(reached), 1))
    without[np.arange(len(reached)), reached] = np.nan
    refits = fit_hyperbolas(sizes, without, censored_at, kind).critical_batch_size
    return Range(float(refits.min()), float(refits.max()))


def subsampled_search(
    batch_sizes: npt.ArrayLike,
    trial_steps: Iterable[npt.ArrayLike],
    censored_at: npt.ArrayLike | None = None,
    kind: Kind = "robust",
) -> Range | None:
    """Return the 90% range of B_c over searches with half of the trials.

    Each draw takes the best of N/2 of the N trials of every study, without replacement; a bootstrap of the minimum
    would be inconsistent (METHODS 3.2). trial_steps: by batch size, the steps of each trial, inf for never. None if in
    more than half of the draws fewer than 3 batch sizes reach the target. Raises ValueError as fit_hyperbolas does.
    """
    sizes = checked_batch_sizes(batch_sizes)
    rng = np.random.default_rng(SEED)
    drawn = np.stack([fewest_of_half(steps, N_RESAMPLES, rng) for steps in trial_steps], axis=-1)
    refits = fit_hyperbolas(sizes, drawn, censored_at, kind).critical_batch_size
    refits = refits[np.isfinite(refits)]
    return _percentiles(refits) if 2 * len(refits) >= N_RESAMPLES else None


def fewest_of_half(steps: npt.ArrayLike, n_draws: int, rng: np.random.Generator) -> Floats:
    """Return the fewest steps among half of the trials (at least one), drawn without replacement, shape (n_draws,).

    The rank r of the best of n of N trials has P(rank > r) = C(N - r, n)/C(N, n), so only the rank is drawn.
    steps: (N,), inf for never. NaN without trials.
    """
    ordered = np.sort(np.asarray(steps, np.float64))
    n_trials = len(ordered)
    if not n_trials:
        return np.full(n_draws, np.nan)
    drawn = max(1, n_trials // 2)
    beyond = chance_of_none(n_trials, n_trials, np.array([drawn]))[0, 1:]
    ranks = np.searchsorted(-beyond, -rng.random(n_draws), side="left")
    return ordered[np.minimum(ranks, n_trials - drawn)]


def _percentiles(values: Floats) -> Range:
    return Range(*np.quantile(values, [0.5 - 0.5 * LEVEL, 0.5 + 0.5 * LEVEL]).tolist())
