"""A power law y = c x^p through a few points that have intervals of their own, and scatter beyond these.

Points that are themselves estimates, such as critical batch sizes, differ in how well they are known, and by more than
their intervals say: workloads differ in other things than x.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

from losslake.analysis.fit_intervals import LEVEL, Range
from losslake_schema.reached import Floats

LawKind = Literal["weighted", "equal", "linear"]
FEWEST_POINTS = 3
LEAST_SPREAD = 2.0
_MOST_SCATTER = 100.0


@dataclass(frozen=True)
class PowerLaw:
    """A fitted law y = coefficient x^exponent.

    scatter: the standard deviation of log y between points beyond their errors; 0 unless weighted. rms_log_residual:
    of all points. covariance: of (log coefficient, exponent), with n_points - 2 degrees of freedom.
    """

    coefficient: float
    exponent: float
    scatter: float
    rms_log_residual: float
    n_points: int
    covariance: tuple[tuple[float, float], tuple[float, float]]

    @property
    def quantile(self) -> float:
        """Student's quantile of the 90% intervals."""
        return float(scipy.special.stdtrit(self.n_points - 2.0, 0.5 + 0.5 * LEVEL))

    @property
    def exponent_range(self) -> Range:
        """The 90% interval of the exponent."""
        reach = self.quantile * math.sqrt(self.covariance[1][1])
        return Range(self.exponent - reach, self.exponent + reach)

    def at(self, x: npt.ArrayLike) -> Floats:
        """Return the law at x > 0, of the same shape."""
        values: Floats = self.coefficient * np.power(np.asarray(x, np.float64), self.exponent)
        return values

    def band(self, x: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return the ends of the 90% interval of the law at x > 0: of its mean, not of another workload."""
        log_x = np.log(np.asarray(x, np.float64))
        (of_c, of_both), (_, of_p) = self.covariance
        reach = self.quantile * np.sqrt(np.maximum(of_c + 2 * log_x * of_both + log_x**2 * of_p, 0.0))
        values = self.at(x)
        return values * np.exp(-reach), values * np.exp(reach)


def log_errors(lower: npt.ArrayLike, upper: npt.ArrayLike, n_sizes: npt.ArrayLike) -> Floats:
    """Return standard errors of log y by point, from its 90% interval; arrays of shape (k,).

    n_sizes: values that each interval was fitted to with two parameters: its half width is Student's quantile with
    n_sizes - 2 degrees of freedom times the error.
    """
    quantile = scipy.special.stdtrit(np.asarray(n_sizes, np.float64) - 2.0, 0.5 + 0.5 * LEVEL)
    errors: Floats = (np.log(np.asarray(upper, np.float64)) - np.log(np.asarray(lower, np.float64))) / (2.0 * quantile)
    return errors


def refused(x: npt.ArrayLike, least_spread: float = LEAST_SPREAD) -> str | None:
    """Return in words why these points support no law, for all x > 0; None if they do.

    least_spread: the least ratio of the largest x to the smallest.
    """
    values = np.unique(np.asarray(x, np.float64))
    n_points = np.size(x)
    if n_points < FEWEST_POINTS:
        counted = "1 point has" if n_points == 1 else f"{n_points or 'no'} points have"
        return f"{counted} a number; a law needs {FEWEST_POINTS}"
    if len(values) < FEWEST_POINTS:
        return f"there are {len(values)} different values; a law needs {FEWEST_POINTS}"
    if values[-1] < least_spread * values[0]:
        return f"the largest is {values[-1] / values[0]:.2f} times the smallest; a law needs {least_spread:g} times"
    return None


def fit_power_law(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    errors: npt.ArrayLike | None = None,
    kind: LawKind = "weighted",
    least_spread: float = LEAST_SPREAD,
) -> PowerLaw:
    """Fit a power law to k points; x, y > 0 and errors of log y >= 0, of shape (k,).

    weighted: log y = log c + p log x + u + e, with the points' errors e and a scatter u of unknown size, which is that
    of Paule and Mandel 1982 (sum of squares, each over its variance, equals k - 2); intervals as of Knapp and Hartung
    2003, with Student's t of k - 2 degrees of freedom, and never narrower than the errors alone say. equal: plain least
    squares of log y. linear: plain least squares of y, so that the largest points count most; its covariance is that
    of the linearized fit. Only weighted needs errors. Raises ValueError where `refused` has a reason, and for values
    out of range.
    """
    at, to = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if at.shape != to.shape or at.ndim != 1 or not (np.isfinite(at) & np.isfinite(to) & (at > 0) & (to > 0)).all():
        raise ValueError("give as many x as y, each a finite number above 0")
    if (reason := refused(at, least_spread)) is not None:
        raise ValueError(reason)
    log_x, log_y = np.log(at), np.log(to)
    if kind == "weighted":
        of_points = np.full(len(at), np.nan) if errors is None else np.asarray(errors, np.float64)
        if of_points.shape != at.shape or not (np.isfinite(of_points) & (of_points >= 0)).all():
            raise ValueError("give an error for each point, a finite number of 0 or more")
        return _weighted(log_x, log_y, of_points)
    line, inverse = _line(log_x, log_y, np.ones(len(at)))
    if kind == "linear":
        return _linear(log_x, to, line)
    rest = log_y - line[0] - line[1] * log_x
    return _law(line, inverse * float(np.square(rest).sum()) / (len(at) - 2), 0.0, rest)


def _line(log_x: Floats, log_y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return intercept and slope of the weighted line, (2,), and the inverse of the normal matrix, (2, 2)."""
    design = np.stack([np.ones(len(log_x)), log_x])
    inverse = np.asarray(np.linalg.inv((design * weights) @ design.T), np.float64)
    line: Floats = inverse @ (design * weights) @ log_y
    return line, inverse


def _weighted(log_x: Floats, log_y: Floats, errors: Floats) -> PowerLaw:
    free = len(log_x) - 2

    def excess(scatter: float) -> float:
        """Return the sum of squares over variances beyond the degrees of freedom; falls with the scatter."""
        variances = np.square(errors) + scatter**2
        if not (variances > 0).all():
            return math.inf
        line, _ = _line(log_x, log_y, 1.0 / variances)
        return float((np.square(log_y - line[0] - line[1] * log_x) / variances).sum()) - free

    # A scatter of less than this is rounding, and without any error there would be no weight.
    least = 1e-9
    scatter = 0.0 if excess(0.0) <= 0 else least
    if scatter and excess(least) > 0:
        scatter = float(scipy.optimize.brentq(excess, least, _MOST_SCATTER))
    variances = np.square(errors) + scatter**2
    line, inverse = _line(log_x, log_y, 1.0 / variances)
    rest = log_y - line[0] - line[1] * log_x
    factor = max(1.0, float((np.square(rest) / variances).sum()) / free)
    return _law(line, inverse * factor, scatter, rest)


def _linear(log_x: Floats, y: Floats, start: Floats) -> PowerLaw:
    unit = float(y.max())

    def residuals(point: Floats) -> Floats:
        values: Floats = (np.exp(point[0] + point[1] * log_x) - y) / unit
        return values

    fit = scipy.optimize.least_squares(residuals, start, xtol=1e-14, ftol=1e-14, gtol=1e-14)
    covariance = np.linalg.inv(fit.jac.T @ fit.jac) * 2.0 * float(fit.cost) / (len(y) - 2)
    return _law(fit.x, covariance, 0.0, np.log(y) - fit.x[0] - fit.x[1] * log_x)


def _law(line: Floats, covariance: Floats, scatter: float, rest: Floats) -> PowerLaw:
    (of_c, of_both), (_, of_p) = covariance.tolist()
    rms = math.sqrt(float(np.square(rest).mean()))
    return PowerLaw(math.exp(line[0]), float(line[1]), scatter, rms, len(rest), ((of_c, of_both), (of_both, of_p)))
