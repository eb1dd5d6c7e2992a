"""Bands for the outcome of a new point from those of its nearest neighbours, which hold by leaving out each group.

The band goes from the lower to the upper quantile of the neighbours' outcomes, and both ends are moved by how far the
outcomes of known points lie outside such quantiles of their own neighbours: conformalized quantile regression with an
error of each end (Romano, Patterson and Candes 2019, "Conformalized Quantile Regression", section 3), and each point
left out with its group instead of a split (Barber, Candes, Ramdas and Tibshirani 2021, "Predictive inference with the
jackknife+"). Groups count equally, whatever their number of points (Dunn, Wasserman and Ramdas 2023, "Distribution-Free
Prediction Sets for Two-Layer Hierarchical Models", pooled CDFs).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from losslake_schema.reached import Floats, Integers

LEAST_NEIGHBOURS = 5
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Neighbourhood:
    """The nearest points of a new point, and of each known point, those of its own group left out.

    nearest: of the new point, by distance, ties to the first. of_each: shape (points, neighbours). groups: by point,
    from 0.
    """

    nearest: Integers
    of_each: Integers
    groups: Integers

    @staticmethod
    def of(points: Floats, new: Floats, groups: Integers) -> Neighbourhood:
        """Return the neighbours by the sum of absolute differences: about the square root of the number of points.

        points: shape (points, features), finite. new: by feature. groups: at least two.
        """
        n = len(points)
        count = min(max(LEAST_NEIGHBOURS, round(math.sqrt(n))), n - int(np.bincount(groups).max()))
        distances = np.abs(points[:, None, :] - points[None, :, :]).sum(axis=2)
        distances[groups[:, None] == groups[None, :]] = np.inf
        of_each = np.argsort(distances, axis=1, kind="stable")[:, :count]
        to_new = np.abs(points - new).sum(axis=1)
        return Neighbourhood(np.argsort(to_new, kind="stable")[:count], of_each, groups)

    def band(self, outcomes: Floats, level: float) -> tuple[float, float] | None:
        """Return the ends of the band of a level; None where there are fewer groups than it needs.

        outcomes: by point; inf for one that is later than any. An upper end of inf means that it may be.
        """
        if len(np.unique(self.groups)) < groups_needed(level):
            return None
        tail = (1 - level) / 2
        lower, upper = _quantiles(outcomes[self.of_each], tail)
        below, above = _excess(lower, outcomes), _excess(outcomes, upper)
        # An infinite end holds whatever the others miss by; what never comes is later than any lower end.
        above[np.isinf(upper)] = 0
        below[np.isinf(outcomes)] = 0
        new_lower, new_upper = (float(each) for each in _quantiles(outcomes[self.nearest], tail))
        by_below, by_above = (pooled_quantile(each, self.groups, tail) for each in (below, above))
        end_lower = -math.inf if by_below == math.inf else new_lower - by_below
        return end_lower, max(new_upper + by_above, end_lower)


def groups_needed(level: float) -> int:
    """Return the least number n of groups for a band of a level: (1 - level) / 2 times (n + 1) is 1 or more."""
    return math.ceil(2 / (1 - level) - 1 - _ROUNDING)


def pooled_quantile(scores: Floats, groups: Integers, tail: float) -> float:
    """Return the least score that a score of a new group exceeds with a probability of at most `tail`; inf for none.

    Each of n groups has a weight of 1 / (n + 1), spread evenly over its scores, and the new one has the rest at inf.
    """
    sizes = np.bincount(groups)
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(1 / sizes[groups[order]])
    needed = (1 - tail) * (np.count_nonzero(sizes) + 1)
    place = int(np.searchsorted(reached, needed - _ROUNDING))
    return float(scores[order[place]]) if place < len(scores) else math.inf


def _quantiles(outcomes: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the outcomes at both tails of the last axis, the outer one of two, without interpolation towards inf."""
    ordered = np.sort(outcomes, axis=-1)
    last = ordered.shape[-1] - 1
    return ordered[..., math.floor(last * tail + _ROUNDING)], ordered[..., math.ceil(last * (1 - tail) - _ROUNDING)]


def _excess(larger: Floats, smaller: Floats) -> Floats:
    """Return the difference; 0 for two infinities."""
    is_both = np.isinf(larger) & np.isinf(smaller)
    return np.where(is_both, 0.0, larger - np.where(is_both, 0.0, smaller))
