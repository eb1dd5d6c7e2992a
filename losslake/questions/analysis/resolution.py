"""What evaluations leave open in a comparison: orders within their distance, and training that stopped too soon."""

from __future__ import annotations

import numpy as np

from losslake.questions.analysis.contest import Contest
from losslake.questions.analysis.scaling_curve import ScalingCurve


def is_unresolved(
    found: Contest, curves: tuple[ScalingCurve, ScalingCurve], pair: tuple[int, int], column: int
) -> bool:
    """Whether two competitors differ in a column, but by no more than the distance of two evaluations.

    curves: of the two. pair: their places in the contest.
    """
    ours, theirs = found.medians[list(pair), column].tolist()
    if not (np.isfinite(ours) and np.isfinite(theirs)):
        return False
    distance = max(_distance(curve, found.places[column][1]) for curve in curves)
    return bool(0 < abs(ours - theirs) <= distance)


def ended_sooner(found: Contest, curve: ScalingCurve, index: int, column: int, needed: float) -> int | None:
    """The last step of a competitor that didn't reach the target and was stopped before so many steps; None if not."""
    if not np.isposinf(found.medians[index, column]):
        return None
    ran = int(curve.censored_at[np.searchsorted(curve.batch_sizes, found.places[column][1])])
    return ran if 0 <= ran < needed < np.inf else None


def _distance(curve: ScalingCurve, batch_size: int) -> float:
    """Between the evaluation at which the best trial of a study reached the target and the one before."""
    study = int(np.searchsorted(curve.batch_sizes, batch_size))
    distance = float(curve.steps[study] - curve.previous_steps[study])
    return distance if np.isfinite(distance) else 0.0
