"""Values that would compress a chart: of trials that diverge, and of models before their first step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from losslake_schema.reached import Floats, Integers

_ROOM_FOR_POINTS, _ROOM_FOR_CURVES = 3.0, 1.0
_LEAST_GAIN = 2.0


def within_reason(values: Floats) -> Floats:
    """Return the values without outliers, such as those of diverging trials, which would compress the rest."""
    if not len(values):
        return values
    low, high = np.quantile(values, [0.02, 0.98])
    room = _ROOM_FOR_POINTS * (high - low)
    within: Floats = values[(low - room <= values) & (values <= high + room)]
    return within


def largest_usual(losses: Floats, steps: Integers | Floats, starts: Sequence[int] | Integers) -> float:
    """Return the largest loss that an axis has to reach, for curves to be told apart; infinity for all of them.

    losses, steps: of all curves, one after another; the less, the better. starts: the index of each curve's first
    value. Above it are losses farther above the usual curve's highest, step 0 aside, than the best is below, if the
    others then have more than twice the room.
    """
    finite = losses[np.isfinite(losses)]
    trained = np.where(np.isfinite(losses) & (steps > 0), losses, -np.inf)
    highest = np.maximum.reduceat(trained, starts) if len(starts) else trained
    highest = highest[np.isfinite(highest)]
    if not len(highest):
        return np.inf
    best, usual = finite.min(), np.median(highest)
    within = finite[finite <= usual + _ROOM_FOR_CURVES * (usual - best)]
    is_worth_it = finite.max() - best > _LEAST_GAIN * (within.max() - best) > 0
    return float(within.max()) if is_worth_it else np.inf
