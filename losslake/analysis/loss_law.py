"""The law of the loss by model size and tokens: L(N, D) = E + A/N^alpha + B/D^beta, fitted to runs, with intervals.

Source: approach 3 of Hoffmann et al. 2022 (arXiv 2203.15556), as corrected by Besiroglu et al. 2024 (arXiv 2404.10102);
intervals by a bootstrap of whole settings (Davison and Hinkley 1997, section 2.4), expanded for few settings as
Hesterberg 2015 (arXiv 1411.5279), section 5.4, does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from losslake.analysis.loss_law_search import (
    DELTA,
    LEAST_EXPONENT,
    MOST_EXPONENT,
    Points,
    log_losses,
    search,
    starts,
)
from losslake_schema.reached import Floats, Integers

LEVEL = 0.9
SEED = 20220329
N_RESAMPLES = 400
N_PARAMETERS = 5
# Compute of training: 6 FLOPs a parameter and token, without attention (Kaplan et al. 2020, section 2.1).
FLOPS_PER_PARAMETER = 6
FEWEST_SETTINGS, FEWEST_SIZES, FEWEST_AMOUNTS = 10, 4, 4
LEAST_SPREAD = 2.5
# Beyond this share, N explains D so well that the two terms can't be told apart.
MOST_TOGETHER = 0.97
# Exponents that are known to less than this factor aren't reported.
WIDEST = 10.0
NAMES = ("E", "A", "B", "alpha", "beta")


class LossLawRefused(ValueError):
    """The points don't determine a law; the message says why."""


@dataclass(frozen=True)
class LossLaw:
    """A law L = e + a/N^alpha + b/D^beta, with N in parameters, D in tokens, L in the unit of the loss."""

    e: float
    a: float
    b: float
    alpha: float
    beta: float

    def losses(self, n: npt.ArrayLike, d: npt.ArrayLike) -> Floats:
        """Return the losses at sizes n and tokens d; arrays are broadcast."""
        by_size = self.a * np.asarray(n, np.float64) ** -self.alpha
        by_tokens = self.b * np.asarray(d, np.float64) ** -self.beta
        return np.asarray(self.e + by_size + by_tokens, np.float64)

    def optimum(self, flops: float, flops_per_parameter: float = FLOPS_PER_PARAMETER) -> tuple[float, float]:
        """Return the N and D of the least loss for a compute of k N D FLOPs.

        N = G (C/k)^(beta/(alpha+beta)), D = (C/k)/N, G = (alpha A/(beta B))^(1/(alpha+beta)). Source: Hoffmann et al.
        2022, equation 4. flops_per_parameter: k, by parameter and token.
        """
        parameters = np.log([[self.a, self.b]]), np.array([[self.alpha, self.beta]])
        log_n = float(_log_optima(*parameters, np.log(flops / flops_per_parameter))[0])
        return float(np.exp(log_n)), float(flops / flops_per_parameter / np.exp(log_n))


@dataclass(frozen=True)
class KaplanLaw:
    """A law L = ((n_c/N)^(alpha_n/alpha_d) + d_c/D)^alpha_d. Source: Kaplan et al. 2020 (arXiv 2001.08361), eq. 1.5."""

    n_c: float
    d_c: float
    alpha_n: float
    alpha_d: float

    def losses(self, n: npt.ArrayLike, d: npt.ArrayLike) -> Floats:
        """Return the losses at sizes n (without embeddings) and tokens d; arrays are broadcast."""
        by_size = (self.n_c / np.asarray(n, np.float64)) ** (self.alpha_n / self.alpha_d)
        by_tokens = self.d_c / np.asarray(d, np.float64)
        return np.asarray((by_size + by_tokens) ** self.alpha_d, np.float64)


@dataclass(frozen=True)
class Estimate:
    """A number with its interval. value: None if the points don't determine it. lower, upper: None for no bound."""

    value: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class Optimum:
    """The N and D of the least loss for a compute, and that loss."""

    n: Estimate
    d: Estimate
    loss: Estimate


@dataclass(frozen=True)
class LossLawFit:
    """A fitted law.

    law: the optimum of the fit. estimates: by name of NAMES, and the exponents a and b of N ~ C^a, D ~ C^b. refusal:
    why the parameters aren't reported, in words; empty if they are. fitted: the losses of the law at the points, (n,).
    r_squared: share of the variance of log losses. huber: the sum that is minimized. n_settings: those that the
    bootstrap draws. n_starts: of the search. refits: their parameters as the search has them, (r, 5), for N and D in
    units of their geometric means, whose logs are centre.
    """

    law: LossLaw
    level: float
    estimates: dict[str, Estimate]
    refusal: str
    fitted: Floats
    r_squared: float
    huber: float
    n_settings: int
    n_starts: int
    n_resamples: int
    refits: Floats
    centre: tuple[float, float]

    def at(self, level: float) -> LossLawFit:
        """Return the fit with intervals of another level; its refusal is that of this level, too."""
        best = np.array([np.log(self.law.a), np.log(self.law.b), np.log(self.law.e), self.law.alpha, self.law.beta])
        best[:2] -= best[3:] * self.centre
        estimates, refusal = _estimates(best, self.refits, self.centre, level, self.n_settings)
        return replace(self, level=level, estimates=estimates, refusal=refusal)

    def optimum(self, flops: float, flops_per_parameter: float = FLOPS_PER_PARAMETER) -> Optimum:
        """Return the N and D of the least loss for a compute of k N D FLOPs, with intervals.

        Values are None if the parameters aren't reported.
        """
        log_c = np.log(flops / flops_per_parameter)
        at_n, at_d = self.centre
        n, d = self.law.optimum(flops, flops_per_parameter)
        log_n = at_n + _log_optima(self.refits[:, :2], self.refits[:, 3:], log_c - at_n - at_d)
        refits = self.refits
        log_d = log_c - log_n
        terms = [
            refits[:, 0] - refits[:, 3] * (log_n - at_n),
            refits[:, 1] - refits[:, 4] * (log_d - at_d),
            refits[:, 2],
        ]
        losses = np.exp(np.logaddexp.reduce(terms, axis=0))
        loss = float(self.law.losses(n, d))
        return Optimum(self._estimate(n, np.exp(log_n)), self._estimate(d, np.exp(log_d)), self._estimate(loss, losses))

    def _estimate(self, value: float, refits: Floats) -> Estimate:
        return Estimate(None if self.refusal else value, *_ends(refits, self.level, self.n_settings))


def fit_loss_law(
    n: npt.ArrayLike,
    d: npt.ArrayLike,
    losses: npt.ArrayLike,
    settings: npt.ArrayLike | None = None,
    *,
    level: float = LEVEL,
    delta: float = DELTA,
    n_resamples: int = N_RESAMPLES,
) -> LossLawFit:
    """Fit the law to points: the least sum of Huber's loss of log residuals over many starts.

    Args:
        n: parameters of the models, above 0, (p,).
        d: tokens trained on, above 0, (p,).
        losses: above 0, (p,).
        settings: numbers of the runs or settings of the points, (p,), which the bootstrap draws whole; None: each its
            own.
        level: of the intervals, two-sided.
        delta: of Huber's loss, in units of log loss.
        n_resamples: refits of the bootstrap; deterministic, since the seed is fixed.

    Raises LossLawRefused, with the reason, for fewer than 10 settings, 4 sizes or 4 amounts of tokens, and for N and D
    that hardly vary or vary together, and for losses that no such law fits. Raises ValueError for other shapes, and
    numbers that aren't finite and above 0.
    """
    sizes, tokens, values = (np.asarray(each, np.float64) for each in (n, d, losses))
    groups = np.arange(len(values)) if settings is None else np.unique(np.asarray(settings), return_inverse=True)[1]
    _check(sizes, tokens, values, groups)
    log_n, log_d = np.log(sizes), np.log(tokens)
    centre = float(log_n.mean()), float(log_d.mean())
    points = Points(log_n - centre[0], log_d - centre[1], np.log(values))
    start = starts(points)
    if not len(start):
        raise LossLawRefused("no sum of terms that fall with model size or tokens fits these losses")
    found = search(points, start, delta=delta)
    best = found.parameters[int(np.argmin(found.loss))]
    refits = _refits(points, best, groups, delta, n_resamples)
    fitted = np.exp(log_losses(points, best[None])[0])
    squares = np.square(points.log_loss - np.log(fitted)).sum()
    n_settings = int(groups.max()) + 1
    estimates, refusal = _estimates(best, refits, centre, level, n_settings)
    return LossLawFit(
        law=LossLaw(**{name.lower(): float(value) for name, value in zip(NAMES, _natural(best, centre), strict=True)}),
        level=level,
        estimates=estimates,
        refusal=refusal,
        fitted=fitted,
        r_squared=float(1.0 - squares / np.square(points.log_loss - points.log_loss.mean()).sum()),
        huber=float(found.loss.min()),
        n_settings=n_settings,
        n_starts=len(start),
        n_resamples=n_resamples,
        refits=refits,
        centre=centre,
    )


def _check(n: Floats, d: Floats, losses: Floats, groups: Integers) -> None:
    if not n.shape == d.shape == losses.shape == groups.shape or n.ndim != 1:
        raise ValueError("n, d, losses and settings need the same shape, (p,)")
    for name, values in (("n", n), ("d", d), ("losses", losses)):
        if not (np.isfinite(values) & (values > 0)).all():
            raise ValueError(f"{name}: give finite numbers above 0")
    counts = (
        (int(groups.max(initial=-1)) + 1, FEWEST_SETTINGS, "setting", "settings"),
        (_n_apart(n), FEWEST_SIZES, "model size", "model sizes"),
        (_n_apart(d), FEWEST_AMOUNTS, "number of tokens", "numbers of tokens"),
    )
    for count, fewest, one, several in counts:
        if count < fewest:
            raise LossLawRefused(f"{count} {one if count == 1 else several}: a fit needs {fewest}")
    for spread, noun in ((n.max() / n.min(), "model sizes"), (d.max() / d.min(), "numbers of tokens")):
        if spread < LEAST_SPREAD:
            raise LossLawRefused(f"{noun} differ by {spread:.3g} times: a fit needs {LEAST_SPREAD:g} times")
    if losses.min() == losses.max():
        raise LossLawRefused("all losses are equal")
    together = float(np.corrcoef(np.log(n), np.log(d))[0, 1] ** 2)
    if together > MOST_TOGETHER:
        why = f"model sizes and tokens vary together (R² = {together:.3f})"
        raise LossLawRefused(f"{why}: a fit needs sizes with several numbers of tokens")


def _n_apart(values: Floats) -> int:
    """Return the number of values that differ by over 5% from the one below."""
    ordered = np.sort(values)
    return int((np.diff(np.log(ordered)) > np.log(1.05)).sum()) + min(len(values), 1)


def _refits(points: Points, best: Floats, groups: Integers, delta: float, n_resamples: int) -> Floats:
    """Return the optima for settings drawn with replacement, (r, 5).

    Each search starts from the fit, from which others find nothing better: tests/losslake/analysis/test_loss_law.py.
    """
    n_settings = int(groups.max()) + 1
    rng = np.random.default_rng(SEED)
    drawn = rng.multinomial(n_settings, np.full(n_settings, 1.0 / n_settings), size=n_resamples)
    return search(points, np.tile(best, (n_resamples, 1)), drawn[:, groups].astype(np.float64), delta).parameters


def _natural(parameters: Floats, centre: tuple[float, float]) -> Floats:
    """Return E, A, B, alpha, beta of parameters of the search, (..., 5)."""
    log_a, log_b, log_e, alpha, beta = np.moveaxis(parameters, -1, 0)
    with np.errstate(over="ignore"):
        a, b = np.exp(log_a + alpha * centre[0]), np.exp(log_b + beta * centre[1])
    return np.stack([np.exp(log_e), a, b, alpha, beta], axis=-1)


def _estimates(
    best: Floats, refits: Floats, centre: tuple[float, float], level: float, n_settings: int
) -> tuple[dict[str, Estimate], str]:
    """Return the estimates by name, and why they aren't reported; then values are None."""
    values, drawn = _natural(best, centre), _natural(refits, centre)
    ends = dict(zip(NAMES, (_ends(column, level, n_settings) for column in drawn.T), strict=True))
    shares = [each[..., 4] / (each[..., 3] + each[..., 4]) for each in (best, refits)]
    for name, share in (("a", shares[1]), ("b", 1.0 - shares[1])):
        ends[name] = _ends(share, level, n_settings)
    ends |= {name: _exponent_ends(*ends[name]) for name in ("alpha", "beta")}
    refusal = "; ".join(_refusals(ends, level))
    named = dict(zip(NAMES, values.tolist(), strict=True)) | {"a": float(shares[0]), "b": float(1.0 - shares[0])}
    return {name: Estimate(None if refusal else named[name], *ends[name]) for name in ends}, refusal


def _refusals(ends: dict[str, tuple[float | None, float | None]], level: float) -> Sequence[str]:
    reasons = []
    for name in ("alpha", "beta"):
        lower, upper = ends[name]
        if lower is None or upper is None:
            bound = (
                f"at least {lower:.3g}" if lower is not None else f"at most {upper:.3g}" if upper else "without bound"
            )
            reasons.append(f"{name} is {bound} (level {level:.0%})")
        elif upper > WIDEST * lower:
            reasons.append(f"{name} is between {lower:.3g} and {upper:.3g} (level {level:.0%})")
    return reasons


def _exponent_ends(lower: float | None, upper: float | None) -> tuple[float | None, float | None]:
    """Return the ends of an exponent's interval; None for an end at a limit of the search."""
    return (
        None if lower is None or lower <= 1.01 * LEAST_EXPONENT else lower,
        None if upper is None or upper >= 0.99 * MOST_EXPONENT else upper,
    )


def _ends(refits: Floats, level: float, n_settings: int) -> tuple[float | None, float | None]:
    """Return the interval of refits: quantiles further out for few settings; None where that needs more refits.

    The quantile q is that of the normal at t sqrt(n/(n - p)), t Student's with n - p degrees of freedom, for p = 5.
    """
    import scipy  # here, since the most frequent question takes only a constant of this module

    free = n_settings - N_PARAMETERS
    wide = scipy.special.stdtrit(free, 0.5 + 0.5 * level) * np.sqrt(n_settings / free)
    tail = float(scipy.special.ndtr(-wide))
    if tail * (len(refits) + 1) < 1.0 or np.isnan(refits).any():
        return None, None
    lower, upper = np.quantile(refits, [tail, 1.0 - tail], method="weibull").tolist()
    return (lower if np.isfinite(lower) else None), (upper if np.isfinite(upper) else None)


def _log_optima(log_scales: Floats, exponents: Floats, log_product: float) -> Floats:
    """Return log N of the least loss where log N + log D is given, (r,). log_scales: of A and B, (r, 2)."""
    total = exponents.sum(-1)
    ratio = np.log(exponents[:, 0] / exponents[:, 1]) + log_scales[:, 0] - log_scales[:, 1]
    return np.asarray((ratio + exponents[:, 1] * log_product) / total, np.float64)
