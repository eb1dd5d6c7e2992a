"""Schedules of learning rates: which trials reached the end of theirs, and where in it a step lies."""

from __future__ import annotations

from typing import Literal

import numpy as np

from losslake.index.records import Trials
from losslake_schema.reached import NEVER, Flags, Integers

Phase = Literal["before_decay", "decay", "finished"]
# By the codes of `phases`.
_PHASES: tuple[Phase | None, ...] = (None, "before_decay", "decay", "finished")


def is_finished(trials: Trials) -> Flags:
    """Return by trial True if it was evaluated at the end of its schedule or later; False where the end is unknown."""
    finished: Flags = (trials.schedule_end != NEVER) & (trials.last_step >= trials.schedule_end)
    return finished


def phases(trials: Trials, rows: Integers, steps: Integers) -> list[Phase | None] | None:
    """Return the phases of the schedules of trials after so many steps; None if no schedule is known.

    rows: of trials, NEVER for none, which has no phase. Up to decay_start it is before_decay, from schedule_end on
    finished, and decay between them, or beyond a start without a known end. Without a known start, only an end is.
    """
    if not len(trials.trial_id):
        return None
    start, end = (np.where(rows == NEVER, NEVER, each[rows]) for each in (trials.decay_start, trials.schedule_end))
    has_start, has_end = start != NEVER, end != NEVER
    if not (has_start.any() or has_end.any()):
        return None
    codes = np.where(has_start, np.where(steps <= start, 1, 2), 0)
    codes = np.where(has_end & (steps >= end), 3, codes)
    return [_PHASES[code] for code in codes.tolist()]
