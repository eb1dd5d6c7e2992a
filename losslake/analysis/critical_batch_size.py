"""The critical batch size of one curve of steps, with intervals, under each published definition.

Also fits of other curves than the hyperbola, with a sharper or softer knee.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from losslake.analysis.fit_intervals import (
    LEVEL,
    Range,
    leave_one_out,
    log_standard_errors,
    residual_bootstrap,
    subsampled_search,
)
from losslake.analysis.hyperbola import HyperbolaFit, Kind, fit_hyperbola
from losslake.analysis.identifiability import Identifiability, identifiability
from losslake.analysis.log_curves import checked_curve
from losslake_schema.reached import Floats

MCCANDLISH, ZHANG = "mccandlish2018", "zhang2024"
OVERHEAD = 0.2
OPTIMAL_BATCH_SIZE = 256.0
FEWEST_POINTS = 5
LEAST_SHARPNESS, MOST_SHARPNESS = 0.125, 16.0
# Squares of residuals of log steps below this are rounding.
_ROUNDING = 1e-20


@dataclass(frozen=True)
class CurveFit:
    """The estimate of B_c = E_min/S_min from one curve.

    fit: None if fewer than 3 batch sizes reached the target. known: the 90% interval, or bounds and the reasons for
    giving only these. delta_method, bootstrap, left_out, subsampled: other ranges of B_c (left_out: minimum and
    maximum); None unless `known` is identifiable; subsampled is also None without trials. other_forms: the model-form
    error; None likewise. runs_p_value: of the runs test of the residuals.
    """

    fit: HyperbolaFit | None
    known: Identifiability
    delta_method: Range | None = None
    bootstrap: Range | None = None
    left_out: Range | None = None
    subsampled: Range | None = None
    other_forms: OtherForms | None = None
    runs_p_value: float | None = None


@dataclass(frozen=True)
class CriticalBatchSize:
    """A critical batch size under one definition: a value with its 90% interval, or bounds without a value.

    lower, upper: None where the data set no bound. s_min, e_min: fewest steps and examples; None if value is None.
    """

    definition: str
    value: float | None
    lower: float | None
    upper: float | None
    s_min: float | None
    e_min: float | None
    is_identifiable: bool
    rms_log_residual: float | None
    scale: float
    shift: float
    warnings: tuple[str, ...]

    def changed(self, critical_batch_size: float) -> float:
        """Return the value under this definition for a B_c = E_min/S_min: scale B_c + shift."""
        return self.scale * critical_batch_size + self.shift


def tested_curve(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    censored_at: npt.ArrayLike | None = None,
    previous_steps: npt.ArrayLike | None = None,
    kind: Kind = "robust",
    n_trials: npt.ArrayLike | None = None,
) -> CurveFit:
    """Fit the hyperbola to one curve and test whether the data support it, without other ranges of B_c.

    The arguments are those of fit_curve.
    """
    fit = fit_hyperbola(batch_sizes, steps, censored_at, kind)
    return CurveFit(fit, identifiability(batch_sizes, steps, censored_at, previous_steps, kind, n_trials))


def fit_curve(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    censored_at: npt.ArrayLike | None = None,
    previous_steps: npt.ArrayLike | None = None,
    trial_steps: Iterable[npt.ArrayLike] | None = None,
    kind: Kind = "robust",
    n_trials: npt.ArrayLike | None = None,
) -> CurveFit:
    """Fit the hyperbola to one curve, test whether the data support it, and compute ranges of B_c.

    batch_sizes, steps, censored_at, previous_steps, n_trials: (m,), as for identifiability.gates, with its errors.
    trial_steps: by batch size, the steps of each trial, inf for never, for the range of subsampled searches; read only
    where B_c is identifiable.
    Source: delta method, residual bootstrap and runs test as in METHODS 3.3; see the functions called.
    """
    sizes, counts = checked_curve(batch_sizes, steps)
    tested = tested_curve(sizes, counts, censored_at, previous_steps, kind, n_trials)
    fit = tested.fit
    if fit is None or not tested.known.is_identifiable:
        return tested
    error = float(log_standard_errors(sizes, counts, censored_at, kind)[0])
    reach = float(scipy.special.stdtrit(fit.n_points - 2.0, 0.5 + 0.5 * LEVEL)) * error
    return replace(
        tested,
        delta_method=Range(fit.critical_batch_size * math.exp(-reach), fit.critical_batch_size * math.exp(reach)),
        bootstrap=residual_bootstrap(fit, sizes, counts, kind),
        left_out=leave_one_out(sizes, counts, censored_at, kind),
        subsampled=None if trial_steps is None else subsampled_search(sizes, trial_steps, censored_at, kind),
        other_forms=fit_other_forms(sizes, counts),
        runs_p_value=runs_test(np.log(counts) - np.log(fit.steps(sizes))),
    )


def mccandlish2018(curve: CurveFit) -> CriticalBatchSize:
    """Return B_c = E_min/S_min, which needs twice the fewest steps and twice the fewest examples.

    Source: McCandlish et al. 2018 (arXiv 1812.06162), equation 2.11.
    """
    return _defined(MCCANDLISH, curve, 1.0, 0.0, ())


def zhang2024(
    curve: CurveFit, overhead: float = OVERHEAD, optimal_batch_size: float = OPTIMAL_BATCH_SIZE
) -> CriticalBatchSize:
    """Return B* that needs a share eps more examples than B_opt: B* S(B*) = (1 + eps) B_opt S(B_opt).

    B* = eps B_c + (1 + eps) B_opt, so it is never below (1 + eps) B_opt. If B_c is below B_opt, B* mainly reflects the
    choice of B_opt and counts as not identifiable. overhead: eps > 0. optimal_batch_size: B_opt >= 0, in the unit of
    the batch sizes. Raises ValueError for values out of range.
    Source: Zhang et al. 2024 (arXiv 2410.21676), plots/chinchilla.ipynb of their code (METHODS 2.1).
    """
    if not 0 < overhead < math.inf:
        raise ValueError(f"overhead {overhead}: give a finite number above 0")
    if not 0 <= optimal_batch_size < math.inf:
        raise ValueError(f"optimal_batch_size {optimal_batch_size}: give a finite number, 0 or more")
    warnings: tuple[str, ...] = ()
    if curve.fit is not None and curve.known.is_identifiable and curve.fit.critical_batch_size < optimal_batch_size:
        why = (
            f"unusable: E_min/S_min = {curve.fit.critical_batch_size:.4g} is below optimal_batch_size = "
            f"{optimal_batch_size:g}, so B* would follow from that choice, not from the data"
        )
        warnings = (why,)
    return _defined(ZHANG, curve, overhead, (1.0 + overhead) * optimal_batch_size, warnings)


def _defined(name: str, curve: CurveFit, scale: float, shift: float, objections: tuple[str, ...]) -> CriticalBatchSize:
    stated = curve.fit if curve.known.is_identifiable and not objections else None
    lower, upper = curve.known.lower, curve.known.upper
    return CriticalBatchSize(
        definition=name,
        value=None if stated is None else scale * stated.critical_batch_size + shift,
        lower=None if lower is None else scale * lower + shift,
        upper=None if upper is None else scale * upper + shift,
        s_min=None if stated is None else stated.s_min,
        e_min=None if stated is None else stated.e_min,
        is_identifiable=stated is not None,
        rms_log_residual=None if curve.fit is None else curve.fit.rms_log_residual,
        scale=scale,
        shift=shift,
        warnings=objections,
    )


@dataclass(frozen=True)
class OtherForms:
    """Least-squares fits with a third parameter, for comparison with the hyperbola.

    sharpness: g of S = S_min (1 + (B_c/B)^g)^(1/g); 1: hyperbola, inf: max(S_min, E_min/B), METHODS 2.1. p_value: of
    the F test against the hyperbola, (RSS_1 - RSS_g) (n - 3)/RSS_g with 1 and n - 3 degrees of freedom.
    sharpness_critical_batch_size: B_c of that fit. exponent: alpha of S = a + b/B^alpha (Zhang et al. 2024).
    exponent_critical_batch_size: (b/a)^(1/alpha), where S = 2a.
    """

    sharpness: float
    p_value: float
    sharpness_critical_batch_size: float
    exponent: float
    exponent_critical_batch_size: float


def fit_other_forms(batch_sizes: npt.ArrayLike, steps: npt.ArrayLike) -> OtherForms | None:
    """Fit both forms in log space; None with fewer than 5 batch sizes that reached the target.

    batch_sizes, steps: (m,), with the errors of fit_hyperbola. g and alpha are searched in [1/8, 16].
    """
    sizes, counts = checked_curve(batch_sizes, steps)
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
    free = len(log_b) - 3
    ratio = free * max(max(rss, _ROUNDING) / max(knee_rss, _ROUNDING) - 1, 0.0)
    return OtherForms(knee, float(scipy.special.fdtrc(1, free, ratio)), knee_b_c, power, power_b_c)


def _fit(log_b: Floats, log_s: Floats, at: float, is_root: bool) -> tuple[float, float, float]:
    """Return k, B_c and the residual sum of squares of the fit log S = m + log(1 + (B_c/B)^k) [/k if is_root]."""

    def residuals(point: Floats) -> Floats:
        k = math.exp(point[1])
        bent = np.logaddexp(0.0, k * (point[0] - log_b)) / (k if is_root else 1.0)
        above = log_s - bent
        centred: Floats = above - above.mean()
        return centred

    bounds = (
        [log_b[0] - math.log(100), math.log(LEAST_SHARPNESS)],
        [log_b[-1] + math.log(100), math.log(MOST_SHARPNESS)],
    )
    start = min(max(at, bounds[0][0] + 1e-6), bounds[1][0] - 1e-6)
    fits = [scipy.optimize.least_squares(residuals, [start, math.log(k)], bounds=bounds) for k in (1.0, 3.0)]
    best = min(fits, key=lambda fit: float(fit.cost))
    return math.exp(best.x[1]), math.exp(best.x[0]), 2.0 * float(best.cost)


def runs_test(residuals: npt.ArrayLike) -> float | None:
    """Return the exact probability of at most this many runs of equal sign; None if all signs are equal.

    residuals: (m,), by ascending batch size; zeros and non-finite values are ignored. A small probability means that
    the curve bends in a way that the fit does not. Source: Wald and Wolfowitz 1940.
    """
    values = np.asarray(residuals, np.float64)
    signs = values[np.isfinite(values) & (values != 0)] > 0
    above, below = int(signs.sum()), int((~signs).sum())
    if not above or not below:
        return None
    runs = 1 + int((np.diff(signs.astype(np.int64)) != 0).sum())
    ways = sum(_ways(above, below, count) for count in range(2, runs + 1))
    return ways / math.comb(above + below, above)


def _ways(above: int, below: int, runs: int) -> int:
    """Return the number of orders in which these signs form this many runs."""
    half = runs // 2
    if runs % 2 == 0:
        return 2 * math.comb(above - 1, half - 1) * math.comb(below - 1, half - 1)
    one = math.comb(above - 1, half) * math.comb(below - 1, half - 1)
    return one + math.comb(above - 1, half - 1) * math.comb(below - 1, half)
