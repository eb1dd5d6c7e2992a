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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
        distances = np.abs(points.T[:, :, None] - points.T[:, None, :]).sum(axis=0)
        distances[groups[:, None] == groups[None, :]] = np.inf
        of_each = np.argsort(distances, axis=1, kind="stable")[:, :count]
        to_new = np.abs(points - new).sum(axis=1)
        return Neighbourhood(np.argsort(to_new, kind="stable")[:count], of_each, groups)

    def bands(self, outcomes: Floats, levels: Sequence[float]) -> list[tuple[float, float] | None]:
        """Return the ends of the band of each level; None where there are fewer groups than it needs.

        outcomes: by point; inf for one that is later than any. An upper end of inf means that it may be.
        """
        n_groups = np.count_nonzero(np.bincount(self.groups))
        tails = [(1 - level) / 2 for level in levels if n_groups >= groups_needed(level)]
        if not tails:
            return [None] * len(levels)
        # Of the upper and lower ends by level and point: shape (levels, points).
        lower, upper = _quantiles(outcomes[self.of_each], tails)
        below, above = _excess(lower, outcomes), _excess(outcomes, upper)
        # An infinite end holds whatever the others miss by; what never comes is later than any lower end.
        above[np.isinf(upper)] = 0
        below[:, np.isinf(outcomes)] = 0
        by_below, by_above = pooled_quantile(np.stack([below, above]), self.groups, np.array(tails)).tolist()
        new_lower, new_upper = (each.tolist() for each in _quantiles(outcomes[self.nearest], tails))
        ends = []
        for first, last, under, over in zip(new_lower, new_upper, by_below, by_above, strict=True):
            end_lower = -math.inf if under == math.inf else first - under
            ends.append((end_lower, max(last + over, end_lower)))
        known = iter(ends)
        return [next(known) if n_groups >= groups_needed(level) else None for level in levels]


def groups_needed(level: float) -> int:
    """Return the least number n of groups for a band of a level: (1 - level) / 2 times (n + 1) is 1 or more."""
    return math.ceil(2 / (1 - level) - 1 - _ROUNDING)


def pooled_quantile(scores: Floats, groups: Integers, tail: npt.ArrayLike) -> Floats:
    """Return the least score that a score of a new group exceeds with a probability of at most `tail`; inf for none.

    Each of n groups has a weight of 1 / (n + 1), spread evenly over its scores, and the new one has the rest at inf.
    scores: shape (..., points). tail: one, or by the last axis of the result, of shape (...).
    """
    sizes = np.bincount(groups)
    order = np.argsort(scores, axis=-1, kind="stable")
    reached = np.cumsum((1 / sizes[groups])[order], axis=-1)
    needed = (1 - np.asarray(tail)) * (np.count_nonzero(sizes) + 1)
    place = (reached < needed[..., None] - _ROUNDING).sum(axis=-1)
    ordered = np.take_along_axis(scores, order, axis=-1)
    ends = np.concatenate([ordered, np.full((*ordered.shape[:-1], 1), np.inf)], axis=-1)
    return np.take_along_axis(ends, place[..., None], axis=-1)[..., 0]


def _quantiles(outcomes: Floats, tails: Sequence[float]) -> tuple[Floats, Floats]:
    """Return the outcomes at both tails of the last axis, the outer one of two, without interpolation towards inf.

    outcomes: shape (..., n). Both results have shape (tails, ...).
    """
    ordered = np.sort(outcomes, axis=-1)
    last = ordered.shape[-1] - 1
    lower = [ordered[..., math.floor(last * tail + _ROUNDING)] for tail in tails]
    upper = [ordered[..., math.ceil(last * (1 - tail) - _ROUNDING)] for tail in tails]
    return np.array(lower), np.array(upper)


def _excess(larger: Floats, smaller: Floats) -> Floats:
    """Return the difference; 0 for two infinities."""
    is_both = np.isinf(larger) & np.isinf(smaller)
    return np.where(is_both, 0.0, larger - np.where(is_both, 0.0, smaller))
