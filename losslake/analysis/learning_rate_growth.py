"""The growth of the best effective learning rate with the batch size: its functional form, and the exponent of a power.

Forms are compared by AICc; the exponent has a 90% interval. Source: METHODS 4; the functions name the papers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from losslake_schema.quantities import counted
from losslake_schema.reached import Floats

LEAST_SIZES_OF_FORMS = 5
# The range of all slopes between three points contains the true one in only 2 of 3 cases; of four points, in 11 of 12.
LEAST_SIZES_OF_EXPONENT = 4
HEURISTIC_EXPONENTS = {"linear": 1.0, "square-root": 0.5, "constant": 0.0}
RESAMPLES = 1000
CONFIDENCE = 0.9
_ROUNDING = 1e-9
_MOST_SLOPES = 4_000_000
_GRID = 401
_REACH = 100.0
_TRUSTED = 4.0
# In squared natural logarithms: a mean square residual below it is rounding, and forms fit equally well.
_EXACT = 1e-18


@dataclass(frozen=True)
class LearningRateForm:
    """A form fitted to log eta_eff* by least squares.

    n_parameters: including the variance of the residuals. rms_log_residual: in natural logarithms. aicc: smaller is
    better. delta_aicc: difference from the best form. exponent: of a power law, fixed or fitted. noise_batch_size: B_n;
    None if the data do not bound it on both sides, or if it lies more than a factor 4 outside the batch sizes.
    noise_lower, noise_upper: 90% profile-likelihood interval of B_n; None for a side without a bound.
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
    """The fitted forms, the best first; refusal: why there are none, in words."""

    forms: tuple[LearningRateForm, ...]
    refusal: str | None = None


def learning_rate_forms(batch_sizes: Floats, effective_learning_rates: Floats) -> FormComparison:
    """Fit six forms to the best effective learning rates over batch size B, and compare them by AICc.

    constant eta; linear eta B; square-root eta sqrt(B); power eta B^p; saturating eta/(1 + B_n/B);
    surge eta/(0.5 (sqrt(B_n/B) + sqrt(B/B_n))), which peaks at B_n. AICc = n ln(RSS/n) + 2k + 2k(k+1)/(n-k-1).

    Args:
        batch_sizes: shape (n,), in the study's batch unit.
        effective_learning_rates: of the best trial by batch size, shape (n,). Values that are not positive and finite
            are ignored.

    Raises ValueError if the lengths differ or a batch size is not above 0.
    Source: saturating: McCandlish et al. 2018 (arXiv 1812.06162), section 2.2; surge: Li et al. 2024
    (arXiv 2405.14578, Adam); AICc: Hurvich and Tsai 1989; METHODS 4.
    """
    if batch_sizes.shape != effective_learning_rates.shape or not (batch_sizes > 0).all():
        raise ValueError("give as many effective learning rates as batch sizes, and batch sizes above 0")
    used = np.isfinite(effective_learning_rates) & (effective_learning_rates > 0)
    n = int(used.sum())
    if n < LEAST_SIZES_OF_FORMS:
        why = f"{counted(n, 'batch size')} with an effective learning rate of the best trial: "
        return FormComparison((), f"{why}comparing forms needs {LEAST_SIZES_OF_FORMS}")
    x, y = np.log(batch_sizes[used]), np.log(effective_learning_rates[used])
    centred = x - x.mean()
    forms = [
        *(_power(name, 2, HEURISTIC_EXPONENTS[name], x, y) for name in ("constant", "linear", "square-root")),
        _power("power", 3, float(centred @ y / (centred @ centred)), x, y),
        _with_noise("saturating", _saturating, x, y),
        _with_noise("surge", _surge, x, y),
    ]
    forms.sort(key=lambda form: form.aicc)
    return FormComparison(tuple(replace(form, delta_aicc=form.aicc - forms[0].aicc) for form in forms))


def aicc(n: int, mean_square: float, n_parameters: int) -> float:
    """Return Akaike's criterion with the small-sample correction; mean_square: RSS / n of n points.

    Source: Hurvich and Tsai 1989.
    """
    k = n_parameters
    return float(n * np.log(max(mean_square, _EXACT)) + 2 * k + 2 * k * (k + 1) / (n - k - 1))


def _mean_square(residual: Floats) -> Floats:
    """Return the variance along the last axis: in every form the best log eta is the mean of the residuals."""
    centred = residual - residual.mean(axis=-1, keepdims=True)
    mean: Floats = (centred**2).mean(axis=-1)
    return mean


def _form(name: str, n_parameters: int, mean_square: float, n: int, **fitted: float | None) -> LearningRateForm:
    """Return a form that was fitted to n points, as if it was the best one."""
    value = aicc(n, mean_square, n_parameters)
    return LearningRateForm(name, n_parameters, mean_square**0.5, value, delta_aicc=0.0, **fitted)


def _power(name: str, n_parameters: int, exponent: float, x: Floats, y: Floats) -> LearningRateForm:
    return _form(name, n_parameters, float(_mean_square(y - exponent * x)), len(x), exponent=exponent)


def _saturating(log_ratio: Floats) -> Floats:
    """Return log(1/(1 + B_n/B)); log_ratio: log(B_n/B)."""
    return -np.logaddexp(0.0, log_ratio)


def _surge(log_ratio: Floats) -> Floats:
    """Return log(1/(0.5 (sqrt(B_n/B) + sqrt(B/B_n)))); log_ratio: log(B_n/B)."""
    return -np.log(np.cosh(log_ratio / 2))


def _with_noise(name: str, shape: Callable[[Floats], Floats], x: Floats, y: Floats) -> LearningRateForm:
    """Fit a form with log B_n searched from B_1/100 to 100 B_m."""

    def mean_square(log_noise: float) -> float:
        return float(_mean_square(y - shape(log_noise - x)))

    grid = np.linspace(x.min() - np.log(_REACH), x.max() + np.log(_REACH), _GRID)
    profile = _mean_square(y - shape(grid[:, np.newaxis] - x))
    at = int(profile.argmin())
    around = grid[max(at - 1, 0)], grid[min(at + 1, _GRID - 1)]
    minimum = scipy.optimize.minimize_scalar(mean_square, bounds=around, method="bounded", options={"xatol": 1e-10})
    log_noise, least = float(minimum.x), float(minimum.fun)
    if profile[at] < least:
        log_noise, least = float(grid[at]), float(profile[at])
    lower, upper = _noise_bounds(mean_square, grid, profile, log_noise, _threshold(least, len(x)))
    trusted = x.min() - np.log(_TRUSTED) <= log_noise <= x.max() + np.log(_TRUSTED)
    noise = float(np.exp(log_noise)) if trusted and lower is not None and upper is not None else None
    return _form(name, 3, least, len(x), noise_batch_size=noise, noise_lower=lower, noise_upper=upper)


def _threshold(least: float, n: int) -> float:
    """Return the largest mean square of the interval of B_n: (1 + t^2/(n - 2)) times the least, as in an F test.

    Chi-square instead of F would need many points; there are five or ten.
    """
    quantile = float(scipy.special.stdtrit(n - 2, 0.5 + 0.5 * CONFIDENCE))
    return max(least, _EXACT) * (1 + quantile**2 / (n - 2))


def _noise_bounds(
    mean_square: Callable[[float], float], grid: Floats, profile: Floats, log_noise: float, threshold: float
) -> tuple[float | None, float | None]:
    """Return where the profile crosses the threshold below and above the best B_n; None if it doesn't on the grid."""
    inside = np.append(grid[profile <= threshold], log_noise)

    def crossing(inner: float, outside: Floats) -> float | None:
        if not len(outside):
            return None
        outer = float(outside[np.abs(outside - inner).argmin()])
        return float(np.exp(scipy.optimize.brentq(lambda at: mean_square(at) - threshold, inner, outer)))

    first, last = float(inside.min()), float(inside.max())
    return crossing(first, grid[grid < first]), crossing(last, grid[grid > last])


@dataclass(frozen=True)
class LearningRateExponent:
    """The exponent p of eta_eff* ~ B^p.

    n_batch_sizes: batch sizes used. exponent: None if there are too few. refusal: the reason, in words.
    near_optimal: 90% interval over draws of one near-optimal trial per batch size.
    theil_sen: 90% interval of the slope from the scatter about the line. lower, upper: the hull of both.
    consistent_with: those of linear (p = 1), square-root (p = 0.5) and constant (p = 0) within the hull.
    """

    n_batch_sizes: int
    exponent: float | None = None
    lower: float | None = None
    upper: float | None = None
    near_optimal: tuple[float, float] | None = None
    theil_sen: tuple[float, float] | None = None
    consistent_with: tuple[str, ...] = ()
    refusal: str | None = None


def learning_rate_exponent(
    batch_sizes: Floats, near_optimal: Sequence[Floats], resamples: int = RESAMPLES, seed: int = 0
) -> LearningRateExponent:
    """Return the Theil-Sen slope of log eta_eff* on log B, with a 90% interval.

    Args:
        batch_sizes: distinct, shape (n,), in the study's batch unit.
        near_optimal: by batch size, the effective learning rates of the near-optimal trials, the best one's first.
            Values that are not positive and finite are ignored, and so are batch sizes without any other.
        resamples: draws of one near-optimal trial per batch size; fewer for very many batch sizes.
        seed: of the draws, so that results are reproducible.

    Raises ValueError if the lengths differ, or if batch sizes repeat or are not above 0.
    Source: Theil 1950, Sen 1968, as in scipy.stats.theilslopes; METHODS 4.
    """
    _check(batch_sizes, near_optimal)
    usable = [rates[np.isfinite(rates) & (rates > 0)] for rates in near_optimal]
    used = [index for index, rates in enumerate(usable) if len(rates)]
    if len(used) < LEAST_SIZES_OF_EXPONENT:
        count = counted(len(used), "batch size")
        why = f"{count} with an effective learning rate of the best trial: an exponent needs {LEAST_SIZES_OF_EXPONENT}"
        return LearningRateExponent(len(used), refusal=why)
    log_batch_sizes, log_rates = np.log(batch_sizes[used]), [np.log(usable[index]) for index in used]
    slope, _, low, high = map(
        float, scipy.stats.theilslopes([rates[0] for rates in log_rates], log_batch_sizes, CONFIDENCE)
    )
    of_draws = _slopes_of_draws(log_batch_sizes, log_rates, resamples, np.random.default_rng(seed))
    drawn_low, drawn_high = map(float, np.quantile(of_draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]))
    lower, upper = min(low, drawn_low), max(high, drawn_high)
    return LearningRateExponent(
        n_batch_sizes=len(used),
        exponent=slope,
        lower=lower,
        upper=upper,
        near_optimal=(drawn_low, drawn_high),
        theil_sen=(low, high),
        consistent_with=tuple(
            name for name, p in HEURISTIC_EXPONENTS.items() if lower - _ROUNDING <= p <= upper + _ROUNDING
        ),
    )


def _check(batch_sizes: Floats, near_optimal: Sequence[Floats]) -> None:
    if len(batch_sizes) != len(near_optimal):
        raise ValueError(f"there are {len(batch_sizes)} batch sizes, but {len(near_optimal)} near-optimal sets")
    if len(set(batch_sizes.tolist())) != len(batch_sizes) or not (batch_sizes > 0).all():
        raise ValueError("batch sizes have to be distinct and above 0")


def _slopes_of_draws(x: Floats, sets: Sequence[Floats], resamples: int, rng: np.random.Generator) -> Floats:
    """Return the Theil-Sen slope of each draw; shape (draws,)."""
    first, second = np.triu_indices(len(x), 1)
    count = max(100, min(resamples, _MOST_SLOPES // len(first)))
    drawn = np.column_stack([rng.choice(rates, count) for rates in sets])
    slopes = (drawn[:, second] - drawn[:, first]) / (x[second] - x[first])
    medians: Floats = np.median(slopes, axis=1)
    return medians
