"""The trials of one study as metaparameter analyses see them: effective learning rates, and which are near others.

The effective learning rate is what momentum makes of a learning rate; the plane is that of both in log space.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from losslake_schema.reached import Flags, Floats, Integers


def effective_learning_rate(learning_rate: float | None, momentum: float | None) -> float | None:
    """learning_rate / (1 - momentum); None if either is missing or not finite, or if momentum is 1 or more.

    Source: Shallue et al. 2019, section 5.2 (METHODS 1.1, 4).
    """
    given = np.array([[np.nan if value is None else value] for value in (learning_rate, momentum)])
    effective = float(effective_learning_rates(*given)[0])
    return None if np.isnan(effective) else effective


def effective_learning_rates(learning_rate: Floats, momentum: Floats) -> Floats:
    """The same by trial: arrays of one shape, NaN where a value is missing, and NaN where there is no result."""
    with np.errstate(all="ignore"):
        effective = learning_rate / (1 - momentum)
    return np.where(np.isfinite(effective) & (momentum < 1) & np.isfinite(momentum), effective, np.nan)


def momentum_or_plain(momentum: Floats) -> Floats:
    """The momentum of a workload's trials, 0 for all if none of them has one: plain SGD (METHODS 4).

    momentum: by trial, NaN where missing. Where some trials have one, it stays missing in the others.
    """
    return np.zeros_like(momentum) if np.isnan(momentum).all() else momentum


_PAIRS_AT_ONCE = 500_000
"""Of places whose distances are in memory together."""


@dataclass(frozen=True)
class TunedStudy:
    """Trials of one metaparameter search, in the order of their numbers; all arrays of shape (trials,).

    batch_size: of the study. steps: to the target, inf where never reached, and for every infeasible trial.
    learning_rate, momentum: NaN where missing. is_infeasible: diverged.
    Raises ValueError for arrays of different lengths, NaN steps, and an infeasible trial with finite steps.
    """

    batch_size: float
    steps: Floats
    learning_rate: Floats
    momentum: Floats
    is_infeasible: Flags

    def __post_init__(self) -> None:
        shapes = {a.shape for a in (self.steps, self.learning_rate, self.momentum, self.is_infeasible)}
        if len(shapes) != 1 or len(self.steps.shape) != 1:
            raise ValueError(f"the arrays of a study have to be of one length, not {sorted(shapes)}")
        if np.isnan(self.steps).any() or np.isfinite(self.steps[self.is_infeasible]).any():
            raise ValueError("steps have to be inf, not NaN, where a trial never reached the target or diverged")

    @cached_property
    def effective_learning_rate(self) -> Floats:
        """By trial; NaN where there is none."""
        return effective_learning_rates(self.learning_rate, self.momentum)

    @cached_property
    def places(self) -> Floats:
        """By trial, log10 of learning rate and of 1 - momentum: shape (trials, 2), in decades, NaN where missing."""
        return places(self.learning_rate, self.momentum)


@dataclass(frozen=True)
class Neighbours:
    """For each of some places, the nearest trials, nearest first; shape (places, k).

    rows: of the trials. decades: how far they are, in powers of ten of learning rate and 1 - momentum together.
    """

    rows: Integers
    decades: Floats


def places(learning_rate: Floats, momentum: Floats) -> Floats:
    """log10 of learning rate and of 1 - momentum, shape (n, 2); a row of NaN where either has no finite logarithm."""
    with np.errstate(all="ignore"):
        found = np.log10(np.column_stack([learning_rate, 1 - momentum]))
    found[~np.isfinite(found).all(axis=1)] = np.nan
    return found


def nearest_trials(among: Floats, to: Floats, k: int) -> Neighbours:
    """The k nearest trials, or all if there are fewer, in standardized log space; ties to the lower row.

    among: places of trials, of which those of NaN are left out; to: places, without NaN; both in decades, shape (n, 2).
    Each axis is divided by the standard deviation of the trials along it (by 1 where they do not differ), so that
    an axis searched over few decades counts as much as one searched over many (METHODS 4).
    """
    rows = np.flatnonzero(np.isfinite(among).all(axis=1))
    if not len(rows):
        return Neighbours(np.zeros((len(to), 0), np.int64), np.zeros((len(to), 0)))
    known = among[rows]
    spread = known.std(axis=0)
    # Equal places may differ by rounding, and the deviation of equal numbers need not be 0 exactly.
    spread[spread < 1e-9] = 1.0
    blocks = np.array_split(to, max(1, len(to) * len(known) // _PAIRS_AT_ONCE))
    nearest = np.concatenate([_nearest(known, block, spread, k) for block in blocks])
    away = known[nearest] - to[:, np.newaxis]
    return Neighbours(rows[nearest], np.sqrt((away**2).sum(axis=2)))


def _nearest(among: Floats, to: Floats, spread: Floats, k: int) -> Integers:
    """The rows of the k places nearest to each, or of all if there are fewer, the nearest first; ties to the lower."""
    distance = (((among[np.newaxis] - to[:, np.newaxis]) / spread) ** 2).sum(axis=2)
    k = min(k, len(among))
    farthest = np.partition(distance, k - 1, axis=1)[:, k - 1]
    place, row = np.nonzero(distance <= farthest[:, np.newaxis])
    order = np.lexsort((row, distance[place, row], place))
    first = np.searchsorted(place, np.arange(len(to)))
    found: Integers = row[order][first[:, np.newaxis] + np.arange(k)]
    return found
