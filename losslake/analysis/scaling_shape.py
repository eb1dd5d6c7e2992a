"""The shape of steps over batch size, point by point: slopes, efficiencies, and batch sizes tuned worse than others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from losslake.analysis.log_curves import checked_batch_sizes, checked_steps
from losslake_schema.reached import Flags, Floats

UNDERTUNED_TAU = 0.05


@dataclass(frozen=True)
class ScalingShape:
    """By batch size, each array of shape (m,); NaN where the target wasn't reached, or there is nothing to compare.

    slope: -dlog S / dlog B to the next larger batch size with a result; 1 is perfect scaling, 0 no gain (METHODS 2.1).
    efficiency: min E / E, E = B S, of examples. isotonic_steps: the steps closest in log S (least squares) that never
    rise with B. is_undertuned: needs more than 1 + tau times the steps of a smaller batch size, which nothing but
    tuning or noise explains.
    """

    slope: Floats
    efficiency: Floats
    isotonic_steps: Floats
    is_undertuned: Flags


def scaling_shape(batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, tau: float = UNDERTUNED_TAU) -> ScalingShape:
    """The shape of one curve.

    batch_sizes: (m,) ascending, above 0. steps: (m,), inf: never reached, NaN: no study. Raises ValueError.
    The isotonic steps come from pooling adjacent violators (METHODS 2.3; Barlow et al. 1972).
    """
    sizes = checked_batch_sizes(batch_sizes)
    counts = checked_steps(steps, len(sizes))
    if counts.ndim != 1:
        raise ValueError(f"steps: give those of one curve, not shape {counts.shape}")
    reached = np.isfinite(counts)
    slope, efficiency, isotonic = np.full((3, len(sizes)), np.nan)
    undertuned = np.zeros(len(sizes), np.bool_)
    if reached.any():
        log_b, log_s = np.log(sizes[reached]), np.log(counts[reached])
        slope[np.flatnonzero(reached)[:-1]] = (log_s[:-1] - log_s[1:]) / np.diff(log_b)
        log_e = log_b + log_s
        efficiency[reached] = np.exp(log_e.min() - log_e)
        isotonic[reached] = np.exp(scipy.optimize.isotonic_regression(log_s, increasing=False).x)
        # Not in logarithms, where rounding would decide about steps that are just 1 + tau times as many.
        undertuned[reached] = counts[reached] > (1 + tau) * np.minimum.accumulate(counts[reached])
    return ScalingShape(slope, efficiency, isotonic, undertuned)
