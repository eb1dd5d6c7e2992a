"""The best of n trials: the expected result of a search with a smaller tuning budget.

The n trials are drawn without replacement from the N that were run; all subsets are equally likely. `steps` has one
entry per trial: its steps to target, inf if the trial never reached the target. The trials of a quasi-random search are
spread more evenly than independent ones, so the probabilities are approximate and mostly too low. `smaller_search`
measures how reliable the best trial is. It does not bootstrap the minimum, which is inconsistent: a bootstrap repeats
the observed minimum with probability 1 - 1/e and never goes below it (Bickel and Freedman 1981).
Source: Dodge et al. 2019 (arXiv 1909.03004), Tang et al. 2020 (arXiv 2004.13705); METHODS 3.1, 3.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from losslake.analysis.settings import shares_of_settings
from losslake_schema.reached import Floats, Integers

LOWER, UPPER = 0.05, 0.95
EXPONENT = 0.7
_ROUNDING = 1e-12


def chance_of_none(n_trials: int, n_good: int, budgets: Integers) -> Floats:
    """Return the probability that n of N trials include none of k good ones: C(N - k, n) / C(N, n).

    Shape (budgets, n_good + 1), for each budget n and k = 0 … n_good. Computed as the product of (N - n - i) / (N - i)
    over i < k, which never overflows. Raises ValueError unless budgets are from 1 to N.
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
    """Return, per tuning budget n, the probability that any of n trials reaches the target within `within` steps.

    P(best of n <= s) = 1 - C(N - k, n) / C(N, n), where k of N trials reach it within s steps. Raises ValueError for
    NaN and for budgets that aren't from 1 to N.
    """
    n_good = int((np.isfinite(_checked(steps)) & (steps <= within)).sum())
    return 1 - chance_of_none(len(steps), n_good, budgets)[:, -1]


def quantiles(steps: Floats, budgets: Integers, probabilities: Floats) -> Floats:
    """Return quantiles of the steps of the best of n trials: the smallest s with P(best of n <= s) >= p.

    Shape (budgets, probabilities); inf where the target is reached with a probability below p. Means do not exist if a
    trial never reaches the target. Raises ValueError for NaN and for budgets or probabilities out of range.
    """
    if not ((probabilities > 0) & (probabilities <= 1)).all():
        raise ValueError("probabilities have to be above 0, up to 1")
    reached = np.sort(_checked(steps)[np.isfinite(steps)])
    none = chance_of_none(len(steps), len(reached), budgets)
    values = np.append(reached, np.inf)
    # The number of trials, by ascending steps, that leave a probability above 1 - p.
    places = (none[:, None, 1:] > (1 - probabilities + _ROUNDING)[None, :, None]).sum(axis=2)
    result: Floats = values[places]
    return result


def trials_needed(n_trials: int, n_good: int, probability: float = 0.95) -> int | None:
    """Return the smallest tuning budget that includes a good trial with this probability; None without good trials.

    For 1, 2, 5, 10, 20, 50 good trials of 100 and probability 0.95: 95, 78, 45, 25, 13, 5. Raises ValueError for a
    probability outside (0, 1].
    """
    if not 0 < probability <= 1:
        raise ValueError(f"a probability of {probability} is out of range: give one above 0, up to 1")
    if n_good == 0:
        return None
    i = np.arange(n_trials - n_good + 1)
    none = np.cumprod((n_trials - n_good - i) / (n_trials - i))
    return int(np.argmax(none <= 1 - probability + _ROUNDING)) + 1


def expected_best(losses: Floats, budgets: Integers) -> list[float | None]:
    """Return, per tuning budget n, the expected best loss of n trials drawn without replacement (unbiased).

    E[min of n] = sum over i of z_(i) C(N - i, n - 1) / C(N, n), z sorted. losses: one per trial, inf for a trial
    without a loss; None where n such trials could be drawn. Raises ValueError for NaN and for budgets out of range.
    Source: Tang et al. 2020 (arXiv 2004.13705); for losses 1, 2, 3, 4 and n = 2 it is 5/3.
    """
    none = chance_of_none(len(losses), len(losses), budgets)
    return _means(np.sort(_checked(losses)), none)


def expected_best_with_replacement(losses: Floats, budgets: Integers) -> list[float | None]:
    """Return the expected best loss of n trials drawn with replacement, as often reported.

    sum over i of z_(i) [((N - i + 1) / N)^n - ((N - i) / N)^n]. Biased upward, since a trial may be drawn twice. None
    if any loss is inf. Raises ValueError for NaN.
    Source: Dodge et al. 2019 (arXiv 1909.03004); for losses 1, 2, 3, 4 and n = 2 it is 15/8.
    """
    n_trials = len(losses)
    none = (1 - np.arange(n_trials + 1) / max(n_trials, 1)) ** budgets[:, None]
    return _means(np.sort(_checked(losses)), none)


def _means(ordered: Floats, none: Floats) -> list[float | None]:
    """Return, per budget, the mean of sorted losses; none[:, k]: the probability of drawing none of the first k."""
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
    """The 5% and 95% quantiles of the steps of the best of n trials; None: not reached with that probability."""

    n: int
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class SmallerSearch:
    """The steps to target that a search with fewer trials would report.

    half, quarter: for N/2 and N/4 of the N trials, drawn without replacement. m_out_of_n: for m = N^0.7 trials, drawn
    with replacement. runner_up_ratio, fifth_ratio: S_(2)/S_(1) and S_(5)/S_(1), far above 1 if a single lucky trial is
    best; None if too few trials reach the target.
    """

    half: Range | None
    quarter: Range | None
    m_out_of_n: Range | None
    runner_up_ratio: float | None
    fifth_ratio: float | None


def smaller_search(steps: Floats) -> SmallerSearch:
    """Return the range of results of smaller searches, None for fewer than one trial. Raises ValueError for NaN."""
    n_trials = len(steps)
    return SmallerSearch(
        half=range_of_best(steps, n_trials // 2),
        quarter=range_of_best(steps, n_trials // 4),
        m_out_of_n=_with_replacement(steps, round(n_trials**EXPONENT)),
        runner_up_ratio=ratio_to_best(steps, 2),
        fifth_ratio=ratio_to_best(steps, 5),
    )


def ratio_to_best(steps: Floats, rank: int) -> float | None:
    """Return S_(rank) / S_(1); None if fewer trials reach the target, or if the best one needs 0 steps."""
    ordered = np.sort(steps)[:rank]
    if len(ordered) < rank or not np.isfinite(ordered).all() or ordered[0] <= 0:
        return None
    return float(ordered[-1] / ordered[0])


def range_of_best(steps: Floats, n: int) -> Range | None:
    """Return the range of the best of n trials drawn without replacement; None for n < 1.

    Raises ValueError for NaN and for n above the number of trials.
    """
    if n < 1:
        return None
    return _range(n, quantiles(steps, np.array([n]), np.array([LOWER, UPPER]))[0])


@dataclass(frozen=True)
class NewSearch:
    """The best of the trials of a search that is still to be run: bounds of its value, inf if it may have none.

    lower: None if no earlier trial bounds it. The best is below lower, or above upper, with at most 5% each. median:
    None if the best is more probably below all earlier trials. chance: the probability, at least, that it has a value.
    """

    lower: float | None
    median: float | None
    upper: float
    chance: float


def new_search(values: Floats, n_new: int, settings: Integers | None = None) -> NewSearch:
    """Return bounds of the least value of n_new trials that are drawn like the earlier ones.

    values: of the earlier trials, inf for none. If all trials are exchangeable, the k least of all n + m are earlier
    ones with the probability prod (n - i) / (n + m - i) over i < k, whatever their distribution is, so the bounds hold
    at least as often as stated. settings: by trial, where trials repeat settings and new ones don't: n counts settings,
    and ranks are those of equal shares of their trials, from which each bound takes the outer end. Raises ValueError
    for NaN and for fewer than one new trial.
    Source: Hahn and Meeker 1991, "Statistical Intervals", distribution-free prediction intervals for order statistics.
    """
    if n_new < 1:
        raise ValueError(f"{n_new} new trials: give 1 or more")
    checked = _checked(values)
    least, greatest = shares_of_settings(checked, np.arange(len(checked)) if settings is None else settings)
    n = len(greatest)
    rank = np.arange(n)
    # The probability that all new trials are above the earlier one of this rank.
    above = np.cumprod((n - rank) / (n + n_new - rank))
    ends = np.append(greatest, np.inf)
    n_below = int((1 - above <= LOWER + _ROUNDING).sum())
    median, upper = (float(ends[int((above > 1 - chance + _ROUNDING).sum())]) for chance in (0.5, UPPER))
    n_finite = int(np.isfinite(greatest).sum())
    return NewSearch(
        lower=float(least[n_below - 1]) if n_below else None,
        median=None if n_new > n else median,
        upper=upper,
        chance=1 - float(above[n_finite - 1]) if n_finite else 0.0,
    )


def _with_replacement(steps: Floats, m: int) -> Range | None:
    """Return the range of the best of m trials drawn with replacement: P(min <= s_(k)) = 1 - (1 - k/N)^m exactly."""
    if m < 1:
        return None
    reached = np.sort(steps[np.isfinite(steps)])
    chances = 1 - (1 - np.arange(1, len(reached) + 1) / len(steps)) ** m
    values = np.append(reached, np.inf)
    return _range(m, values[[int((chances < p).sum()) for p in (LOWER, UPPER)]])


def _range(n: int, ends: Floats) -> Range:
    return Range(n, *(end if math.isfinite(end) else None for end in ends.tolist()))
