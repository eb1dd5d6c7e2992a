"""Fits of the hyperbola S = S_min (1 + B_c/B) of steps to target over batch size, in log space, for many curves.

A fit minimizes the squares of the residuals of log steps, or Huber's loss, one-sided for never-reached studies.
Source: McCandlish et al. 2018 (arXiv 1812.06162), equation 2.11; the fit METHODS 2.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from losslake.analysis.log_curves import LogCurves, at_places, log_curves, median_of
from losslake_schema.reached import Flags, Floats, Integers

# Huber's constant: 95% of the efficiency of least squares when the noise is normal.
HUBER = 1.345
Kind = Literal["robust", "least-squares"]
KINDS: tuple[Kind, ...] = ("robust", "least-squares")
FEWEST_POINTS = 3
# The resolution of log steps is limited: evaluations have a spacing, and searches end.
LEAST_SCALE = 0.005
_BEYOND = np.log(100.0)
_SPACING = 0.35
# Array elements per block of curves, so that a block fits in the processor's cache.
_BLOCK = 1 << 17


@dataclass(frozen=True)
class HyperbolaFits:
    """The fits of n curves, arrays of shape (n,); NaN where fewer than 3 studies reached the target.

    critical_batch_size: B_c = E_min/S_min, in the unit of the batch sizes. s_min: fewest steps, at B -> inf. scale: the
    expected size of a residual of log steps.
    rms_log_residual: of the studies that reached the target. n_points: studies that reached the target.
    """

    critical_batch_size: Floats
    s_min: Floats
    scale: Floats
    rms_log_residual: Floats
    n_points: Integers


@dataclass(frozen=True)
class HyperbolaFit:
    """The fit of one curve, with the fields of HyperbolaFits."""

    critical_batch_size: float
    s_min: float
    scale: float
    rms_log_residual: float
    n_points: int

    @property
    def e_min(self) -> float:
        """The fewest examples, at B -> 0: E_min = B_c S_min."""
        return self.critical_batch_size * self.s_min

    def steps(self, batch_sizes: npt.ArrayLike) -> Floats:
        """Return the fitted steps at these batch sizes: S_min (1 + B_c/B)."""
        return self.s_min * (1.0 + self.critical_batch_size / np.asarray(batch_sizes, np.float64))


def fit_hyperbola(
    batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, censored_at: npt.ArrayLike | None = None, kind: Kind = "robust"
) -> HyperbolaFit | None:
    """Fit one curve, steps of shape (m,); None if fewer than 3 studies reached the target.

    Arguments and errors otherwise as for fit_hyperbolas.
    """
    fits = fit_hyperbolas(batch_sizes, np.asarray(steps, np.float64)[None], censored_at, kind)
    if fits.n_points[0] < FEWEST_POINTS:
        return None
    return HyperbolaFit(**{field.name: getattr(fits, field.name)[0].item() for field in fields(HyperbolaFit)})


def fit_hyperbolas(
    batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, censored_at: npt.ArrayLike | None = None, kind: Kind = "robust"
) -> HyperbolaFits:
    """Fit S = S_min (1 + B_c/B) to n curves in log space.

    Args:
        batch_sizes: shape (m,), ascending, above 0.
        steps: shape (n, m), above 0; inf where the target was never reached, NaN for no study.
        censored_at: shape (m,) or (n, m), the step up to which never-reached studies ran; without it they are ignored.
        kind: "least-squares" minimizes the squares of the log residuals of the reached studies, as Zhang et al. 2024
            do; "robust" minimizes Huber's loss with one-sided residuals for never-reached studies, scaled by 1.4826
            times the median absolute residual around the L1 fit, without the two smallest; at least 0.005.

    The search for log B_c starts from a grid over [B_1/100, 100 B_m], which avoids local optima. Raises ValueError for
    another kind, other shapes, batch sizes that don't ascend, and steps of 0 or less.
    Source: METHODS 2.2; Huber 1964; Zhang et al. 2024 (arXiv 2410.21676).
    """
    curves = log_curves(batch_sizes, steps, censored_at)
    fits = np.full((4, len(curves.log_steps)), np.nan)
    for rows, criterion in criteria(curves, kind):
        fits[:, rows] = fit_of(criterion)
    log_b_c, log_s_min, scale, rms_log_residual = fits
    n_points = curves.is_reached.sum(-1).astype(np.int64)
    return HyperbolaFits(np.exp(log_b_c), np.exp(log_s_min), scale, rms_log_residual, n_points)


def criteria(curves: LogCurves, kind: Kind) -> Iterator[tuple[npt.NDArray[np.intp], Criterion]]:
    """Yield the criterion that a fit of this kind minimizes for the curves of each block that can be fitted.

    Raises ValueError for another kind.
    """
    if kind not in KINDS:
        raise ValueError(f"kind '{kind}': give one of {', '.join(KINDS)}")
    rows = np.flatnonzero(curves.is_reached.sum(-1) >= FEWEST_POINTS)
    if len(rows):
        size = max(1, _BLOCK // (len(search_grid(curves.log_batch_size)) * len(curves.log_batch_size)))
        for block in np.split(rows, range(size, len(rows), size)):
            of_block = curves.of(block)
            if kind == "least-squares":
                yield block, Criterion(of_block.without_censored(), np.ones(len(block)), np.inf)
            else:
                yield block, Criterion(of_block, _robust_scale(of_block), HUBER)


def search_grid(log_batch_size: Floats) -> Floats:
    """Return a grid of log B_c over [B_1/100, 100 B_m] with spacing at most 0.35, shape (g,)."""
    low, high = float(log_batch_size[0]) - _BEYOND, float(log_batch_size[-1]) + _BEYOND
    return np.linspace(low, high, int(np.ceil((high - low) / _SPACING)) + 1)


def bend(log_critical_batch_size: Floats, log_batch_size: Floats) -> Floats:
    """Return log(1 + B_c/B) = log S - log S_min, of shape (..., m) for log B_c of shape (...)."""
    return np.logaddexp(0.0, log_critical_batch_size[..., None] - log_batch_size)


@dataclass(frozen=True)
class Criterion:
    """The sum over batch sizes of rho(z), z = (log S - log S_min - log(1 + B_c/B)) / scale; METHODS 2.2.

    rho(z) = z^2/2 up to |z| = bound and linear beyond (Huber 1964); bound = inf: least squares. A never-reached study
    counts only if the fit predicts that it should have reached the target: z = max(z, 0).
    curves: n curves over m batch sizes. scale: (n,), in units of log steps.
    """

    curves: LogCurves
    scale: Floats
    bound: float

    @cached_property
    def is_present(self) -> Flags:
        """True for the studies that aren't absent, (n, m)."""
        return self.curves.is_reached | self.curves.is_censored

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """The least and the most pull of each study, in units of log steps, (n, 1, m)."""
        reach = self.bound * self.scale[:, None]
        least, most = np.where(self.curves.is_reached, -reach, 0.0), np.where(self.is_present, reach, 0.0)
        return least[:, None], most[:, None]

    @cached_property
    def grid(self) -> Floats:
        """The grid of log B_c from which searches start, (g,)."""
        return search_grid(self.curves.log_batch_size)

    @cached_property
    def profile_of_grid(self) -> tuple[Floats, Floats]:
        """The profile at the grid."""
        return self.profile(self.grid)

    def residuals(self, above: Floats, log_s_min: Floats) -> Floats:
        """Return z, (n, ..., m), 0 where absent; above: log S minus the bend, (n, ..., m); log_s_min: (n, ...)."""
        between = (slice(None), *[None] * (above.ndim - 2), slice(None))
        scale = self.scale.reshape(-1, *[1] * (above.ndim - 1))
        z = (above - log_s_min[..., None]) / scale
        censored = self.curves.is_censored[between]
        if censored.any():
            z = np.where(censored, np.maximum(z, 0.0), z)
        return z if self.is_present.all() else np.where(self.is_present[between], z, 0.0)

    def is_pulling(self, z: Floats) -> Floats:
        """Return rho''(z): 1 on the parabola, 0 on the lines and for ignored studies; shape of z."""
        between = (slice(None), *[None] * (z.ndim - 2), slice(None))
        counts = self.curves.is_reached[between] | (self.curves.is_censored[between] & (z > 0))
        return ((np.abs(z) <= self.bound) & counts).astype(np.float64)

    def pull(self, z: Floats) -> Floats:
        """Return rho'(z), Huber's psi; shape of z."""
        return np.clip(z, -self.bound, self.bound)

    def total(self, z: Floats) -> Floats:
        """Return the sum of rho(z) over the last axis."""
        pull = self.pull(z)
        summed: Floats = np.einsum("...m,...m->...", pull, z - 0.5 * pull)
        return summed

    def profile(self, log_critical_batch_size: Floats) -> tuple[Floats, Floats]:
        """Return the best log S_min for given log B_c, and the criterion there, both (n, g).

        log_critical_batch_size: (g,) for all curves, or (n, g).
        """
        above = self.curves.log_steps[:, None, :] - bend(log_critical_batch_size, self.curves.log_batch_size)
        log_s_min = self._mean(above) if np.isinf(self.bound) else self._balance(above)
        return log_s_min, self.total(self.residuals(above, log_s_min))

    def _mean(self, above: Floats) -> Floats:
        is_reached = self.curves.is_reached[:, None, :]
        mean: Floats = np.where(is_reached, above, 0.0).sum(-1) / is_reached.sum(-1)
        return mean

    def _balance(self, above: Floats) -> Floats:
        """Return the log S_min at which the pulls of the studies add up to 0, (n, g); above: (n, g, m).

        Their sum falls along straight lines between knots: the log S_min at which a study's pull begins to fall, and
        where it ends, at -bound, or at 0 if the study never reached the target. A binary search finds the two knots
        beside the 0.
        """
        least, most = self.limits
        knots = np.concatenate([above - most, above - least], -1)
        if not self.is_present.all():
            knots[np.broadcast_to(~np.tile(self.is_present, 2)[:, None], knots.shape)] = np.inf
        knots.sort(-1)
        pulls, each = np.empty_like(above), np.ones(above.shape[-1])

        def pull_at(knot: Integers) -> tuple[Floats, Floats]:
            log_s_min = at_places(knots, knot)
            np.subtract(above, log_s_min[..., None], out=pulls)
            np.maximum(pulls, least, out=pulls)
            np.minimum(pulls, most, out=pulls)
            return log_s_min, pulls @ each

        low = np.zeros(above.shape[:2], np.int64)
        high = np.broadcast_to(2 * self.is_present.sum(-1)[:, None] - 1, low.shape)
        for _ in range(int(high.max()).bit_length()):
            middle = (low + high) // 2
            is_below = pull_at(middle)[1] > 0
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        (start, up), (end, down) = pull_at(low), pull_at(high)
        return start + (end - start) * up / (up - down)


def fit_of(criterion: Criterion) -> Floats:
    """Return log B_c, log S_min, scale and rms log residual, shape (4, n)."""
    grid, (log_s_min, loss) = criterion.grid, criterion.profile_of_grid
    rows, best = np.arange(len(loss)), loss.argmin(-1)
    low, high = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, len(grid) - 1)]
    log_b_c, log_s_min = _refined(criterion, grid[best], log_s_min[rows, best], low, high)
    curves = criterion.curves
    residuals = curves.log_steps - bend(log_b_c, curves.log_batch_size) - log_s_min[:, None]
    squares = np.where(curves.is_reached, residuals**2, 0.0).sum(-1) / curves.is_reached.sum(-1)
    return np.stack([log_b_c, log_s_min, criterion.scale, np.sqrt(squares)])


def _refined(
    criterion: Criterion, log_b_c: Floats, log_s_min: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Return the minimum with log B_c in [low, high], by damped Newton steps in both parameters."""
    curves = criterion.curves
    damping = np.ones(len(log_b_c))
    at, offset = log_b_c, log_s_min
    z = criterion.residuals(curves.log_steps - bend(at, curves.log_batch_size), offset)
    loss = criterion.total(z)
    for _ in range(60):
        step_at, step_offset = _newton_step(criterion, z, at)
        next_at = np.clip(at + damping * step_at, low, high)
        next_offset = offset + damping * step_offset
        next_z = criterion.residuals(curves.log_steps - bend(next_at, curves.log_batch_size), next_offset)
        next_loss = criterion.total(next_z)
        better = next_loss <= loss * (1 + 1e-14)
        moved = np.abs(next_at - at) + np.abs(next_offset - offset)
        at, offset = np.where(better, next_at, at), np.where(better, next_offset, offset)
        z, loss = np.where(better[:, None], next_z, z), np.where(better, next_loss, loss)
        damping = np.where(better, np.minimum(1.0, 2.0 * damping), 0.25 * damping)
        if (moved < 1e-11).all():
            break
    return at, offset


def _newton_step(criterion: Criterion, z: Floats, log_b_c: Floats) -> tuple[Floats, Floats]:
    """Return Newton steps in log B_c and log S_min; Gauss-Newton steps where the Hessian isn't positive definite."""
    share = 1.0 / (1.0 + np.exp(criterion.curves.log_batch_size - log_b_c[:, None]))
    pull, curvature = criterion.pull(z), criterion.is_pulling(z)
    scaled = pull * criterion.scale[:, None]
    g_offset, g_at = scaled.sum(-1), (scaled * share).sum(-1)
    mm, mu, uu = curvature.sum(-1), (curvature * share).sum(-1), (curvature * share**2).sum(-1)
    second = uu - (scaled * share * (1 - share)).sum(-1)
    whole = (mm > 0) & (mm * second - mu**2 > 1e-9 * mm * np.abs(second))
    if not whole.all():
        weight = np.where(z == 0, curvature, pull / np.where(z == 0, 1.0, z))
        w, wu, wuu = weight.sum(-1), (weight * share).sum(-1), (weight * share**2).sum(-1)
        mm, mu, second = np.where(whole, mm, w), np.where(whole, mu, wu), np.where(whole, second, wuu)
    # A ridge far below the rounding of the result: perfect scaling, or none, makes the matrix singular.
    mm, second = mm + 1e-12, second + 1e-12
    determinant = np.maximum(mm * second - mu**2, 1e-24)
    return (mm * g_at - mu * g_offset) / determinant, (second * g_offset - mu * g_at) / determinant


def _robust_scale(curves: LogCurves) -> Floats:
    """Return the scale of residuals, (n,): 1.4826 times their median absolute value around the L1 fit.

    The two smallest residuals are omitted, since an L1 fit of two parameters makes two of them vanish (Maronna, Martin
    and Yohai 2006, 4.4.2).
    """
    grid = search_grid(curves.log_batch_size)
    at = grid[_absolute(curves, grid)[0].argmin(-1)]
    spacing = grid[1] - grid[0]
    for _ in range(3):
        near = at[:, None] + spacing * np.linspace(-1.0, 1.0, 9)
        total, _ = _absolute(curves, near)
        at = near[np.arange(len(near)), total.argmin(-1)]
        spacing /= 4.0
    _, residuals = _absolute(curves, at[:, None])
    sizes = np.sort(np.where(curves.is_reached, np.abs(residuals[:, 0]), np.inf), -1)[:, 2:]
    counts = np.maximum(curves.is_reached.sum(-1) - 2, 1).astype(np.float64)
    return np.maximum(1.4826 * median_of(sizes, counts), LEAST_SCALE)


def _absolute(curves: LogCurves, log_b_c: Floats) -> tuple[Floats, Floats]:
    """Return sums of absolute residuals around their median, (n, g), and the residuals, (n, g, m)."""
    is_reached = curves.is_reached[:, None, :]
    above = curves.log_steps[:, None, :] - bend(log_b_c, curves.log_batch_size)
    counts = np.broadcast_to(is_reached.sum(-1).astype(np.float64), above.shape[:2])
    middle = median_of(np.sort(np.where(is_reached, above, np.inf), -1), counts)
    residuals = above - middle[..., None]
    return np.where(is_reached, np.abs(residuals), 0.0).sum(-1), residuals
