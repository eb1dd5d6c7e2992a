"""Comparing two searches at the same tuning budget: so many trials of each, drawn from those that were run.

Steps are by trial, inf where a trial never reached the target. The more trials a search had, the better its best one:
so compared is the best of n trials on both sides, n being no more than either has.
Source: METHODS 5.3, with the distribution of the best of n drawn without replacement of METHODS 3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from losslake.analysis.best_of_n import chance_of_none, quantiles
from losslake_schema.reached import Floats


@dataclass(frozen=True)
class Chances:
    """Of one search against another, both with the same tuning budget.

    beats: that its best trial needs fewer steps than the other's, a tie counting half. neither: that no trial of
    either reaches the target, which counts for none. What is left is the chance that it is beaten.
    """

    beats: float
    neither: float


@dataclass(frozen=True)
class Flip:
    """Two searches whose order depends on the batch size, by their places in the table that was ranked.

    first_leads, second_leads: the columns where one needs fewer steps. is_clear: on either side at some column by so
    high a chance that, over the columns of that side, CLEAR is left (Bonferroni).
    """

    first: int
    second: int
    first_leads: tuple[int, ...]
    second_leads: tuple[int, ...]
    is_clear: bool


_ROUNDING = 1e-12
_NEGLIGIBLE = 1e-14
CLEAR = 0.95


def median_best(steps: Floats, budget: int) -> float:
    """The median of the best of `budget` trials: the smallest s with P(best <= s) >= 1/2; inf if none has.

    P(best <= s) = 1 - C(N - k, budget) / C(N, budget), where k of N trials have at most s steps. Raises ValueError for
    a budget that isn't from 1 to N, and for NaN. Source: METHODS 3.1 (quantile q_.5).
    """
    return float(quantiles(steps, np.array([budget]), np.array([0.5]))[0, 0])


def chances(first: Floats, second: Floats, budget: int) -> Chances:
    """How likely the first search beats the second: sum over s of P(first = s) (P(second > s) + P(second = s) / 2).

    Best of `budget` trials of each, drawn independently. With a budget of all trials of both, there is but one draw,
    and the chance is 0, 1/2 or 1 by construction: half the trials tell more. Raises ValueError as median_best does.
    """
    (ours, beyond_ours), (theirs, beyond_theirs) = beyond(first, budget), beyond(second, budget)
    above = beyond_theirs[np.searchsorted(theirs, ours, side="right")]
    not_below = beyond_theirs[np.searchsorted(theirs, ours, side="left")]
    exactly = beyond_ours[:-1] - beyond_ours[1:]
    beats = float(exactly @ (above + not_below)) / 2
    return Chances(beats=min(beats, 1.0), neither=float(beyond_ours[-1] * beyond_theirs[-1]))


def ranks(medians: Floats) -> list[int | None]:
    """By search, its rank at one batch size, 1 for the fewest steps; equal ones share the better rank.

    medians: inf where the target isn't reached, NaN where there is no search; both have no rank.
    """
    known = [value for value in medians.tolist() if np.isfinite(value)]
    return [1 + sum(other < own for other in known) if np.isfinite(own) else None for own in medians.tolist()]


def flips(medians: Floats, beats: Callable[[int, int, int], float]) -> list[Flip]:
    """The pairs of searches whose order isn't the same at all batch sizes.

    medians: (searches, batch sizes), inf where the target isn't reached, NaN without a search. beats: the chance that
    the first search beats the second at a batch size, all by their places in medians; NaN where it isn't known.
    """
    found = []
    for first, second in combinations(range(len(medians)), 2):
        ahead = np.flatnonzero(medians[first] < medians[second])
        behind = np.flatnonzero(medians[first] > medians[second])
        if len(ahead) and len(behind):
            first_leads, second_leads = tuple(ahead.tolist()), tuple(behind.tolist())
            is_clear = _is_clear(beats, first, second, first_leads) and _is_clear(beats, second, first, second_leads)
            found.append(Flip(first, second, first_leads, second_leads, is_clear))
    return found


def _is_clear(beats: Callable[[int, int, int], float], first: int, second: int, places: Sequence[int]) -> bool:
    least = 1 - (1 - CLEAR) / len(places)
    return any(beats(first, second, place) >= least for place in places)


def shared_budget(numbers_of_trials: Sequence[int]) -> int:
    """The most trials that every one of the searches has; 0 without searches."""
    return min(numbers_of_trials, default=0)


def beyond(steps: Floats, budget: int) -> tuple[Floats, Floats]:
    """The finite steps, ascending, and the chance that the best of so many trials is beyond the first k, k from 0.

    Raises ValueError for a budget that isn't from 1 to the number of trials, and for NaN.
    """
    if np.isnan(steps).any():
        raise ValueError("steps have to be numbers: inf where the target was not reached")
    reached = np.sort(steps[np.isfinite(steps)])
    (beyond,) = chance_of_none(len(steps), len(reached), np.array([budget]))
    return reached, beyond


def ratio_range(first: Floats, second: Floats, budget: int, sure: float = CLEAR) -> tuple[float, float]:
    """The range of R, the steps of the best of `budget` trials of the first search over those of the second.

    The largest r with P(R >= r) >= sure, and the smallest with P(R <= r) >= sure; at 0.95 they hold 90% of all draws.
    R is inf where only the first never reaches the target, 0 where only the second never does. Draws in which neither
    reaches it count for no r: then the range is wider, at most from 0 to inf. Two searches at step 0 have a ratio of 1.
    Raises ValueError as median_best does.
    """
    (ours, chance_of_ours), (theirs, chance_of_theirs) = _best(first, budget), _best(second, budget)
    # An unlikely draw of neither is left out below, where it would be inf over inf.
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


def _best(steps: Floats, budget: int) -> tuple[Floats, Floats]:
    """What the best of so many trials can take, each once, inf for never, and the chance of each."""
    reached, chance_beyond = beyond(steps, budget)
    values, first = np.unique(np.append(reached, np.inf), return_index=True)
    chances = chance_beyond[first] - np.append(chance_beyond[first[1:]], 0.0)
    likely = chances > _NEGLIGIBLE
    return values[likely], chances[likely]
