"""Steps to target by batch size, as the fits take them: checked, in logarithms, never-reached studies marked.

Beside them their shape, point by point: slopes, efficiencies, and batch sizes tuned worse than others; and medians of
steps of which some may be infinite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from losslake_schema.reached import Flags, Floats


@dataclass(frozen=True)
class LogCurves:
    """Curves of log steps over the same batch sizes.

    log_batch_size: (m,). log_steps: (n, m); of a never-reached study the log of the step it ran to; 0 where absent.
    is_reached, is_censored: (n, m); a study that is neither is absent from its curve.
    """

    log_batch_size: Floats
    log_steps: Floats
    is_reached: Flags
    is_censored: Flags

    def of(self, fits: npt.NDArray[np.intp]) -> LogCurves:
        """These curves only."""
        return LogCurves(self.log_batch_size, self.log_steps[fits], self.is_reached[fits], self.is_censored[fits])

    def without_censored(self) -> LogCurves:
        """The same curves without their never-reached studies."""
        return LogCurves(self.log_batch_size, self.log_steps, self.is_reached, np.zeros_like(self.is_censored))


def checked_batch_sizes(batch_sizes: npt.ArrayLike) -> Floats:
    """Batch sizes as float64; raises ValueError unless they are finite, above 0 and strictly ascending."""
    sizes = np.asarray(batch_sizes, np.float64)
    if sizes.ndim != 1 or not (np.isfinite(sizes) & (sizes > 0)).all() or (np.diff(sizes) <= 0).any():
        raise ValueError("batch_sizes: give finite numbers above 0, ascending, each once")
    return sizes


def checked_steps(steps: npt.ArrayLike, n_batch_sizes: int) -> Floats:
    """Steps as float64, one column per batch size; raises ValueError for another shape, or a step of 0 or less.

    inf is a study that never reached its target, NaN one that is absent.
    """
    counts = np.asarray(steps, np.float64)
    if counts.ndim == 0 or counts.shape[-1] != n_batch_sizes:
        raise ValueError(f"steps: give one for each of the {n_batch_sizes} batch sizes, not shape {counts.shape}")
    if (counts <= 0).any():
        raise ValueError("steps: give steps above 0 (inf: never reached, NaN: no study); 0 has no logarithm")
    return counts


def log_curves(batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, censored_at: npt.ArrayLike | None = None) -> LogCurves:
    """Take logarithms of curves of steps.

    batch_sizes: (m,) ascending. steps: (m,) or (n, m); inf: never reached, NaN: absent. censored_at: (m,) or (n, m),
    the step up to which a never-reached study was run; where it isn't finite and above 0 (or None: everywhere) such
    a study is absent. Raises ValueError.
    """
    sizes = checked_batch_sizes(batch_sizes)
    counts = np.atleast_2d(checked_steps(steps, len(sizes)))
    is_reached = np.isfinite(counts)
    limits = np.broadcast_to(np.asarray(np.nan if censored_at is None else censored_at, np.float64), counts.shape)
    is_censored = np.isposinf(counts) & np.isfinite(limits) & (limits > 0)
    known = np.where(is_reached, counts, np.where(is_censored, limits, 1.0))
    return LogCurves(np.log(sizes), np.log(known), is_reached, is_censored)


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


def median_of(values: Floats, counts: npt.ArrayLike) -> Floats:
    """Medians along the last axis of its first `counts` values; the values are sorted, those left out last.

    Of an even number the mean of the two in the middle, so inf if either is; halves are added, for sums may overflow.
    """
    numbers, most = np.asarray(counts), values.shape[-1] - 1
    low = np.clip((numbers - 1) // 2, 0, most).astype(np.intp)
    high = np.clip(numbers // 2, 0, most).astype(np.intp)
    middle: Floats = (
        0.5 * np.take_along_axis(values, low[..., None], -1) + 0.5 * np.take_along_axis(values, high[..., None], -1)
    )[..., 0]
    return middle
