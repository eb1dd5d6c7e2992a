"""How sure the B_c of a fit is: intervals from the profile of its criterion, and ranges from fits to changed data.

An interval holds the B_c that the steps don't rule out. Data are changed by drawing residuals anew, by leaving a batch
size out, and by searching half of the trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from losslake.analysis.best_of_n import chance_of_none
from losslake.analysis.hyperbola import (
    FEWEST_POINTS,
    Criterion,
    HyperbolaFit,
    Kind,
    bend,
    criterion_of,
    fit_hyperbolas,
    search_grid,
)
from losslake.analysis.log_curves import checked_batch_sizes, checked_steps, log_curves
from losslake_schema.reached import Floats

LEVEL = 0.9
SEED = 20190320
N_RESAMPLES = 500
_BISECTIONS = 22


@dataclass(frozen=True)
class Intervals:
    """Intervals of B_c of n curves, each array of shape (n,); NaN where there is no fit.

    lower, upper: 0 and inf where the steps rule out nothing on that side. log_standard_error: of log B_c.
    """

    lower: Floats
    upper: Floats
    log_standard_error: Floats


def profile_intervals(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    censored_at: npt.ArrayLike | None = None,
    kind: Kind = "robust",
    level: float = LEVEL,
) -> Intervals:
    """Intervals of B_c at a two-sided level, for n curves at once; arguments as of fit_hyperbolas.

    All B_c with 2 (Q(B_c) - min Q) / lambda <= t^2, Q the criterion at the best S_min, t Student's quantile at m - 2
    degrees of freedom for m studies that reached the target. lambda = K sum psi^2 / (m - 2) / mean psi', with Huber's
    correction K = 1 + 2/m (1 - c)/c for the share c of residuals on the parabola (Huber 1981, 7.6; the ratio test of
    Schrader and Hettmansperger 1980). For least squares that is the exact F test of B_c:
    RSS(B_c) <= RSS_min (1 + t^2/(m - 2)). The standard error is that of the delta method (METHODS 3.3).
    """
    curves = log_curves(batch_sizes, steps, censored_at)
    fits = fit_hyperbolas(batch_sizes, np.atleast_2d(np.asarray(steps, np.float64)), censored_at, kind)
    lower, upper, error = np.full((3, len(fits.n_points)), np.nan)
    rows = np.flatnonzero(fits.n_points >= FEWEST_POINTS)
    if len(rows):
        criterion = criterion_of(curves.of(rows), kind)
        log_b_c, log_s_min = np.log(fits.critical_batch_size[rows]), np.log(fits.s_min[rows])
        unit, error[rows] = _unit_of_loss(criterion, log_b_c, log_s_min)
        quantile = scipy.special.stdtrit(fits.n_points[rows] - 2.0, 0.5 + 0.5 * level)
        above = curves.of(rows).log_steps - bend(log_b_c, curves.log_batch_size)
        limit = criterion.total(criterion.residuals(above, log_s_min)) + 0.5 * unit * quantile**2
        lower[rows], upper[rows] = _level_set(criterion, log_b_c, limit)
    return Intervals(np.exp(lower), np.exp(upper), error)


def _unit_of_loss(criterion: Criterion, log_b_c: Floats, log_s_min: Floats) -> tuple[Floats, Floats]:
    """lambda as above, and the standard error of log B_c, both (n,)."""
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
    """The ends of the hull of all log B_c with a profile of at most the limit; -inf and inf if it reaches an edge."""
    grid = search_grid(criterion.curves.log_batch_size)
    loss = criterion.profile(grid)[1]
    is_in = loss <= limit[:, None]
    most = len(grid) - 1
    next_to = np.clip(np.searchsorted(grid, log_b_c), 1, most)
    first = np.where(is_in.any(-1), is_in.argmax(-1), next_to)
    last = np.where(is_in.any(-1), most - is_in[:, ::-1].argmax(-1), next_to - 1)
    # The fit itself may be the only point inside.
    inner = np.stack([np.minimum(grid[first], log_b_c), np.maximum(grid[last], log_b_c)], -1)
    outer = np.stack([grid[np.maximum(first - 1, 0)], grid[np.minimum(last + 1, most)]], -1)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (inner + outer)
        inside = criterion.profile(middle)[1] <= limit[:, None]
        inner, outer = np.where(inside, middle, inner), np.where(inside, outer, middle)
    return np.where(is_in[:, 0], -np.inf, inner[:, 0]), np.where(is_in[:, -1], np.inf, inner[:, 1])


@dataclass(frozen=True)
class Range:
    """From lower to upper, both included."""

    lower: float
    upper: float


def residual_bootstrap(
    fit: HyperbolaFit, batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, kind: Kind = "robust"
) -> Range:
    """Percentiles of B_c of refits to the fitted curve with residuals drawn with replacement (METHODS 3.3).

    The log residuals of the m studies that reached the target are multiplied by sqrt(m/(m - 2)), for two parameters
    were fitted. batch_sizes, steps: (m,). The draws are the same each time. Raises ValueError.
    """
    sizes = checked_batch_sizes(batch_sizes)
    counts = checked_steps(steps, len(sizes))
    reached = np.isfinite(counts)
    sizes, log_s = sizes[reached], np.log(counts[reached])
    fitted = np.log(fit.steps(sizes))
    inflated = (log_s - fitted) * np.sqrt(len(sizes) / (len(sizes) - 2))
    drawn = np.random.default_rng(SEED).integers(len(sizes), size=(N_RESAMPLES, len(sizes)))
    return _percentiles(fit_hyperbolas(sizes, np.exp(fitted + inflated[drawn]), kind=kind).critical_batch_size)


def leave_one_out(
    batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, censored_at: npt.ArrayLike | None = None, kind: Kind = "robust"
) -> Range | None:
    """The least and the most B_c of fits without one of the batch sizes; None where too few are left for any."""
    sizes = checked_batch_sizes(batch_sizes)
    counts = checked_steps(steps, len(sizes))
    reached = np.flatnonzero(np.isfinite(counts))
    if len(reached) < 4:
        return None
    without = np.tile(counts, (len(reached), 1))
    without[np.arange(len(reached)), reached] = np.nan
    found = fit_hyperbolas(sizes, without, censored_at, kind).critical_batch_size
    return Range(float(found.min()), float(found.max()))


def subsampled_search(
    batch_sizes: npt.ArrayLike,
    trial_steps: Sequence[npt.ArrayLike],
    censored_at: npt.ArrayLike | None = None,
    kind: Kind = "robust",
) -> Range | None:
    """Percentiles of B_c if every search had only half of its trials: what another search might have said.

    Of the N trials of each study N/2 are drawn without replacement, and the best of these kept: not a bootstrap of a
    minimum, which is inconsistent (METHODS 3.2). trial_steps: by batch size, the steps of each trial, inf for never.
    None if fewer than half of the draws leave 3 batch sizes that reach the target. Raises ValueError.
    """
    sizes = checked_batch_sizes(batch_sizes)
    rng = np.random.default_rng(SEED)
    drawn = np.stack([fewest_of_half(steps, N_RESAMPLES, rng) for steps in trial_steps], axis=-1)
    found = fit_hyperbolas(sizes, drawn, censored_at, kind).critical_batch_size
    found = found[np.isfinite(found)]
    return _percentiles(found) if 2 * len(found) >= N_RESAMPLES else None


def fewest_of_half(steps: npt.ArrayLike, n_draws: int, rng: np.random.Generator) -> Floats:
    """The fewest steps among half of the trials (at least one), drawn without replacement, so many times.

    The rank r of the best of n of N has P(rank > r) = C(N - r, n)/C(N, n), so nothing but the rank has to be drawn.
    steps: (N,), inf for never. No trials: all NaN, absent.
    """
    ordered = np.sort(np.asarray(steps, np.float64))
    n_trials = len(ordered)
    if not n_trials:
        return np.full(n_draws, np.nan)
    drawn = max(1, n_trials // 2)
    beyond = chance_of_none(n_trials, n_trials, np.array([drawn]))[0, 1:]
    ranks = np.searchsorted(-beyond, -rng.random(n_draws), side="left")
    fewest: Floats = ordered[np.minimum(ranks, n_trials - drawn)]
    return fewest


def _percentiles(values: Floats) -> Range:
    return Range(*np.quantile(values, [0.5 - 0.5 * LEVEL, 0.5 + 0.5 * LEVEL]).tolist())
