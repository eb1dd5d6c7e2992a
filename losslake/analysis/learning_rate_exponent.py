"""How the best effective learning rate grows with the batch size: the exponent of a power law, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from losslake_schema.reached import Floats

CONFIDENCE = 0.9
RESAMPLES = 1000
# Of three points even all slopes together hold the true one in 2 of 3 cases only; of four in 11 of 12.
LEAST_BATCH_SIZES = 4
HEURISTIC_EXPONENTS = {"linear": 1.0, "square-root": 0.5, "constant": 0.0}
_ROUNDING = 1e-9
_MOST_SLOPES = 4_000_000


@dataclass(frozen=True)
class LearningRateExponent:
    """p of eta_eff* ~ B^p.

    n_batch_sizes: used. exponent: None where the data can't say; refusal: then why, in words.
    near_optimal: 90% interval over draws of one near-optimal trial per batch size.
    theil_sen: 90% interval of the slope from the scatter about the line. lower, upper: the hull of both.
    consistent_with: those of linear (p = 1), square-root (p = 0.5) and constant (p = 0) that lie within the hull.
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
    """The Theil-Sen slope of log eta_eff* on log B, with an interval (METHODS 4).

    Args:
        batch_sizes: distinct, shape (n,), in the study's batch unit.
        near_optimal: by batch size, the effective learning rates of the near-optimal trials, the best one's first.
            Those that are not positive and finite are left out, and with them batch sizes that have no others.
        resamples: draws of one near-optimal trial per batch size; fewer where there are very many batch sizes.
        seed: of the draws, so that an answer is always the same.

    Raises ValueError if the lengths differ, or if a batch size is twice there or not above 0.

    Source: Theil 1950, Sen 1968, as scipy.stats.theilslopes has them.
    """
    _check(batch_sizes, near_optimal)
    usable = [rates[np.isfinite(rates) & (rates > 0)] for rates in near_optimal]
    kept = [index for index, rates in enumerate(usable) if len(rates)]
    if len(kept) < LEAST_BATCH_SIZES:
        have = f"{len(kept)} batch size{'' if len(kept) == 1 else 's'}"
        why = f"{have} with an effective learning rate of the best trial: an exponent needs {LEAST_BATCH_SIZES}"
        return LearningRateExponent(len(kept), refusal=why)
    log_batch_sizes, log_rates = np.log(batch_sizes[kept]), [np.log(usable[index]) for index in kept]
    slope, _, low, high = map(
        float, scipy.stats.theilslopes([own[0] for own in log_rates], log_batch_sizes, CONFIDENCE)
    )
    of_draws = _slopes_of_draws(log_batch_sizes, log_rates, resamples, np.random.default_rng(seed))
    drawn_low, drawn_high = map(float, np.quantile(of_draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]))
    lower, upper = min(low, drawn_low), max(high, drawn_high)
    return LearningRateExponent(
        n_batch_sizes=len(kept),
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
        raise ValueError("batch sizes have to differ, and to be above 0")


def _slopes_of_draws(x: Floats, sets: Sequence[Floats], resamples: int, rng: np.random.Generator) -> Floats:
    """The Theil-Sen slope of each draw; shape (resamples,)."""
    first, second = np.triu_indices(len(x), 1)
    count = max(100, min(resamples, _MOST_SLOPES // len(first)))
    drawn = np.column_stack([rng.choice(own, count) for own in sets])
    slopes = (drawn[:, second] - drawn[:, first]) / (x[second] - x[first])
    found: Floats = np.median(slopes, axis=1)
    return found
