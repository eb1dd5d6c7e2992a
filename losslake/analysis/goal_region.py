"""The goal region: the metaparameters that reach a target, beside those that do not and those that diverge.

Within it lies the near-optimal set: the trials that need almost as few steps to the target as the best of their study.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake.analysis.tuned_study import TunedStudy, nearest_trials
from losslake_schema.reached import Flags, Floats, Integers

REACHED, NOT_REACHED, INFEASIBLE, INCOMPLETE = range(4)
OUTCOMES = ("reached", "not reached", "infeasible", "incomplete")
NEAREST = 5
NEAREST_FOR_PROBABILITY = 10
WITHIN = 0.1


def outcomes(has_reached: Flags, is_infeasible: Flags, is_incomplete: Flags) -> Integers:
    """Return, per trial, the index of its class in OUTCOMES.

    A trial that diverged is infeasible even if it had reached the target, as in the scripts of Shallue et al. 2019
    (METHODS 1.1). Those reject trials that did not finish; here such trials are a class of their own.
    """
    return np.select(
        [is_infeasible, is_incomplete, has_reached], [INFEASIBLE, INCOMPLETE, REACHED], NOT_REACHED
    ).astype(np.int64)


def fraction_reaching(of_trials: Integers) -> float | None:
    """Return the fraction of the finished or diverged trials that reached the target; None if there are none."""
    ended = of_trials[of_trials != INCOMPLETE]
    return float((ended == REACHED).mean()) if len(ended) else None


def goal_probability(places: Floats, of_trials: Integers, at: Floats, k: int = NEAREST_FOR_PROBABILITY) -> Floats:
    """Return p_goal: the fraction of the k nearest trials that reached the target; shape (len(at),), NaN for none.

    Args:
        places: of the trials, log10 of learning rate and of 1 - momentum, shape (trials, 2); NaN rows are ignored.
        of_trials: outcomes of the trials. Unfinished trials are ignored; divergence counts as a miss.
        at: places to evaluate, shape (n, 2), without NaN.
        k: the number of nearest trials, by the distance of `nearest_trials`.

    Source: a k-nearest-neighbour estimate of the goal region of Shallue et al. 2019 (METHODS 4).
    """
    usable = of_trials != INCOMPLETE
    nearest = nearest_trials(places[usable], at, k)
    if not nearest.rows.shape[1]:
        return np.full(len(at), np.nan)
    result: Floats = (of_trials[usable][nearest.rows] == REACHED).mean(axis=1)
    return result


def goal_probability_of_others(places: Floats, of_trials: Integers, k: int = NEAREST_FOR_PROBABILITY) -> Floats:
    """Return `goal_probability` at the place of each trial, without that trial; NaN without a place or other trials.

    places, of_trials and k: as in `goal_probability`.
    """
    result = np.full(len(of_trials), np.nan)
    usable = np.flatnonzero((of_trials != INCOMPLETE) & np.isfinite(places).all(axis=1))
    placed = np.flatnonzero(np.isfinite(places).all(axis=1))
    near = usable[nearest_trials(places[usable], places[placed], k + 1).rows]
    is_itself = near == placed[:, np.newaxis]
    # Drop the trial itself from its k + 1 neighbours; if it is not among them, drop the farthest.
    others = np.take_along_axis(near, np.argsort(is_itself, axis=1, kind="stable"), axis=1)
    counts = np.minimum(near.shape[1] - is_itself.sum(axis=1), k)
    is_hit = (of_trials[others] == REACHED) & (np.arange(near.shape[1]) < counts[:, np.newaxis])
    with np.errstate(invalid="ignore"):
        result[placed] = is_hit.sum(axis=1) / counts
    return result


def grid_over(places: Floats, size: int) -> Floats:
    """Return a grid of size x size places over the range of the trials', shape (size^2, 2); empty without places.

    The learning rate varies fastest.
    """
    finite = places[np.isfinite(places).all(axis=1)]
    if not len(finite):
        return np.zeros((0, 2))
    rates, remainders = (np.linspace(low, high, size) for low, high in zip(finite.min(0), finite.max(0), strict=True))
    across, down = np.meshgrid(rates, remainders)
    return np.column_stack([across.ravel(), down.ravel()])


def is_stability_limited(study: TunedStudy, best: int, k: int = NEAREST) -> bool | None:
    """Return True if the best trial lies next to the infeasible region; None if it has no place.

    That is, if any of the k nearest trials diverged with a greater effective learning rate: larger steps might have
    been better had they been stable (METHODS 4).
    """
    at = study.places[best : best + 1]
    if np.isnan(at).any():
        return None
    others = study.places.copy()
    others[best] = np.nan
    near = nearest_trials(others, at, k).rows[0]
    rates = study.effective_learning_rate
    return bool((study.is_infeasible[near] & (rates[near] > rates[best])).any())


@dataclass(frozen=True)
class NearOptimal:
    """The near-optimal trials: rows by steps and then by row, the best first; steps: of the best."""

    rows: Integers
    steps: float

    @property
    def best(self) -> int:
        """The row of the trial with the fewest steps."""
        return int(self.rows[0])


def near_optimal(steps: Floats, within: float = WITHIN) -> NearOptimal | None:
    """Return the trials with S_i <= (1 + within) S*, ties by row; None if no trial reached the target.

    steps: to the target by trial, inf for never. The metaparameters of the single best trial vary randomly from batch
    size to batch size; the set shows by how much (METHODS 4). Raises ValueError for a negative or infinite `within`.
    """
    if not 0 <= within < np.inf:
        raise ValueError(f"within={within}: give a finite number, 0 or more")
    ordered = np.argsort(steps, kind="stable")
    ordered = ordered[np.isfinite(steps[ordered])]
    if not len(ordered):
        return None
    fewest = float(steps[ordered[0]])
    return NearOptimal(ordered[steps[ordered] <= (1 + within) * fewest], fewest)
