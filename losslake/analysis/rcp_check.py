"""MLPerf's convergence check: does a submission converge no faster than the reference?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from losslake.analysis.rcp import ReferencePoint, Rules, interpolated, olympic_mean
from losslake_schema.reached import Floats

Ground = Literal["found", "interpolated", "smallest", "missing", "no_reference", "not_converged", "unusable"]


@dataclass(frozen=True)
class Verdict:
    """What the check says of a submission.

    passes: None where the reference can't tell, because no mean would be too low for it.
    ground: what it was compared with: the point of its batch size (found), one interpolated, or that of the smallest
    batch size, being below all; or why it wasn't: its batch size is above all (missing), there are no points, too many
    runs didn't converge, or the runs can't be averaged (unusable: where `check` would raise).
    score_factor: max(1, mean of the reference / mean of the submission), which normalizes the score of one that passes.
    explanation: the same in words.
    """

    passes: bool | None
    ground: Ground
    explanation: str
    point: ReferencePoint | None = None
    mean: float | None = None
    score_factor: float | None = None


def check(points: Sequence[ReferencePoint], batch_size: float, runs: Floats, rules: Rules) -> Verdict:
    """Compare the runs of a submission with the points, which are by ascending batch size, pruned or not.

    runs: epochs or samples to convergence, as in the reference; infinite for a run that didn't converge. Of those as
    many are tolerated as rules say; the olympic mean leaves the slowest out, and where it can't, the mean is infinite.
    Raises ValueError for runs that are NaN or not above 0, and for too few of them. Source: METHODS 5.2.
    """
    if np.isnan(runs).any() or (runs <= 0).any():
        raise ValueError("the runs of the submission have to be above 0; infinite where one didn't converge")
    mean = olympic_mean(runs, rules.trimmed)
    failed = int(np.isinf(runs).sum())
    if failed > rules.tolerated_failures:
        tolerated = rules.tolerated_failures
        return Verdict(False, "not_converged", f"{failed} runs did not converge: {tolerated} may fail")
    if not points:
        return Verdict(None, "no_reference", "the reference has no points to compare with")
    found = point_at(points, batch_size, rules)
    if found is None:
        largest = points[-1].batch_size
        reason = f"batch size {batch_size:.15g} is above all of the reference, whose largest is {largest:.15g}"
        return Verdict(False, "missing", f"{reason}: a reference for it is missing")
    point, ground = found
    return _compared(point, ground, batch_size, mean)


def point_at(
    points: Sequence[ReferencePoint], batch_size: float, rules: Rules
) -> tuple[ReferencePoint, Literal["found", "interpolated", "smallest"]] | None:
    """What a submission of this batch size is compared with; None if it is above all of the points.

    points: one or more, by ascending batch size.
    """
    for low, high in pairwise(points):
        if low.batch_size < batch_size < high.batch_size:
            return interpolated(low, high, batch_size, rules), "interpolated"
    for point in points:
        if point.batch_size == batch_size:
            return point, "found"
    return (points[0], "smallest") if batch_size < points[0].batch_size else None


def _compared(point: ReferencePoint, ground: Ground, batch_size: float, mean: float) -> Verdict:
    factor = max(1.0, point.mean / mean)
    place = {
        "found": f"the reference's {point.mean:.6g}",
        "interpolated": f"the reference's {point.mean:.6g}, interpolated",
        "smallest": f"{point.mean:.6g} at {point.batch_size:.15g}, the reference's smallest batch size",
    }[ground]
    told = f"at batch size {batch_size:.15g} the submission's mean is {mean:.6g}, to be compared with {place}"
    if point.least_mean is None and mean < point.mean:
        why = "but the reference's runs are so far apart that no mean would be refused: this checks nothing"
        return Verdict(None, ground, f"{told}; {why}", point, mean)
    if point.least_mean is not None and mean < point.least_mean:
        why = f"faster than {point.least_mean:.6g}, the least that is accepted"
        if ground == "smallest":
            why += "; a reference for its own batch size is missing"
        return Verdict(False, ground, f"{told}; {why}", point, mean)
    slower = "not faster" if factor == 1 else f"faster, but accepted with its score normalized by {factor:.6g}"
    return Verdict(True, ground, f"{told}; {slower}", point, mean, factor)
