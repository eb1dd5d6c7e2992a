"""The best of n trials: what a search with a smaller tuning budget would have found.

Trials are drawn without replacement from the N that were run, all subsets of n alike. Steps are by trial, inf where a
trial never reached the target. Trials of a quasi-random search are spread more evenly than independent ones, so that
the chances are approximate, mostly too low. `another_search` says how far the best trial can be relied on. It isn't the
bootstrap of the minimum, which is inconsistent: that repeats the minimum with probability 1 - 1/e and can never go
below it.
Source: METHODS 3.1, 3.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from losslake_schema.reached import Floats, Integers

LOWER, UPPER = 0.05, 0.95
EXPONENT = 0.7
_ROUNDING = 1e-12


def chance_of_none(n_trials: int, n_good: int, budgets: Integers) -> Floats:
    """By tuning budget and k = 0 … n_good: that none of k good trials is among n of N: C(N - k, n) / C(N, n).

    Shape (budgets, n_good + 1). It is the product of (N - n - i) / (N - i) over i < k, which never overflows. Raises
    ValueError for budgets that aren't from 1 to N.
    """
    if not 0 <= n_good <= n_trials:
        raise ValueError(f"{n_good} good trials are out of range: there are {n_trials}")
    if len(budgets) and not 1 <= budgets.min() <= budgets.max() <= n_trials:
        raise ValueError(f"tuning budgets of {budgets.tolist()} trials are out of range: there are {n_trials}")
    i = np.arange(n_good)
    none = np.ones((len(budgets), n_good + 1))
    np.cumprod(np.maximum(n_trials - budgets[:, None] - i, 0) / (n_trials - i), axis=1, out=none[:, 1:])
    return none


def chance_of_reaching(steps: Floats, budgets: Integers, within: float = math.inf) -> Floats:
    """By tuning budget, the chance that the best of n trials reaches the target, within so many steps if given.

    P(best of n <= s) = 1 - C(N - k, n) / C(N, n), where k of N trials reach it within s steps.
    """
    n_good = int((np.isfinite(_checked(steps)) & (steps <= within)).sum())
    return 1 - chance_of_none(len(steps), n_good, budgets)[:, -1]


def quantiles(steps: Floats, budgets: Integers, probabilities: Floats) -> Floats:
    """The quantiles of the steps of the best of n trials: the smallest s with P(best of n <= s) >= p.

    Shape (budgets, probabilities); inf where the target is reached with less than that probability. Not means: these
    don't exist where trials never reach. Raises ValueError for NaN, and budgets or probabilities out of range.
    """
    if not ((probabilities > 0) & (probabilities <= 1)).all():
        raise ValueError("probabilities have to be above 0, up to 1")
    reached = np.sort(_checked(steps)[np.isfinite(steps)])
    none = chance_of_none(len(steps), len(reached), budgets)
    values = np.append(reached, np.inf)
    # How many trials, taken in the order of steps, leave more than 1 - p.
    places = (none[:, None, 1:] > (1 - probabilities + _ROUNDING)[None, :, None]).sum(axis=2)
    found: Floats = values[places]
    return found


def trials_needed(n_trials: int, n_good: int, probability: float = 0.95) -> int | None:
    """The least tuning budget with which the best is one of the good trials with that probability; None without any.

    For 1, 2, 5, 10, 20, 50 of 100 and 0.95: 95, 78, 45, 25, 13, 5 (METHODS 3.1).
    """
    if not 0 < probability <= 1:
        raise ValueError(f"a probability of {probability} is out of range: give one above 0, up to 1")
    if n_good == 0:
        return None
    i = np.arange(n_trials - n_good + 1)
    none = np.cumprod((n_trials - n_good - i) / (n_trials - i))
    return int(np.argmax(none <= 1 - probability + _ROUNDING)) + 1


def expected_best(losses: Floats, budgets: Integers) -> list[float | None]:
    """By tuning budget, the expected best loss of n trials drawn without replacement: an unbiased estimate.

    E[min of n] = sum over i of z_(i) C(N - i, n - 1) / C(N, n), z sorted. A loss of inf stands for a trial without any;
    None where n such trials could be drawn. Raises ValueError for NaN and for budgets out of range.
    Source: Tang et al. 2020 (arXiv 2004.13705); for losses 1, 2, 3, 4 and n = 2 it is 5/3.
    """
    none = chance_of_none(len(losses), len(losses), budgets)
    return _means(np.sort(_checked(losses)), none)


def expected_best_with_replacement(losses: Floats, budgets: Integers) -> list[float | None]:
    """The same for trials drawn with replacement, as often reported: biased upward, since a trial may be drawn twice.

    sum over i of z_(i) [((N - i + 1) / N)^n - ((N - i) / N)^n]. None if there is a loss of inf.
    Source: Dodge et al. 2019 (arXiv 1909.03004); for losses 1, 2, 3, 4 and n = 2 it is 15/8.
    """
    n_trials = len(losses)
    none = (1 - np.arange(n_trials + 1) / max(n_trials, 1)) ** budgets[:, None]
    return _means(np.sort(_checked(losses)), none)


def _means(ordered: Floats, none: Floats) -> list[float | None]:
    """By budget, the mean of these losses, the first k of which are missed with the chance none[:, k]."""
    if not len(ordered):
        return [None] * len(none)
    weights = none[:, :-1] - none[:, 1:]
    finite = np.isfinite(ordered)
    means: Floats = weights[:, finite] @ ordered[finite]
    to_none: Floats = weights[:, ~finite].sum(axis=1)
    return [float(mean) if weight == 0 else None for mean, weight in zip(means, to_none, strict=True)]


def _checked(values: Floats) -> Floats:
    if np.isnan(values).any() or (values == -np.inf).any():
        raise ValueError("values have to be numbers, or inf for a trial that has none: not NaN or -inf")
    return values


@dataclass(frozen=True)
class Range:
    """The 5% and 95% quantile of the steps of the best of n trials; None: not reached with that probability."""

    n: int
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class AnotherSearch:
    """What the search for a target would have found with fewer trials.

    half, quarter: drawing N/2 and N/4 of its N trials without replacement. m_out_of_n: drawing m = N^0.7 with
    replacement. runner_up_ratio, fifth_ratio: S_(2)/S_(1) and S_(5)/S_(1), far above 1 where one lucky trial stands
    alone; None where too few trials reach the target.
    """

    half: Range | None
    quarter: Range | None
    m_out_of_n: Range | None
    runner_up_ratio: float | None
    fifth_ratio: float | None


def another_search(steps: Floats) -> AnotherSearch:
    """Steps by trial, inf for never. Ranges of less than one trial are None. Raises ValueError for NaN."""
    n_trials = len(steps)
    return AnotherSearch(
        half=range_of_best(steps, n_trials // 2),
        quarter=range_of_best(steps, n_trials // 4),
        m_out_of_n=_with_replacement(steps, round(n_trials**EXPONENT)),
        runner_up_ratio=ratio_to_best(steps, 2),
        fifth_ratio=ratio_to_best(steps, 5),
    )


def ratio_to_best(steps: Floats, rank: int) -> float | None:
    """S_(rank) / S_(1); None if fewer trials reach the target, or if the best has no steps."""
    ordered = np.sort(steps)[:rank]
    if len(ordered) < rank or not np.isfinite(ordered).all() or ordered[0] <= 0:
        return None
    return float(ordered[-1] / ordered[0])


def range_of_best(steps: Floats, n: int) -> Range | None:
    """Of the best of n of the trials, drawn without replacement; None for less than one."""
    if n < 1:
        return None
    return _range(n, quantiles(steps, np.array([n]), np.array([LOWER, UPPER]))[0])


def _with_replacement(steps: Floats, m: int) -> Range | None:
    """P(least of m <= s_(k)) = 1 - (1 - k/N)^m, exactly: nothing has to be drawn."""
    if m < 1:
        return None
    reached = np.sort(steps[np.isfinite(steps)])
    chances = 1 - (1 - np.arange(1, len(reached) + 1) / len(steps)) ** m
    values = np.append(reached, np.inf)
    return _range(m, values[[int((chances < p).sum()) for p in (LOWER, UPPER)]])


def _range(n: int, ends: Floats) -> Range:
    return Range(n, *(end if math.isfinite(end) else None for end in ends.tolist()))
