"""Records: the measurements strictly better than every earlier one of the same trial and metric.

The first step that reaches any target is a record, so steps to target over records equals steps to target over
measurements (METHODS 6.1; the property is tested).
"""

from __future__ import annotations

import numpy as np

from losslake_schema.reached import Flags, Floats, Integers


def record_rows(values: Floats, offsets: Integers, direction: str) -> Flags:
    """Which rows are records.

    Args:
        values: one metric of some trials, one after the other, by ascending step; NaN and infinities are never records.
        offsets: n_trials + 1 row numbers; trial i has rows offsets[i]:offsets[i+1].
        direction: minimize or maximize.
    """
    candidates = values if direction == "minimize" else -values
    is_finite = np.isfinite(candidates)
    if not is_finite.all():
        candidates = np.where(is_finite, candidates, np.inf)
    best_before = np.empty_like(candidates)
    starts = offsets[:-1][np.diff(offsets) > 0]
    best_before[starts] = np.inf
    for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        if stop - start > 1:
            np.minimum.accumulate(candidates[start : stop - 1], out=best_before[start + 1 : stop])
    return candidates < best_before


def intervals_of(steps: Integers, offsets: Integers) -> tuple[Integers, Flags]:
    """The steps since the row before in the same trial, and the rows that have none (there the number is 0)."""
    intervals = np.zeros_like(steps)
    np.subtract(steps[1:], steps[:-1], out=intervals[1:])
    first = np.zeros(len(steps), np.bool_)
    first[offsets[:-1][np.diff(offsets) > 0]] = True
    intervals[first] = 0
    return intervals, first
