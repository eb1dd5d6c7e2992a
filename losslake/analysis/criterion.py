"""What a fit of S = S_min (1 + B_c/B) makes small: residuals of log steps, squared, or Huber's and one-sided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake.analysis.log_curves import LogCurves
from losslake.analysis.median import median_of
from losslake_schema.reached import Floats

# Huber's constant: 95% of the efficiency of least squares when the noise is normal.
HUBER = 1.345


def bend(log_critical_batch_size: Floats, log_batch_size: Floats) -> Floats:
    """log(1 + B_c/B), of shape (..., m) for log B_c of shape (...): how far log S lies above log S_min."""
    bent: Floats = np.logaddexp(0.0, log_critical_batch_size[..., None] - log_batch_size)
    return bent


@dataclass(frozen=True)
class Criterion:
    """The sum over batch sizes of rho(z), z = (log S - log S_min - log(1 + B_c/B)) / scale; METHODS 2.2.

    rho(z) = z^2/2, and beyond |z| = bound it goes on as a straight line (Huber 1964); bound = inf: least squares. A
    never-reached study counts only if the fit says that it should have been reached: there z = max(z, 0).
    curves: n of them, over m batch sizes. scale: (n,), in units of log steps.
    """

    curves: LogCurves
    scale: Floats
    bound: float

    def residuals(self, above: Floats, log_s_min: Floats) -> Floats:
        """z of shape (n, ..., m), 0 where absent; above: log S minus the bend, (n, ..., m); log_s_min: (n, ...)."""
        between = (slice(None), *[None] * (above.ndim - 2), slice(None))
        scale = self.scale.reshape(-1, *[1] * (above.ndim - 1))
        z = (above - log_s_min[..., None]) / scale
        censored = self.curves.is_censored[between]
        if censored.any():
            z = np.where(censored, np.maximum(z, 0.0), z)
        kept: Floats = np.where((self.curves.is_reached | self.curves.is_censored)[between], z, 0.0)
        return kept

    def is_pulling(self, z: Floats) -> Floats:
        """rho'' of z: 1 on the parabola, 0 on the lines, and for what counts for nothing; as z."""
        between = (slice(None), *[None] * (z.ndim - 2), slice(None))
        counts = self.curves.is_reached[between] | (self.curves.is_censored[between] & (z > 0))
        pulling: Floats = ((np.abs(z) <= self.bound) & counts).astype(np.float64)
        return pulling

    def pull(self, z: Floats) -> Floats:
        """rho' of z, Huber's psi; as z."""
        pulled: Floats = np.clip(z, -self.bound, self.bound)
        return pulled

    def total(self, z: Floats) -> Floats:
        """The sum of rho(z) over the last axis."""
        pull = self.pull(z)
        summed: Floats = np.einsum("...m,...m->...", pull, z - 0.5 * pull)
        return summed

    def profile(self, log_critical_batch_size: Floats, n_steps: int = 12) -> tuple[Floats, Floats]:
        """The best log S_min at given log B_c, and the criterion there.

        log_critical_batch_size: (g,) for all curves, or (n, g). Both answers: (n, g). The criterion is convex in
        log S_min, so Newton's method from the median ends after few steps (one, for least squares).
        """
        above = self.curves.log_steps[:, None, :] - bend(log_critical_batch_size, self.curves.log_batch_size)
        is_reached = self.curves.is_reached[:, None, :]
        counts = is_reached.sum(-1).astype(np.float64)
        shape = above.shape[:2]
        log_s_min = median_of(np.sort(np.where(is_reached, above, np.inf), -1), np.broadcast_to(counts, shape))
        log_s_min = np.where(np.isfinite(log_s_min), log_s_min, 0.0)
        for _ in range(1 if np.isinf(self.bound) and not self.curves.is_censored.any() else n_steps):
            z = self.residuals(above, log_s_min)
            slope = self.is_pulling(z).sum(-1)
            slope = np.where(slope > 0, slope, np.maximum(counts, 1.0))
            step = self.scale[:, None] * self.pull(z).sum(-1) / slope
            log_s_min = log_s_min + step
            if (np.abs(step) < 1e-13).all():
                break
        return log_s_min, self.total(self.residuals(above, log_s_min))
