"""Thinning curves for plots: M4 in each pixel column, together with every record, so that no target crossing moves.

Source: METHODS 6.2; Jugel et al. 2014, "M4: A Visualization-Oriented Time Series Data Aggregation". Answers are never
computed from thinned curves.
"""

from __future__ import annotations

import numpy as np

from losslake_schema.reached import Flags, Floats, Integers

ROWS_IN_A_COLUMN = 4


def kept_for_plot(
    trial_id: Integers, step: Integers, value: Floats, signs: tuple[float, ...], points: int, is_log: bool
) -> Flags:
    """Which evaluations of one metric to keep: about `points` a trial, and its records.

    The steps from the first to the last of all trials are cut into points / 4 columns, evenly in step or in its
    logarithm. In each column a trial keeps its first, last, least and greatest finite value, and its first that is
    not finite. trial_id, step: ascending. signs: 1 for the records of minimizing, -1 for those of maximizing.
    """
    if not len(step):
        return np.zeros(0, np.bool_)
    position = np.log(np.maximum(step, 1).astype(np.float64)) if is_log else step.astype(np.float64)
    width = float(position.max() - position.min())
    n_columns = max(points // ROWS_IN_A_COLUMN, 1)
    column = (
        ((position - position.min()) / width * n_columns).astype(np.int64) if width else np.zeros(len(step), np.int64)
    )
    column = np.minimum(column, n_columns - 1)
    kept = np.zeros(len(step), np.bool_)
    starts = np.flatnonzero(np.r_[True, (np.diff(trial_id) != 0) | (np.diff(column) != 0)])
    is_finite = np.isfinite(value)
    kept[starts] = kept[np.r_[starts[1:], len(step)] - 1] = True
    kept |= _first_in_group(starts, ~is_finite)
    for sign in (1.0, -1.0):
        loss = np.where(is_finite, value * sign, np.inf)
        least = np.repeat(np.minimum.reduceat(loss, starts), np.diff(np.r_[starts, len(step)]))
        kept |= _first_in_group(starts, is_finite & (loss == least))
    for sign in signs:
        kept |= records(trial_id, value, sign)
    return kept


def records(trial_id: Integers, value: Floats, sign: float) -> Flags:
    """Which values are strictly better than every earlier one of their trial; NaN and infinities never are."""
    found = np.zeros(len(value), np.bool_)
    loss = np.where(np.isfinite(value), value * sign, np.inf)
    starts = np.flatnonzero(np.r_[True, np.diff(trial_id) != 0]) if len(value) else np.zeros(0, np.int64)
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(value)], strict=False):
        before = np.r_[np.inf, np.minimum.accumulate(loss[start:end])[:-1]]
        found[start:end] = loss[start:end] < before
    return found


def every_so_many(trial_id: Integers, count: int) -> Flags:
    """Of each trial the first row, and each that follows after so many."""
    starts = np.flatnonzero(np.r_[True, np.diff(trial_id) != 0]) if len(trial_id) else np.zeros(0, np.int64)
    lengths = np.diff(np.r_[starts, len(trial_id)])
    within = np.arange(len(trial_id)) - np.repeat(starts, lengths)
    return np.asarray(within % count == 0)


def _first_in_group(starts: Integers, flags: Flags) -> Flags:
    """The first flag that is set in each group of rows."""
    group = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(flags)]))
    rows = np.flatnonzero(flags)
    _, first = np.unique(group[rows], return_index=True)
    found = np.zeros(len(flags), np.bool_)
    found[rows[first]] = True
    return found
