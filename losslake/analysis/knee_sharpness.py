"""Other curves than the hyperbola: how sharp the knee of steps over batch size is, and what B_c would be then."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from losslake.analysis.hyperbola import fit_hyperbola
from losslake.analysis.log_curves import checked_batch_sizes, checked_steps
from losslake_schema.reached import Floats

FEWEST_POINTS = 5
LEAST_SHARPNESS, MOST_SHARPNESS = 0.125, 16.0
# Squares of residuals of log steps below this are rounding.
_ROUNDING = 1e-20


@dataclass(frozen=True)
class OtherForms:
    """Least-squares fits with a third parameter, beside the hyperbola.

    sharpness: g of S = S_min (1 + (B_c/B)^g)^(1/g); 1: hyperbola, inf: max(S_min, E_min/B), METHODS 2.1. p_value: of
    the likelihood ratio of that to the hyperbola, n log(RSS_1/RSS_g) against chi-square with 1 degree of freedom.
    sharpness_critical_batch_size: its B_c. exponent: alpha of S = a + b/B^alpha (Zhang et al. 2024).
    exponent_critical_batch_size: (b/a)^(1/alpha), where S = 2a.
    """

    sharpness: float
    p_value: float
    sharpness_critical_batch_size: float
    exponent: float
    exponent_critical_batch_size: float


def fit_other_forms(batch_sizes: npt.ArrayLike, steps: npt.ArrayLike) -> OtherForms | None:
    """Fit both forms in log space; None with fewer than 5 batch sizes that reached the target.

    batch_sizes, steps: (m,), as of fit_hyperbola. g and alpha are sought in [1/8, 16]. Raises ValueError.
    """
    sizes = checked_batch_sizes(batch_sizes)
    counts = checked_steps(steps, len(sizes))
    reached = np.isfinite(counts)
    if reached.sum() < FEWEST_POINTS:
        return None
    log_b, log_s = np.log(sizes[reached]), np.log(counts[reached])
    hyperbola = fit_hyperbola(sizes[reached], counts[reached], kind="least-squares")
    assert hyperbola is not None
    at = math.log(hyperbola.critical_batch_size)
    knee, knee_b_c, knee_rss = _fit(log_b, log_s, at, is_root=True)
    power, power_b_c, _ = _fit(log_b, log_s, at, is_root=False)
    rss = hyperbola.rms_log_residual**2 * len(log_b)
    ratio = len(log_b) * math.log(max(rss, _ROUNDING) / max(knee_rss, _ROUNDING))
    return OtherForms(knee, float(scipy.stats.chi2.sf(max(ratio, 0.0), 1)), knee_b_c, power, power_b_c)


def _fit(log_b: Floats, log_s: Floats, at: float, is_root: bool) -> tuple[float, float, float]:
    """The third parameter k, B_c and the residual sum of squares of log S = m + log(1 + (B_c/B)^k) [/k if is_root]."""

    def residuals(point: Floats) -> Floats:
        k = math.exp(point[1])
        bent = np.logaddexp(0.0, k * (point[0] - log_b)) / (k if is_root else 1.0)
        found = log_s - bent
        centred: Floats = found - found.mean()
        return centred

    bounds = (
        [log_b[0] - math.log(100), math.log(LEAST_SHARPNESS)],
        [log_b[-1] + math.log(100), math.log(MOST_SHARPNESS)],
    )
    start = min(max(at, bounds[0][0] + 1e-6), bounds[1][0] - 1e-6)
    fits = [scipy.optimize.least_squares(residuals, [start, math.log(k)], bounds=bounds) for k in (1.0, 3.0)]
    best = min(fits, key=lambda fit: float(fit.cost))
    return math.exp(best.x[1]), math.exp(best.x[0]), 2.0 * float(best.cost)
