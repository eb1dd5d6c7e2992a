"""Seconds per step by batch size, from a few measured ones."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from losslake_schema.reached import Flags, Floats

FURTHEST = 2.0
"""Times are extrapolated up to this factor beyond the known batch sizes."""


def seconds_per_step(times: Mapping[float, float], batch_sizes: npt.ArrayLike) -> tuple[Floats, Flags]:
    """Return seconds per step at batch sizes, NaN where they aren't known, and which of them are extrapolated.

    times: seconds by batch size. Between two of them, the time is linear in the batch size: a part that every step
    takes, and a part for each example. Up to twice as far outside, the line through the two nearest ones goes on, but
    never below a constant time or above one in proportion to the batch size (for smaller ones: the reverse), since a
    line through noisy times would. With one known batch size, the time is known there only.
    Raises ValueError without any, and for batch sizes or seconds that aren't above 0 and finite.
    """
    if not times:
        raise ValueError("give the seconds per step at a batch size")
    sizes = np.array(sorted(times), np.float64)
    seconds = np.array([times[size] for size in sorted(times)], np.float64)
    if not (np.isfinite(sizes) & np.isfinite(seconds) & (sizes > 0) & (seconds > 0)).all():
        raise ValueError("batch sizes and seconds per step have to be above 0 and finite")
    wanted = np.asarray(batch_sizes, np.float64)
    is_outside = (wanted < sizes[0]) | (wanted > sizes[-1])
    if len(sizes) == 1:
        return np.where(is_outside, np.nan, seconds[0]), is_outside & False
    segment = np.clip(np.searchsorted(sizes, wanted, side="right") - 1, 0, len(sizes) - 2)
    slope = np.diff(seconds)[segment] / np.diff(sizes)[segment]
    line = seconds[segment] + slope * (wanted - sizes[segment])
    end = np.where(wanted < sizes[0], 0, len(sizes) - 1)
    flat, proportional = seconds[end], seconds[end] * wanted / sizes[end]
    bounded = np.clip(line, np.minimum(flat, proportional), np.maximum(flat, proportional))
    is_near = (wanted >= sizes[0] / FURTHEST) & (wanted <= sizes[-1] * FURTHEST)
    return np.where(is_outside, np.where(is_near, bounded, np.nan), line), is_outside & is_near


def falling(times: Mapping[float, float]) -> list[tuple[float, float]]:
    """Return the pairs of successive batch sizes of which the larger one has the shorter step."""
    return [(one, other) for one, other in pairwise(sorted(times)) if times[other] < times[one]]
