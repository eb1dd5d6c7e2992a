"""MLPerf's reference convergence points (RCP): the epochs or samples the reference needs to converge, by batch size.

The check compares the mean of a submission's runs with the point of its batch size: a mean below the least acceptable
one is suspiciously fast.
Source: mlcommons/logging, rcp_checker (METHODS 5.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Literal

import numpy as np
import scipy

from losslake_schema.reached import Floats

Origin = Literal["measured", "interpolated"]
Ground = Literal["found", "interpolated", "smallest", "missing", "no_reference", "not_converged", "unusable"]
OUTLYING = 3.0
_NAMED = 3
TOO_LARGE = 1e100
# Sums of decimals with so many digits are exact.
_EXACT_DIGITS = 200


@dataclass(frozen=True)
class Rules:
    """The rules of one benchmark.

    submission_runs: runs of a submission; a reference has about twice as many.
    trimmed: runs that the olympic mean omits at each end; 4 for unet3d.
    tolerated_failures: runs of a submission that may fail to converge, at most `trimmed`; 4 for unet3d.
    significance: level of the one-sided t-test.
    allowance: amount by which the least acceptable mean is lowered, in the unit of the runs; 46,080 for llama31_405b.
    Raises ValueError for values out of range.
    """

    submission_runs: int
    trimmed: int = 1
    tolerated_failures: int = 1
    significance: float = 0.05
    allowance: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.tolerated_failures <= self.trimmed:
            raise ValueError("tolerated_failures has to be from 0 to trimmed: the olympic mean omits no more runs")
        if self.submission_runs <= max(2, 2 * self.trimmed):
            least = max(2, 2 * self.trimmed) + 1
            raise ValueError(f"submission_runs={self.submission_runs} is too few to trim: give {least} or more")
        if not 0 < self.significance < 0.5:
            raise ValueError(f"significance={self.significance} is out of range: give a number above 0 and below 0.5")
        if not (math.isfinite(self.allowance) and self.allowance >= 0):
            raise ValueError(f"allowance={self.allowance} is out of range: give 0 or more")


@dataclass(frozen=True)
class ReferencePoint:
    """The reference at one batch size, in epochs or samples to convergence.

    mean: olympic. stdev: over all runs, with n in the denominator. n_compared: runs of the reference in the t-test.
    least_mean: the least acceptable mean of a submission; None if every mean is acceptable, so that nothing is checked.
    max_speedup: mean / least_mean; None likewise.
    """

    batch_size: float
    mean: float
    stdev: float
    n_compared: int
    least_mean: float | None
    max_speedup: float | None
    origin: Origin = "measured"


def olympic_mean(runs: Floats, trimmed: int = 1) -> float:
    """Return the mean of the runs without the `trimmed` least and greatest. Raises ValueError if none remain."""
    if len(runs) <= 2 * trimmed:
        raise ValueError(f"an olympic mean needs {2 * trimmed + 1} runs or more, and there are {len(runs)}")
    return float(np.mean(np.sort(runs)[trimmed : len(runs) - trimmed]))


def exact_olympic_mean(values: Sequence[Decimal], n_without: int, trimmed: int = 1) -> Fraction | None:
    """Return the same mean exactly, over values and `n_without` greater ones that aren't known; None if it needs those.

    values: of at most 40 digits.

    MLPerf scores so: a run that missed the target is the slowest, and left out. Source: mlcommons/logging,
    result_summarizer, _compute_olympic_average.
    """
    remaining = sorted(values)[trimmed : len(values) + n_without - trimmed]
    if not remaining or n_without > trimmed:
        return None
    with localcontext(prec=_EXACT_DIGITS):
        return Fraction(sum(remaining, Decimal())) / len(remaining)


def least_acceptable_mean(mean: float, stdev: float, n_reference: int, rules: Rules) -> float | None:
    """Return the mean below which a one-sided t-test rejects a submission; None if it isn't above 0.

    mean - t(1 - significance; n + m - 2) * stdev * sqrt(1/n + 1/m) - allowance, with n = n_reference and
    m = submission_runs - 2; variances are pooled, both with this standard deviation. Raises ValueError for n < 1 and
    without degrees of freedom. Source: mlcommons/logging, rcp_checker, which finds the same value by bisection.
    """
    n_submission = rules.submission_runs - 2
    freedom = n_reference + n_submission - 2
    if n_reference < 1 or freedom < 1:
        raise ValueError(
            f"{n_reference} runs of the reference and {n_submission} of the submission are too few for a t-test"
        )
    quantile = float(scipy.special.stdtrit(freedom, 1 - rules.significance))
    least = mean - quantile * stdev * math.sqrt(1 / n_reference + 1 / n_submission) - rules.allowance
    return least if least > 0 else None


def reference_point(batch_size: float, runs: Floats, rules: Rules) -> ReferencePoint:
    """Return the reference point of one batch size.

    runs: epochs or samples to convergence. Raises ValueError for too few runs, and unless all are above 0 and below
    1e100.
    """
    if not ((runs > 0) & (runs < TOO_LARGE)).all():
        raise ValueError(f"batch size {batch_size:.15g}: runs have to be above 0 and below {TOO_LARGE:g}")
    try:
        mean = olympic_mean(runs, rules.trimmed)
        return _point(batch_size, mean, float(np.std(runs)), len(runs) - 2 * rules.trimmed, rules, "measured")
    except ValueError as error:
        raise ValueError(f"batch size {batch_size:.15g}: {error}") from None


def outlying_runs(batch_size: float, runs: Floats) -> list[str]:
    """Return a warning about runs at least a factor OUTLYING from the median, often typing errors; at most one text.

    They hardly move the olympic mean, but the standard deviation is over all runs: one stray digit makes the check
    accept anything (METHODS 5.2). The text names those farthest from the median.
    """
    median = float(np.median(runs)) if len(runs) else 0.0
    if median <= 0:
        return []
    stray = np.unique(runs[(runs >= OUTLYING * median) | (runs * OUTLYING <= median)])
    if not len(stray):
        return []
    farthest = stray[np.argsort(-np.abs(np.log(stray / median)), kind="stable")][:_NAMED]
    named = ", ".join(f"{run:,.15g} ({run / median:.3g} times)" for run in farthest.tolist())
    others = f" and {len(stray) - _NAMED} more" if len(stray) > _NAMED else ""
    where = f"at batch size {batch_size:.15g} runs are far from the median of {median:,.15g}"
    why = "they hardly change the mean but raise the standard deviation, so check them for typing errors"
    return [f"{where}: {named}{others}; {why}"]


def interpolated(low: ReferencePoint, high: ReferencePoint, batch_size: float, rules: Rules) -> ReferencePoint:
    """Return the point between two others: mean and standard deviation are linear in the batch size.

    The t-test counts 2 * submission_runs. By the hyperbola of steps, examples are linear in the batch size.
    Raises ValueError for a batch size that isn't between the two.
    """
    if not low.batch_size < batch_size < high.batch_size:
        raise ValueError(
            f"batch size {batch_size:.15g} is not between {low.batch_size:.15g} and {high.batch_size:.15g}"
        )
    mean, stdev = _on_line(low, high, batch_size)
    return _point(batch_size, mean, stdev, 2 * rules.submission_runs, rules, "interpolated")


def pruned(points: Sequence[ReferencePoint]) -> list[ReferencePoint]:
    """Return the points that MLPerf compares with, by ascending batch size.

    Omitted are batch sizes below the one with the least mean (ties: the smallest), and then, in a single upward pass,
    each inner point above the line through its neighbours. A single pass does not give the lower hull.
    points: by ascending batch size.
    """
    if not points:
        return []
    start = min(range(len(points)), key=lambda index: (points[index].mean, index))
    kept = [points[start]]
    for here, after in pairwise(points[start + 1 :]):
        if here.mean <= _on_line(kept[-1], after, here.batch_size)[0]:
            kept.append(here)
    return kept + list(points[start + 1 :][-1:])


def _on_line(low: ReferencePoint, high: ReferencePoint, batch_size: float) -> tuple[float, float]:
    """Return the mean and the standard deviation between two points, linear in the batch size."""
    share = (batch_size - low.batch_size) / (high.batch_size - low.batch_size)
    return low.mean + share * (high.mean - low.mean), low.stdev + share * (high.stdev - low.stdev)


def _point(
    batch_size: float, mean: float, stdev: float, n_compared: int, rules: Rules, origin: Origin
) -> ReferencePoint:
    least = least_acceptable_mean(mean, stdev, n_compared, rules)
    speedup = None if least is None else mean / least
    return ReferencePoint(batch_size, mean, stdev, n_compared, least, speedup, origin)


@dataclass(frozen=True)
class Verdict:
    """The result of the check for a submission.

    passes: None if the reference can't decide, because no mean would be too low for it.
    ground: the point it was compared with: that of its batch size (found), an interpolated one, or that of the smallest
    batch size, if its own is smaller; or why it wasn't compared: its batch size is above all points (missing), there
    are no points, too many runs didn't converge, or the runs can't be averaged (unusable: `check` raises).
    score_factor: max(1, mean of the reference / mean of the submission), which normalizes the score if it passes.
    explanation: the result in words.
    """

    passes: bool | None
    ground: Ground
    explanation: str
    point: ReferencePoint | None = None
    mean: float | None = None
    score_factor: float | None = None


def check(points: Sequence[ReferencePoint], batch_size: float, runs: Floats, rules: Rules) -> Verdict:
    """Compare the runs of a submission with the reference points.

    points: by ascending batch size, pruned or not. runs: epochs or samples to convergence, as in the reference, inf for
    a run that didn't converge; `rules` limits the number of those. The mean is inf if trimming doesn't omit them all.
    Raises ValueError for runs that are NaN or not above 0, and for too few of them.
    """
    if np.isnan(runs).any() or (runs <= 0).any():
        raise ValueError("the runs of the submission have to be above 0: give infinity for a run that didn't converge")
    mean = olympic_mean(runs, rules.trimmed)
    failed = int(np.isinf(runs).sum())
    if failed > rules.tolerated_failures:
        tolerated = rules.tolerated_failures
        return Verdict(False, "not_converged", f"{failed} runs did not converge; at most {tolerated} may fail")
    if not points:
        return Verdict(None, "no_reference", "the reference has no points to compare with")
    compared = point_at(points, batch_size, rules)
    if compared is None:
        largest = points[-1].batch_size
        reason = f"batch size {batch_size:.15g} is above the largest of the reference, {largest:.15g}"
        return Verdict(False, "missing", f"{reason}: it needs a reference point of its own")
    point, ground = compared
    return _compared(point, ground, batch_size, mean)


def point_at(
    points: Sequence[ReferencePoint], batch_size: float, rules: Rules
) -> tuple[ReferencePoint, Literal["found", "interpolated", "smallest"]] | None:
    """Return the point to compare a submission of this batch size with; None if it is above all points.

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
    report = f"at batch size {batch_size:.15g} the submission's mean is {mean:.6g}, compared with {place}"
    if point.least_mean is None and mean < point.mean:
        why = "but the reference's runs vary so much that no mean would be refused, so nothing is checked"
        return Verdict(None, ground, f"{report}; {why}", point, mean)
    if point.least_mean is not None and mean < point.least_mean:
        why = f"faster than {point.least_mean:.6g}, the least acceptable mean"
        if ground == "smallest":
            why += "; its own batch size has no reference point"
        return Verdict(False, ground, f"{report}; {why}", point, mean)
    speed = "not faster" if factor == 1 else f"faster, but accepted with its score normalized by {factor:.6g}"
    return Verdict(True, ground, f"{report}; {speed}", point, mean, factor)
