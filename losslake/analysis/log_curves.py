"""Steps to target by batch size as input of the fits: validated, in logarithms, with never-reached studies marked.

Also the shape of a curve point by point (slopes, efficiencies), and medians of steps of which some are infinite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from losslake_schema.reached import Flags, Floats, Integers


@dataclass(frozen=True)
class LogCurves:
    """The curves of log steps over the same batch sizes.

    log_batch_size: (m,). log_steps: (n, m); for a never-reached study the log of the step it ran to; 0 where absent.
    is_reached, is_censored: (n, m); a study that is neither is absent from its curve.
    """

    log_batch_size: Floats
    log_steps: Floats
    is_reached: Flags
    is_censored: Flags

    def of(self, fits: npt.NDArray[np.intp]) -> LogCurves:
        """Return the curves at these indices."""
        return LogCurves(self.log_batch_size, self.log_steps[fits], self.is_reached[fits], self.is_censored[fits])

    def without_censored(self) -> LogCurves:
        """Return the curves without their never-reached studies."""
        return LogCurves(self.log_batch_size, self.log_steps, self.is_reached, np.zeros_like(self.is_censored))


def checked_batch_sizes(batch_sizes: npt.ArrayLike) -> Floats:
    """Return batch sizes as float64. Raises ValueError unless they are finite, above 0 and strictly ascending."""
    sizes = np.asarray(batch_sizes, np.float64)
    if sizes.ndim != 1 or not (np.isfinite(sizes) & (sizes > 0)).all() or (np.diff(sizes) <= 0).any():
        raise ValueError("batch_sizes: give finite numbers above 0, ascending, each once")
    return sizes


def checked_curves(batch_sizes: npt.ArrayLike, steps: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return batch sizes, (m,), and steps, (n, m), as float64; inf: never reached, NaN: absent.

    steps: (n, m), or (m,) for one curve. Raises ValueError for batch sizes that don't ascend, other shapes, and steps
    of 0 or less.
    """
    sizes, counts = checked_batch_sizes(batch_sizes), np.asarray(steps, np.float64)
    if counts.ndim == 0 or counts.shape[-1] != len(sizes):
        raise ValueError(f"steps: give one for each of the {len(sizes)} batch sizes, not shape {counts.shape}")
    if (counts <= 0).any():
        raise ValueError("steps: give steps above 0 (inf: never reached, NaN: no study); 0 has no logarithm")
    return sizes, np.atleast_2d(counts)


def checked_curve(batch_sizes: npt.ArrayLike, steps: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the batch sizes and the steps of one curve, both (m,); with the errors of `checked_curves`."""
    sizes, counts = checked_curves(batch_sizes, steps)
    if np.ndim(steps) != 1:
        raise ValueError(f"steps: give those of one curve, not shape {np.shape(steps)}")
    return sizes, counts[0]


def log_curves(batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, censored_at: npt.ArrayLike | None = None) -> LogCurves:
    """Return the logarithms of curves of steps.

    batch_sizes: (m,), ascending. steps: (m,) or (n, m); inf: never reached, NaN: absent. censored_at: (m,) or (n, m),
    the step up to which a never-reached study ran; where it is missing or not above 0, that study is absent.
    Raises ValueError for batch sizes that don't ascend and steps of 0 or less.
    """
    sizes, counts = checked_curves(batch_sizes, steps)
    is_reached = np.isfinite(counts)
    limits = np.broadcast_to(np.asarray(np.nan if censored_at is None else censored_at, np.float64), counts.shape)
    is_censored = np.isposinf(counts) & np.isfinite(limits) & (limits > 0)
    until = np.where(is_reached, counts, np.where(is_censored, limits, 1.0))
    return LogCurves(np.log(sizes), np.log(until), is_reached, is_censored)


@dataclass(frozen=True)
class ScalingShape:
    """The shape of a curve by batch size, arrays of shape (m,); NaN where the target wasn't reached or undefined.

    slope: -dlog S / dlog B to the next larger batch size with a result; 1 is perfect scaling, 0 no gain (METHODS 2.1).
    efficiency: min E / E with E = B S examples. isotonic_steps: the non-increasing steps closest in log S (least
    squares).
    """

    slope: Floats
    efficiency: Floats
    isotonic_steps: Floats


def scaling_shape(batch_sizes: npt.ArrayLike, steps: npt.ArrayLike) -> ScalingShape:
    """Return the shape of one curve.

    batch_sizes: (m,), ascending, above 0. steps: (m,); inf: never reached, NaN: no study. Raises ValueError for other
    shapes, batch sizes that don't ascend and steps of 0 or less.
    Source: pooling of adjacent violators, Barlow et al. 1972 (METHODS 2.3).
    """
    sizes, counts = checked_curve(batch_sizes, steps)
    reached = np.isfinite(counts)
    slope, efficiency, isotonic = np.full((3, len(sizes)), np.nan)
    if reached.any():
        log_b, log_s = np.log(sizes[reached]), np.log(counts[reached])
        slope[np.flatnonzero(reached)[:-1]] = (log_s[:-1] - log_s[1:]) / np.diff(log_b)
        log_e = log_b + log_s
        efficiency[reached] = np.exp(log_e.min() - log_e)
        import scipy  # here, since the most frequent question doesn't need it

        isotonic[reached] = np.exp(scipy.optimize.isotonic_regression(log_s, increasing=False).x)
    return ScalingShape(slope, efficiency, isotonic)


def median_of(values: Floats, counts: npt.ArrayLike) -> Floats:
    """Return the medians of the first `counts` values along the last axis, which is sorted.

    For an even count the mean of the two middle values, so inf if either is inf; halves are added to avoid overflow.
    """
    numbers, most = np.asarray(counts), values.shape[-1] - 1
    low = np.clip((numbers - 1) // 2, 0, most).astype(np.intp)
    high = np.clip(numbers // 2, 0, most).astype(np.intp)
    middle: Floats = 0.5 * at_places(values, low) + 0.5 * at_places(values, high)
    return middle


def at_places(values: Floats, places: Integers) -> Floats:
    """Return the value at a place along the last axis, as np.take_along_axis does, in a fraction of its time.

    values: (..., m). places: (...).
    """
    starts = np.arange(places.size).reshape(places.shape) * values.shape[-1]
    taken: Floats = np.take(values, starts + places)
    return taken
