"""Records: the measurements strictly better than every earlier one of the same trial and metric.

The first step that reaches any target is a record, so steps to target over records equals steps to target over
measurements (METHODS 6.1; the property is tested).
"""

from __future__ import annotations

import numpy as np

from ingest.study import Flags, Floats, Integers


def record_rows(values: Floats, offsets: Integers, direction: str) -> Flags:
    """Which rows are records.

    Args:
        values: one metric of some trials, one after the other, by ascending step; NaN and infinities are never records.
        offsets: n_trials + 1 row numbers; trial i has rows offsets[i]:offsets[i+1].
        direction: minimize or maximize.
    """
    better_is_less = values if direction == "minimize" else -values
    candidates = np.where(np.isfinite(better_is_less), better_is_less, np.inf)
    best_before = np.empty_like(candidates)
    starts = offsets[:-1][np.diff(offsets) > 0]
    best_before[starts] = np.inf
    for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        if stop - start > 1:
            np.minimum.accumulate(candidates[start : stop - 1], out=best_before[start + 1 : stop])
    return candidates < best_before


def previous_steps(steps: Integers, offsets: Integers) -> tuple[Integers, Flags]:
    """The step of the row before in the same trial, and the rows that have none (there the number means nothing)."""
    previous = np.empty_like(steps)
    previous[1:] = steps[:-1]
    first = np.zeros(len(steps), np.bool_)
    first[offsets[:-1][np.diff(offsets) > 0]] = True
    previous[first] = 0
    return previous, first
