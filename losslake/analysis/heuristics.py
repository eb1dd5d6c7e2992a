"""Heuristics that scale a learning rate with the batch size, and the cost of following them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake.analysis.log_curves import median_of
from losslake.analysis.tuned_study import TunedStudy, nearest_trials, places

HEURISTICS = {"linear": 1.0, "square-root": 0.5}
NEAREST = 5
FARTHEST_DECADES = 0.25


@dataclass(frozen=True)
class Regret:
    """The cost of metaparameters relative to the best trial of a study.

    regret: median of S_near/S*, 1 for no cost; None if the study never reached the target, if no trial is near enough,
    or if at least half of the nearest never reach the target. decades: distance to the nearest trial; None without
    trials. n_nearest: trials compared. n_reached: those of them that reach the target.
    """

    regret: float | None
    decades: float | None
    n_nearest: int
    n_reached: int


@dataclass(frozen=True)
class Origin:
    """The best trial of one batch size, from which a heuristic extrapolates."""

    batch_size: float
    learning_rate: float
    momentum: float


@dataclass(frozen=True)
class Prediction:
    """The learning rate that a heuristic predicts for a study, and its regret; momentum is that of the origin."""

    learning_rate: float
    regret: Regret


def prediction(study: TunedStudy, origin: Origin, exponent: float) -> Prediction | None:
    """Return the prediction of the heuristic eta ~ B^exponent; None if the metaparameters have no finite logarithm."""
    learning_rate = scaled_learning_rate(origin.learning_rate, origin.batch_size, study.batch_size, exponent)
    if np.isnan(places(np.array([learning_rate]), np.array([origin.momentum]))).any():
        return None
    return Prediction(learning_rate, regret(study, learning_rate, origin.momentum))


def scaled_learning_rate(learning_rate: float, from_batch_size: float, batch_size: float, exponent: float) -> float:
    """Return learning_rate * (batch_size / from_batch_size)^exponent; exponent 1: linear, 0.5: square-root.

    Raises ValueError for a batch size of 0. Source: Shallue et al. 2019, section 5.2 (METHODS 1.1).
    """
    if not (from_batch_size > 0 and batch_size > 0):
        raise ValueError(f"batch sizes have to be above 0, not {from_batch_size:g} and {batch_size:g}")
    return float(learning_rate * (batch_size / from_batch_size) ** exponent)


def regret(study: TunedStudy, learning_rate: float, momentum: float, k: int = NEAREST) -> Regret:
    """Return the regret of metaparameters in a study, estimated from the k nearest trials.

    Nearest by `nearest_trials`, in standardized log space of learning rate and 1 - momentum. A trial that never reaches
    the target, or diverges, counts as infinitely many steps. The regret is None if the nearest trial is farther than
    0.25 decades. Raises ValueError for a learning rate of 0 or less and a momentum of 1 or more.
    Source: LossLake's definition (METHODS 4).
    """
    at = places(np.array([learning_rate]), np.array([momentum]))
    if np.isnan(at).any():
        raise ValueError(f"learning_rate={learning_rate} and momentum={momentum} have no finite logarithm")
    nearest = nearest_trials(study.places, at, k)
    if not nearest.rows.size:
        return Regret(None, None, 0, 0)
    steps, decades = study.steps[nearest.rows[0]], float(nearest.decades.min())
    fewest, middle = float(study.steps.min()), float(median_of(np.sort(steps), len(steps)))
    is_known = decades <= FARTHEST_DECADES and np.isfinite(middle) and fewest > 0
    n_reached = int(np.isfinite(steps).sum())
    return Regret(float(middle / fewest) if is_known else None, decades, len(steps), n_reached)
