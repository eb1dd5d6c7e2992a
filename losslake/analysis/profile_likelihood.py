"""Intervals of B_c from the profile of the fit's criterion: which B_c the steps don't rule out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from losslake.analysis.criterion import Criterion, bend
from losslake.analysis.hyperbola import FEWEST_POINTS, Kind, criterion_of, fit_hyperbolas, search_grid
from losslake.analysis.log_curves import log_curves
from losslake_schema.reached import Floats

LEVEL = 0.9
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
