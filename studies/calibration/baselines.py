"""Baselines of forecasts: the last value, and a power law fitted to the curve, with bands of their residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake.analysis.neighbour_bands import pooled_quantile
from losslake_schema.reached import Floats, Integers

EXPONENTS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)
LEAST_POINTS = 4
Ends = tuple[float, float]


@dataclass(frozen=True)
class PowerLaw:
    """A loss of a (step / scale)^-b + c. a: 0 for a curve that doesn't fall, of which c is then the mean."""

    a: float
    b: float
    c: float
    scale: float

    def at(self, step: float) -> float:
        """Return the loss at a step."""
        return float(self.a * (step / self.scale) ** -self.b + self.c)

    def first_step(self, loss: float) -> float:
        """Return the step from which the loss is below another one; inf for never."""
        if self.c >= loss:
            return np.inf
        if self.a <= 0:
            return 0.0
        with np.errstate(over="ignore"):
            return float(self.scale * (self.a / (loss - self.c)) ** (1 / self.b))


def fitted(steps: Integers, losses: Floats) -> PowerLaw | None:
    """Return the power law with the least squares over EXPONENTS; None for fewer than LEAST_POINTS numbers."""
    counts = np.isfinite(losses) & (steps > 0)
    t, values = steps[counts].astype(np.float64), losses[counts]
    if len(t) < LEAST_POINTS:
        return None
    powers = (t / t[-1]) ** -np.array(EXPONENTS)[:, None]
    middle, mean = powers.mean(axis=1, keepdims=True), values.mean()
    a = np.maximum(((powers - middle) * (values - mean)).sum(axis=1) / ((powers - middle) ** 2).sum(axis=1), 0.0)
    c = mean - a * middle[:, 0]
    best = int(np.argmin(((a[:, None] * powers + c[:, None] - values) ** 2).sum(axis=1)))
    return PowerLaw(float(a[best]), EXPONENTS[best], float(c[best]), float(t[-1]))


def residual_band(predicted: float, predictions: Floats, outcomes: Floats, groups: Integers, level: float) -> Ends:
    """Return the band around a prediction from the residuals of other trials; infinite residuals count as they are."""
    tail = (1 - level) / 2
    with np.errstate(invalid="ignore"):
        above = np.where(outcomes == predictions, 0.0, outcomes - predictions)
        below = np.where(outcomes == predictions, 0.0, predictions - outcomes)
    lower, upper = (float(pooled_quantile(each, groups, tail)) for each in (below, above))
    first = -np.inf if lower == np.inf else predicted - lower if np.isfinite(predicted) else predicted
    return first, predicted + upper if np.isfinite(upper) else np.inf
