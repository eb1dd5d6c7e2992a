"""The evaluation at which each curve crosses a target: its first hit, or a hit that later evaluations confirm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from losslake_schema.reached import NEVER, NO_STEP, Comparator, Floats, Integers, hits

CrossingRule = Literal["first", "k_consecutive", "sustained"]
COARSE = 0.05


@dataclass(frozen=True)
class Curves:
    """The evaluations of many trials, concatenated.

    steps: (evaluations,), ascending within a trial. losses: (evaluations,), lower is better; negate to maximize.
    offsets: (trials + 1,); trial i has the evaluations offsets[i]:offsets[i + 1]. Raises ValueError for lengths that
    don't match.
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
        """The number of trials."""
        return len(self.offsets) - 1


def crossings(
    curves: Curves, target: float, comparator: Comparator = "strict", rule: CrossingRule = "first", k: int = 1
) -> Integers:
    """Return, per trial, the index into steps of the evaluation that crosses the target; NEVER for none.

    rule: "first": the first hit. "k_consecutive": the first of k successive hits within the trial. "sustained": the
    first hit after which all evaluations of the trial are hits. Non-finite evaluations are skipped: they neither
    confirm nor undo a crossing. The first hit of a noisy curve is biased towards early steps, more so with more
    evaluations.
    Raises ValueError for a target that is not finite and for k below 1.
    Source: "first" is compute_steps_to_result of Shallue et al. 2019 (google-research/batch_science); METHODS 1.1, 1.4.
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
    """Return, per trial, the step of the evaluation before the crossing; NO_STEP if the first one crosses.

    The true crossing lies in (previous step, step]; the previous evaluation need not be finite. crossed: as returned by
    `crossings`; the result is undefined for trials that are NEVER.
    """
    step_before = np.append(NO_STEP, curves.steps)
    return np.where(crossed > curves.offsets[:-1], step_before[crossed], NO_STEP)


def resolution(steps: Integers, previous: Integers) -> Floats:
    """Return the relative resolution of crossings, (step - previous step) / step, in (0, 1].

    inf where there is no evaluation before (previous: NO_STEP): the crossing is left-censored. Answers warn above
    COARSE (METHODS 1.4).
    """
    has_before = (previous != NO_STEP) & (steps > 0)
    relative = np.full(len(steps), np.inf)
    np.divide(steps - previous, steps, out=relative, where=has_before)
    return relative


def _first_in_each(confirmed: Integers, bounds: Integers, finite: Integers) -> Integers:
    """Return, per trial, the first of the confirmed evaluations within its bounds; NEVER for none."""
    first = np.append(confirmed, len(finite))[np.searchsorted(confirmed, bounds[:-1])]
    return np.where(first < bounds[1:], np.append(finite, NEVER)[first], NEVER)
