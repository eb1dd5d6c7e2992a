"""Effective learning rate: what momentum makes of a learning rate."""

from __future__ import annotations

import numpy as np

from losslake_schema.reached import Floats


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
