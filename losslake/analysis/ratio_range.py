"""The ratio of what two searches find, with the range that other draws of their trials would give.

Steps are by trial, inf where a trial never reached the target. Both searches have the same tuning budget.
Source: METHODS 5.3, with the distribution of the best of n drawn without replacement of METHODS 3.1.
"""

from __future__ import annotations

import numpy as np

from losslake.analysis.equal_budget import CLEAR, beyond
from losslake_schema.reached import Floats

_ROUNDING = 1e-12
_NEGLIGIBLE = 1e-14


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
