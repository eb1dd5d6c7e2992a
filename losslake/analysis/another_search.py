"""How far the best trial of a search can be relied on: what another search of that kind would have found.

Not the bootstrap of the minimum, which is inconsistent: it repeats the minimum with probability 1 - 1/e and can never
go below it. Source: METHODS 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake.analysis.best_of_n import quantiles
from losslake_schema.reached import Floats

LOWER, UPPER = 0.05, 0.95
EXPONENT = 0.7


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
    lower, upper = quantiles(steps, np.array([n]), np.array([LOWER, UPPER]))[0].tolist()
    return Range(n, _known(lower), _known(upper))


def _with_replacement(steps: Floats, m: int) -> Range | None:
    """P(least of m <= s_(k)) = 1 - (1 - k/N)^m, exactly: nothing has to be drawn."""
    if m < 1:
        return None
    reached = np.sort(steps[np.isfinite(steps)])
    chances = 1 - (1 - np.arange(1, len(reached) + 1) / len(steps)) ** m
    values = np.append(reached, np.inf)
    lower, upper = (float(values[int((chances < p).sum())]) for p in (LOWER, UPPER))
    return Range(m, _known(lower), _known(upper))


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
