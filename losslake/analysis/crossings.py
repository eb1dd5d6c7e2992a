"""Where curves cross a target: at the first evaluation that does, or at one that later evaluations confirm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from losslake_schema.reached import NEVER, NO_STEP, Comparator, Floats, Integers, hits

CrossingRule = Literal["first", "k_consecutive", "sustained"]
COARSE = 0.05


@dataclass(frozen=True)
class Curves:
    """Evaluations of many trials, one trial after the other.

    steps: by evaluation, ascending within a trial. losses: by evaluation, lower is better; negate to maximize.
    offsets: one more than there are trials; evaluations of trial i are offsets[i] up to offsets[i+1].
    """

    steps: Integers
    losses: Floats
    offsets: Integers

    def __post_init__(self) -> None:
        n = len(self.steps)
        if len(self.losses) != n:
            raise ValueError(f"there are {n} steps and {len(self.losses)} losses: give one loss for each step")
        ends = self.offsets[[0, -1]].tolist() if len(self.offsets) else []
        if ends != [0, n] or (np.diff(self.offsets) < 0).any():
            raise ValueError(f"offsets have to ascend from 0 to the number of evaluations, {n}")

    @property
    def n_trials(self) -> int:
        return len(self.offsets) - 1


def crossings(
    curves: Curves, target: float, comparator: Comparator = "strict", rule: CrossingRule = "first", k: int = 1
) -> Integers:
    """By trial, the evaluation at which its curve crosses the target, as an index into steps; NEVER for none.

    first: the first hit. k_consecutive: the first of k successive hits, all of which the trial has to have.
    sustained: the first hit after which every evaluation hits, up to the trial's last.
    Evaluations that are NaN or infinite are left out: they neither confirm a crossing nor undo one.
    Raises ValueError for a target that is not finite, and for k below 1.
    Source: METHODS 1.4; the first hit of a noisy curve comes early, the more so the more evaluations there are.
    """
    if k < 1:
        raise ValueError(f"k={k} is out of range: give 1 or more")
    finite = np.flatnonzero(np.isfinite(curves.losses))
    is_hit = hits(curves.losses[finite], target, comparator)
    bounds = np.searchsorted(finite, curves.offsets)
    misses = np.concatenate([[0], np.cumsum(~is_hit)])
    here = np.arange(len(finite))
    ends = np.repeat(bounds[1:], np.diff(bounds))
    if rule == "sustained":
        until = ends
    else:
        length = 1 if rule == "first" else k
        until = np.where(length <= ends - here, here + length, here)
    confirmed = np.flatnonzero((until > here) & (misses[until] == misses[:-1]))
    return _first_in_each(confirmed, bounds, finite)


def previous_steps(curves: Curves, crossed: Integers) -> Integers:
    """By trial, the step of the evaluation before the crossing, finite or not; NO_STEP if its first one crosses.

    The true crossing lies in (previous step, step]. Of a trial that never crosses the result means nothing.
    """
    if not len(curves.steps):
        return np.full(len(crossed), NO_STEP, np.int64)
    return np.where(crossed > curves.offsets[:-1], curves.steps[np.maximum(crossed - 1, 0)], NO_STEP)


def resolution(steps: Integers, previous: Integers) -> Floats:
    """How coarsely a crossing is known: (step - previous step) / step, from above 0 to 1.

    Infinite where there is no evaluation before (previous: NO_STEP): the crossing is left-censored.
    Source: METHODS 1.4, which warns above COARSE.
    """
    known = (previous != NO_STEP) & (steps > 0)
    relative = np.full(len(steps), np.inf)
    np.divide(steps - previous, steps, out=relative, where=known)
    return relative


def _first_in_each(confirmed: Integers, bounds: Integers, finite: Integers) -> Integers:
    """By trial, the first of the confirmed evaluations within its bounds; NEVER for none."""
    if not len(confirmed):
        return np.full(len(bounds) - 1, NEVER, np.int64)
    places = np.searchsorted(confirmed, bounds[:-1])
    first = confirmed[np.minimum(places, len(confirmed) - 1)]
    is_there = (places < len(confirmed)) & (first < bounds[1:])
    return np.where(is_there, finite[first], NEVER)
