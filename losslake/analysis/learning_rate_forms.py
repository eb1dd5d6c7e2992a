"""Forms that the best effective learning rate may take over batch sizes, compared by AICc."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from losslake_schema.reached import Floats

LEAST_BATCH_SIZES = 5
CONFIDENCE = 0.9
_GRID = 401
_REACH = 100.0
_TRUSTED = 4.0
# Squared natural logarithms: below it a residual is rounding, and two forms fit equally well.
_EXACT = 1e-18


@dataclass(frozen=True)
class LearningRateForm:
    """A form fitted to log eta_eff* by least squares.

    n_parameters: with the variance of the residuals. rms_log_residual: natural logarithm. aicc: smaller is better.
    delta_aicc: above the best form's. exponent: of a power law, fixed or fitted.
    noise_batch_size: B_n; None where the data does not bound it from both sides, or it lies a factor 4 outside of the
    batch sizes. lower, upper: 90% profile-likelihood interval of B_n; None for a side without a bound.
    """

    name: str
    n_parameters: int
    rms_log_residual: float
    aicc: float
    delta_aicc: float
    exponent: float | None = None
    noise_batch_size: float | None = None
    noise_lower: float | None = None
    noise_upper: float | None = None


@dataclass(frozen=True)
class FormComparison:
    """forms: best first. refusal: why there are none, in words."""

    forms: tuple[LearningRateForm, ...]
    refusal: str | None = None


@dataclass(frozen=True)
class _Fit:
    name: str
    n_parameters: int
    mean_square: float
    exponent: float | None = None
    noise: tuple[float | None, float | None, float | None] = (None, None, None)


def learning_rate_forms(batch_sizes: Floats, effective_learning_rates: Floats) -> FormComparison:
    """Which form the best effective learning rates follow, B being the batch size.

    constant eta; linear eta B; square-root eta sqrt(B); power eta B^p; saturating eta/(1 + B_n/B);
    surge eta/(0.5 (sqrt(B_n/B) + sqrt(B/B_n))), which peaks at B_n.

    Args:
        batch_sizes: shape (n,), in the study's batch unit.
        effective_learning_rates: of the best trial by batch size, shape (n,). Those that are not positive and finite
            are left out.

    AICc = n ln(RSS/n) + 2k + 2k(k+1)/(n-k-1). Raises ValueError if the lengths differ or a batch size is not above 0.

    Source: METHODS 4; saturating: McCandlish et al. 2018; surge: Li et al. 2024 (Adam).
    """
    if batch_sizes.shape != effective_learning_rates.shape or not (batch_sizes > 0).all():
        raise ValueError("give as many effective learning rates as batch sizes, and batch sizes above 0")
    kept = np.isfinite(effective_learning_rates) & (effective_learning_rates > 0)
    n = int(kept.sum())
    if n < LEAST_BATCH_SIZES:
        why = f"{n} batch size{'' if n == 1 else 's'} with an effective learning rate of the best trial: "
        return FormComparison((), f"{why}comparing forms needs {LEAST_BATCH_SIZES}")
    x, y = np.log(batch_sizes[kept]), np.log(effective_learning_rates[kept])
    fits = [
        _fixed_power("constant", 0.0, x, y),
        _fixed_power("linear", 1.0, x, y),
        _fixed_power("square-root", 0.5, x, y),
        _power(x, y),
        _with_noise("saturating", _saturating, x, y),
        _with_noise("surge", _surge, x, y),
    ]
    aiccs = [aicc(n, fit.mean_square, fit.n_parameters) for fit in fits]
    least = min(aiccs)
    forms = [
        LearningRateForm(
            fit.name, fit.n_parameters, fit.mean_square**0.5, value, value - least, fit.exponent, *fit.noise
        )
        for fit, value in zip(fits, aiccs, strict=True)
    ]
    return FormComparison(tuple(sorted(forms, key=lambda form: form.aicc)))


def aicc(n: int, mean_square: float, n_parameters: int) -> float:
    """Akaike's criterion for least squares on few points; mean_square: RSS / n, of n points."""
    k = n_parameters
    return float(n * np.log(max(mean_square, _EXACT)) + 2 * k + 2 * k * (k + 1) / (n - k - 1))


def _mean_square(residual: Floats) -> Floats:
    """About their mean, along the last axis: the best eta is in every form the mean of the logarithms."""
    centred = residual - residual.mean(axis=-1, keepdims=True)
    found: Floats = (centred**2).mean(axis=-1)
    return found


def _fixed_power(name: str, exponent: float, x: Floats, y: Floats) -> _Fit:
    return _Fit(name, 2, float(_mean_square(y - exponent * x)), exponent)


def _power(x: Floats, y: Floats) -> _Fit:
    centred = x - x.mean()
    exponent = float(centred @ y / (centred @ centred))
    return _Fit("power", 3, float(_mean_square(y - exponent * x)), exponent)


def _saturating(log_ratio: Floats) -> Floats:
    """log of 1/(1 + B_n/B); log_ratio: log(B_n/B)."""
    return -np.logaddexp(0.0, log_ratio)


def _surge(log_ratio: Floats) -> Floats:
    """log of 1/(0.5 (sqrt(B_n/B) + sqrt(B/B_n)))."""
    return -np.log(np.cosh(log_ratio / 2))


def _with_noise(name: str, shape: Callable[[Floats], Floats], x: Floats, y: Floats) -> _Fit:
    """Fitted over log B_n from a hundredth of the smallest batch size to a hundred times the largest."""

    def mean_square(log_noise: float) -> float:
        return float(_mean_square(y - shape(log_noise - x)))

    grid = np.linspace(x.min() - np.log(_REACH), x.max() + np.log(_REACH), _GRID)
    profile = _mean_square(y - shape(grid[:, np.newaxis] - x))
    at = int(profile.argmin())
    around = grid[max(at - 1, 0)], grid[min(at + 1, _GRID - 1)]
    found = scipy.optimize.minimize_scalar(mean_square, bounds=around, method="bounded", options={"xatol": 1e-10})
    log_noise, least = float(found.x), float(found.fun)
    if profile[at] < least:
        log_noise, least = float(grid[at]), float(profile[at])
    lower, upper = _noise_bounds(mean_square, grid, profile, log_noise, _threshold(least, len(x)))
    trusted = x.min() - np.log(_TRUSTED) <= log_noise <= x.max() + np.log(_TRUSTED)
    is_known = trusted and lower is not None and upper is not None
    return _Fit(name, 3, least, noise=(float(np.exp(log_noise)) if is_known else None, lower, upper))


def _threshold(least: float, n: int) -> float:
    """The mean square up to which a B_n is in its interval: 1 + t^2/(n - 2) times the least, as in an F test.

    Chi-square in place of F would be right for many points; there are five or ten.
    """
    quantile = float(scipy.special.stdtrit(n - 2, 0.5 + 0.5 * CONFIDENCE))
    return max(least, _EXACT) * (1 + quantile**2 / (n - 2))


def _noise_bounds(
    mean_square: Callable[[float], float], grid: Floats, profile: Floats, log_noise: float, threshold: float
) -> tuple[float | None, float | None]:
    """Where the profile crosses the threshold below and above the best B_n; None where it never does on the grid."""
    inside = np.append(grid[profile <= threshold], log_noise)

    def crossing(inner: float, outside: Floats) -> float | None:
        if not len(outside):
            return None
        outer = float(outside[np.abs(outside - inner).argmin()])
        return float(np.exp(scipy.optimize.brentq(lambda at: mean_square(at) - threshold, inner, outer)))

    first, last = float(inside.min()), float(inside.max())
    return crossing(first, grid[grid < first]), crossing(last, grid[grid > last])
