"""Seconds per step by batch size, from a few measured ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from losslake_schema.reached import Flags, Floats


def seconds_per_step(known: Mapping[float, float], batch_sizes: npt.ArrayLike) -> tuple[Floats, Flags]:
    """Return seconds per step at batch sizes, and which of them are extrapolated.

    known: seconds by batch size, two or more. Between two of them, the time is linear in the batch size: a part that
    every step takes, and a part for each example. Outside, the line through the two nearest ones goes on; NaN where
    that is not above 0. With one known batch size, the time is known there only, NaN elsewhere.
    Raises ValueError without any, and for batch sizes or seconds that aren't above 0 and finite.
    """
    if not known:
        raise ValueError("give the seconds per step at a batch size")
    sizes = np.array(sorted(known), np.float64)
    seconds = np.array([known[size] for size in sorted(known)], np.float64)
    if not (np.isfinite(sizes) & np.isfinite(seconds) & (sizes > 0) & (seconds > 0)).all():
        raise ValueError("batch sizes and seconds per step have to be above 0 and finite")
    wanted = np.asarray(batch_sizes, np.float64)
    is_outside = (wanted < sizes[0]) | (wanted > sizes[-1])
    if len(sizes) == 1:
        return np.where(is_outside, np.nan, seconds[0]), is_outside & False
    segment = np.clip(np.searchsorted(sizes, wanted, side="right") - 1, 0, len(sizes) - 2)
    slope = np.diff(seconds)[segment] / np.diff(sizes)[segment]
    times = seconds[segment] + slope * (wanted - sizes[segment])
    return np.where(times > 0, times, np.nan), is_outside
