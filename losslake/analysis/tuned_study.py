"""The trials of one study in metaparameter space: effective learning rates and nearest neighbours.

The effective learning rate is learning_rate / (1 - momentum). Distances are in the plane of log10(learning rate) and
log10(1 - momentum). Source: Shallue et al. 2019, section 5.2; METHODS 1.1, 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from losslake_schema.reached import Flags, Floats, Integers


def effective_learning_rate(learning_rate: float | None, momentum: float | None) -> float | None:
    """Return learning_rate / (1 - momentum); None if either is missing or not finite, or if momentum is 1 or more.

    Source: Shallue et al. 2019, section 5.2 (METHODS 1.1, 4).
    """
    values = np.array([[np.nan if value is None else value] for value in (learning_rate, momentum)])
    effective = float(effective_learning_rates(*values)[0])
    return None if np.isnan(effective) else effective


def effective_learning_rates(learning_rate: Floats, momentum: Floats) -> Floats:
    """Return `effective_learning_rate` of arrays of one shape; NaN where a value is missing or the result undefined."""
    with np.errstate(all="ignore"):
        effective = learning_rate / (1 - momentum)
    return np.where(np.isfinite(effective) & (momentum < 1) & np.isfinite(momentum), effective, np.nan)


def momentum_or_plain(momentum: Floats) -> Floats:
    """Return the momentum of a workload's trials, or zeros if none of them has any (plain SGD).

    momentum: by trial, NaN where missing. If some trials have a momentum, NaN stays NaN in the others.
    """
    return np.zeros_like(momentum) if np.isnan(momentum).all() else momentum


_PAIRS_AT_ONCE = 500_000
"""Pairs of places whose distances are in memory at once."""


@dataclass(frozen=True)
class TunedStudy:
    """The trials of one metaparameter search, by trial_id; arrays of shape (trials,).

    batch_size: of the study. steps: to the target, inf if never reached and for every infeasible trial.
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
        """The effective learning rate by trial; NaN where undefined."""
        return effective_learning_rates(self.learning_rate, self.momentum)

    @cached_property
    def places(self) -> Floats:
        """The log10 of learning rate and of 1 - momentum by trial: shape (trials, 2), NaN where missing."""
        return places(self.learning_rate, self.momentum)


@dataclass(frozen=True)
class Neighbours:
    """The nearest trials of each place, nearest first; arrays of shape (places, k).

    rows: of the trials. decades: Euclidean distance in log10 of learning rate and 1 - momentum.
    """

    rows: Integers
    decades: Floats


def places(learning_rate: Floats, momentum: Floats) -> Floats:
    """Return log10 of learning rate and of 1 - momentum, shape (n, 2); rows of NaN where either isn't finite."""
    with np.errstate(all="ignore"):
        result = np.log10(np.column_stack([learning_rate, 1 - momentum]))
    result[~np.isfinite(result).all(axis=1)] = np.nan
    return result


def nearest_trials(among: Floats, to: Floats, k: int) -> Neighbours:
    """Return the k nearest trials (or all, if fewer) in standardized log space; ties to the lower row.

    among: places of trials, shape (n, 2), rows of NaN ignored. to: places without NaN, shape (m, 2). Both as from
    `places`. Each axis is divided by the standard deviation of the trials along it (by 1 if they are all equal), so
    that an axis searched over few decades counts as much as one searched over many (METHODS 4).
    """
    rows = np.flatnonzero(np.isfinite(among).all(axis=1))
    if not len(rows):
        return Neighbours(np.zeros((len(to), 0), np.int64), np.zeros((len(to), 0)))
    finite = among[rows]
    spread = finite.std(axis=0)
    # The standard deviation of equal numbers may differ from 0 by rounding.
    spread[spread < 1e-9] = 1.0
    blocks = np.array_split(to, max(1, len(to) * len(finite) // _PAIRS_AT_ONCE))
    nearest = np.concatenate([_nearest(finite, block, spread, k) for block in blocks])
    away = finite[nearest] - to[:, np.newaxis]
    return Neighbours(rows[nearest], np.sqrt((away**2).sum(axis=2)))


def _nearest(among: Floats, to: Floats, spread: Floats, k: int) -> Integers:
    """Return the rows of the k places (or all, if fewer) nearest to each, nearest first; ties to the lower row."""
    distance = (((among[np.newaxis] - to[:, np.newaxis]) / spread) ** 2).sum(axis=2)
    k = min(k, len(among))
    farthest = np.partition(distance, k - 1, axis=1)[:, k - 1]
    place, row = np.nonzero(distance <= farthest[:, np.newaxis])
    order = np.lexsort((row, distance[place, row], place))
    first = np.searchsorted(place, np.arange(len(to)))
    result: Integers = row[order][first[:, np.newaxis] + np.arange(k)]
    return result
