"""Comparison of two searches at the same tuning budget.

`steps` has one entry per trial, inf if the trial never reached the target. A search with more trials has a better best
trial, so the best of n trials is compared on both sides, drawn without replacement from the trials that were run; n is
at most the number of trials of either search.
Source: the distribution of the best of n of Tang et al. 2020 (arXiv 2004.13705); METHODS 3.1, 5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from losslake.analysis.best_of_n import chance_of_none
from losslake.analysis.permutation_test import ERROR
from losslake_schema.reached import Floats


@dataclass(frozen=True)
class Chances:
    """The probabilities of one search against another at the same tuning budget.

    beats: its best trial needs fewer steps than the other's; a tie counts half. neither: no trial of either search
    reaches the target. 1 - beats - neither: the other search beats it.
    """

    beats: float
    neither: float


@dataclass(frozen=True)
class Flip:
    """Two searches, as rows of the ranked table, whose order depends on the batch size.

    first_leads, second_leads: the columns in which one needs fewer steps. is_clear: on both sides a permutation test
    finds that at one column or more, with Bonferroni's correction for the number of columns of both.
    """

    first: int
    second: int
    first_leads: tuple[int, ...]
    second_leads: tuple[int, ...]
    is_clear: bool


_ROUNDING = 1e-12
_NEGLIGIBLE = 1e-14
CLEAR = 0.95


@dataclass(frozen=True)
class BestOf:
    """The best of a number of trials of a search.

    reached: the finite steps of all trials, ascending. beyond: for k = 0, 1, …, the probability that the best needs
    more than the k fewest of these.
    """

    reached: Floats
    beyond: Floats

    @property
    def median(self) -> float:
        """The median steps: the smallest s with P(best <= s) >= 1/2, or inf."""
        place = int((self.beyond[1:] > 0.5 + _ROUNDING).sum())
        return float(self.reached[place]) if place < len(self.reached) else np.inf


def best_of(steps: Floats, budget: int) -> BestOf:
    """Return the best of `budget` trials of a search.

    P(best > s) = C(N - k, budget) / C(N, budget), where k of N trials need at most s steps. Raises ValueError for NaN
    and for a budget that isn't from 1 to N.
    """
    if np.isnan(steps).any():
        raise ValueError("steps have to be numbers: give inf, not NaN, where the target was not reached")
    reached = np.sort(steps[np.isfinite(steps)])
    (beyond,) = chance_of_none(len(steps), len(reached), np.array([budget]))
    return BestOf(reached, beyond)


def chances(first: BestOf, second: BestOf) -> Chances:
    """Return the probability that the first search beats the second, and that neither reaches the target.

    P(beats) = sum over s of P(first = s) (P(second > s) + P(second = s) / 2), for the best of each, drawn
    independently. If the budget is all trials of both there is only one draw, so the result is 0, 1/2 or 1: half of the
    trials is more informative.
    """
    above = second.beyond[np.searchsorted(second.reached, first.reached, side="right")]
    not_below = second.beyond[np.searchsorted(second.reached, first.reached, side="left")]
    exactly = first.beyond[:-1] - first.beyond[1:]
    beats = float(exactly @ (above + not_below)) / 2
    return Chances(beats=min(beats, 1.0), neither=float(first.beyond[-1] * second.beyond[-1]))


def ranks(medians: Floats) -> list[int | None]:
    """Return the rank of each search at one batch size, 1 for the fewest steps; ties share the better rank.

    medians: (searches,); inf where the target isn't reached and NaN where there is no search have the rank None.
    """
    reached = [value for value in medians.tolist() if np.isfinite(value)]
    return [1 + sum(other < value for other in reached) if np.isfinite(value) else None for value in medians.tolist()]


def flips(medians: Floats, signed_p: Callable[[int, int, int], float]) -> list[Flip]:
    """Return the pairs of searches whose order changes with the batch size.

    medians: (searches, batch sizes), inf where the target isn't reached, NaN without a search. signed_p:
    gives the p-value of a difference at a batch size, below 0 if the first needs more steps, all as indices.
    """
    result = []
    for first, second in combinations(range(len(medians)), 2):
        ahead = np.flatnonzero(medians[first] < medians[second])
        behind = np.flatnonzero(medians[first] > medians[second])
        if len(ahead) and len(behind):
            first_leads, second_leads = tuple(ahead.tolist()), tuple(behind.tolist())
            level = ERROR / (len(first_leads) + len(second_leads))
            is_clear = any(0 < signed_p(first, second, place) <= level for place in first_leads) and any(
                0 < -signed_p(first, second, place) <= level for place in second_leads
            )
            result.append(Flip(first, second, first_leads, second_leads, is_clear))
    return result


def shared_budget(numbers_of_trials: Sequence[int]) -> int:
    """Return the largest number of trials that every search has; 0 without searches."""
    return min(numbers_of_trials, default=0)


def ratio_range(first: BestOf, second: BestOf, sure: float = CLEAR) -> tuple[float, float]:
    """Return the range of R, the ratio of steps of the best of the first and of the second search.

    The largest r with P(R >= r) >= sure, and the smallest with P(R <= r) >= sure; at 0.95 they enclose 90% of all
    draws. R is inf if only the first never reaches the target, 0 if only the second never does. Draws in which neither
    reaches it count on no side, which widens the range, at most to [0, inf]. If both need 0 steps R is 1.
    """
    (ours, chance_of_ours), (theirs, chance_of_theirs) = _distribution(first), _distribution(second)
    # inf over inf, where neither reaches the target, is excluded below.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.divide.outer(ours, theirs)
    ratios[np.equal.outer(ours, theirs)] = 1.0
    chances = np.multiply.outer(chance_of_ours, chance_of_theirs)
    chances[np.logical_and.outer(np.isinf(ours), np.isinf(theirs))] = 0.0
    order = np.argsort(ratios, axis=None)
    ratios, chances = ratios.ravel()[order], chances.ravel()[order]
    enough = sure - _ROUNDING
    up_to, from_on = np.cumsum(chances), np.cumsum(chances[::-1])
    upper = float(ratios[np.argmax(up_to >= enough)]) if up_to[-1] >= enough else np.inf
    lower = float(ratios[::-1][np.argmax(from_on >= enough)]) if up_to[-1] >= enough else 0.0
    return lower, upper


def _distribution(best: BestOf) -> tuple[Floats, Floats]:
    """Return the distinct steps that the best may need, inf for never, and their probabilities."""
    values, first = np.unique(np.append(best.reached, np.inf), return_index=True)
    chances = best.beyond[first] - np.append(best.beyond[first[1:]], 0.0)
    likely = chances > _NEGLIGIBLE
    return values[likely], chances[likely]
