"""The goal region: which metaparameters reach a target, which do not, and which diverge.

Within it, the near-optimal set: the trials that reach a target almost as soon as the best one of their study.
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
    """By trial, the index of its class in OUTCOMES.

    A trial that diverged is infeasible even if it had reached the target, as in the scripts of Shallue et al. 2019
    (METHODS 1.1). These refuse trials that did not finish; here they are a class of their own.
    """
    return np.select(
        [is_infeasible, is_incomplete, has_reached], [INFEASIBLE, INCOMPLETE, REACHED], NOT_REACHED
    ).astype(np.int64)


def fraction_reaching(of_trials: Integers) -> float | None:
    """Of the trials that finished or diverged, the fraction that reached the target; None if there is none."""
    known = of_trials[of_trials != INCOMPLETE]
    return float((known == REACHED).mean()) if len(known) else None


def goal_probability(places: Floats, of_trials: Integers, at: Floats, k: int = NEAREST_FOR_PROBABILITY) -> Floats:
    """p_goal: of the k trials nearest to each place, the fraction that reached the target; shape (len(at),).

    Args:
        places: of the trials, log10 of learning rate and of 1 - momentum, shape (trials, 2); NaN rows are left out.
        of_trials: their classes. Trials that did not finish say nothing and are left out; divergence is a miss.
        at: places to ask for, shape (n, 2), without NaN.

    NaN if there are no trials. Nearness is that of `nearest_trials` (METHODS 4).
    """
    usable = of_trials != INCOMPLETE
    nearest = nearest_trials(places[usable], at, k)
    if not nearest.rows.shape[1]:
        return np.full(len(at), np.nan)
    found: Floats = (of_trials[usable][nearest.rows] == REACHED).mean(axis=1)
    return found


def goal_probability_of_others(places: Floats, of_trials: Integers, k: int = NEAREST_FOR_PROBABILITY) -> Floats:
    """The goal probability at the place of each trial, itself left out; NaN for a trial without place or others.

    places, of_trials and k: as in `goal_probability`.
    """
    found = np.full(len(of_trials), np.nan)
    usable = np.flatnonzero((of_trials != INCOMPLETE) & np.isfinite(places).all(axis=1))
    asked = np.flatnonzero(np.isfinite(places).all(axis=1))
    near = usable[nearest_trials(places[usable], places[asked], k + 1).rows]
    is_itself = near == asked[:, np.newaxis]
    # Of k + 1 neighbours a trial is one itself, mostly: those that are not leave the farthest out instead.
    kept = np.take_along_axis(near, np.argsort(is_itself, axis=1, kind="stable"), axis=1)
    counts = np.minimum(near.shape[1] - is_itself.sum(axis=1), k)
    is_hit = (of_trials[kept] == REACHED) & (np.arange(near.shape[1]) < counts[:, np.newaxis])
    with np.errstate(invalid="ignore"):
        found[asked] = is_hit.sum(axis=1) / counts
    return found


def grid_over(places: Floats, size: int) -> Floats:
    """size x size places that span those of the trials, learning rate varying fastest; shape (size^2, 2).

    Empty if no trial has a place.
    """
    known = places[np.isfinite(places).all(axis=1)]
    if not len(known):
        return np.zeros((0, 2))
    rates, remainders = (np.linspace(low, high, size) for low, high in zip(known.min(0), known.max(0), strict=True))
    across, down = np.meshgrid(rates, remainders)
    return np.column_stack([across.ravel(), down.ravel()])


def is_stability_limited(study: TunedStudy, best: int, k: int = NEAREST) -> bool | None:
    """Whether the best trial lies at the edge of the infeasible region (METHODS 4).

    True if of the k trials nearest to it one diverged that has a greater effective learning rate: then larger steps
    may have been better, had they been stable. None if the best trial has no place among the others.
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
    """rows: of the trials, by steps and then by row; the first is the best. steps: of the best."""

    rows: Integers
    steps: float

    @property
    def best(self) -> int:
        """The row of the trial with the fewest steps."""
        return int(self.rows[0])


def near_optimal(steps: Floats, within: float = WITHIN) -> NearOptimal | None:
    """{i: S_i <= (1 + within) S*}, ties to the lower row; None if no trial reached the target (METHODS 4).

    steps: to the target by trial, inf where never reached. A single best trial jumps from batch size to batch size;
    the set shows how much. Raises ValueError for a negative or infinite `within`.
    """
    if not 0 <= within < np.inf:
        raise ValueError(f"within={within} has to be a finite number, 0 or more")
    ordered = np.argsort(steps, kind="stable")
    ordered = ordered[np.isfinite(steps[ordered])]
    if not len(ordered):
        return None
    fewest = float(steps[ordered[0]])
    return NearOptimal(ordered[steps[ordered] <= (1 + within) * fewest], fewest)
