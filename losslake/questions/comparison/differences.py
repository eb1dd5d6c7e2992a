"""The batch sizes at which one competitor takes fewer steps than another, more, or neither clearly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from losslake.analysis.equal_budget import Chances, chances, ratio_range
from losslake.analysis.permutation_test import ERROR, least_p_value
from losslake.questions.comparison.contest import Contest, signed_p
from losslake.questions.trials.scaling_curve import ScalingCurve


def is_unresolved(
    contest: Contest, curves: tuple[ScalingCurve, ScalingCurve], pair: tuple[int, int], column: int
) -> bool:
    """Return True if two competitors differ in a column by no more than the distance of two evaluations.

    curves: of the two. pair: their places in the contest.
    """
    ours, theirs = contest.medians[list(pair), column].tolist()
    if not (np.isfinite(ours) and np.isfinite(theirs)):
        return False
    distance = max(_distance(curve, contest.places[column][1]) for curve in curves)
    return bool(0 < abs(ours - theirs) <= distance)


def ended_sooner(contest: Contest, curve: ScalingCurve, index: int, column: int, needed: float) -> float | None:
    """Return how far a competitor that never reached the target was trained, if that is below `needed`; else None."""
    if not np.isposinf(contest.medians[index, column]):
        return None
    ran = float(curve.censored_at[np.searchsorted(curve.batch_sizes, contest.places[column][1])])
    return ran if 0 <= ran < needed < np.inf else None


def _distance(curve: ScalingCurve, batch_size: int) -> float:
    """Return the distance from the previous evaluation to the one at which the best trial reached the target."""
    study = int(np.searchsorted(curve.batch_sizes, batch_size))
    distance = float(curve.steps[study] - curve.previous_steps[study])
    return distance if np.isfinite(distance) else 0.0


Verdict = Literal["fewer", "more", "not told", "too few trials", "one submitter", "neither reaches"]


@dataclass(frozen=True)
class Difference:
    """The difference of a competitor to the baseline at one batch size.

    ratio: of the median steps; None where either is unknown or the baseline's is 0. lower, upper: of the ratio with
    half the settings, which 90% of draws lie between; 0 and inf if open, None without such draws. p_value: of
    the permutation test. reaches, baseline_reaches: whether any trial does.
    ended_sooner: whether one that doesn't was trained for fewer steps than the other needed. at_half: the chances with
    half the settings; None without such draws.
    """

    batch_size: int
    verdict: Verdict
    ratio: float | None
    lower: float | None
    upper: float | None
    p_value: float
    reaches: bool
    baseline_reaches: bool
    ended_sooner: bool
    at_half: Chances | None = None


def differences(contest: Contest, curves: Sequence[ScalingCurve], index: int, base: int) -> Iterator[Difference | None]:
    """Yield the difference in each column; None where either has no trials. curves: by competitor."""
    for column, (_, batch_size) in enumerate(contest.places):
        pair = contest.pair(index, base, column)
        if pair is None:
            yield None
            continue
        halves = contest.halves(*pair, column)
        ends = None if halves is None else ratio_range(*halves)
        ratio, p_value = ratio_of(*contest.medians[[index, base], column].tolist()), signed_p(*pair)
        sooner = any(
            ended_sooner(contest, curves[one], one, column, contest.medians[other, column]) is not None
            for one, other in ((index, base), (base, index))
        )
        reaches, baseline_reaches = (bool(np.isfinite(entry.steps).any()) for entry in pair)
        verdict: Verdict = "not told"
        if not (reaches or baseline_reaches):
            verdict = "neither reaches"
        elif ends is None or least_p_value(*(len(entry.medians) for entry in pair)) > ERROR:
            verdict = "too few trials"
        elif any(entry.is_of_one_submitter for entry in pair):
            verdict = "one submitter"
        elif not sooner and not is_unresolved(contest, (curves[index], curves[base]), (index, base), column):
            verdict = _verdict(p_value, ratio)
        yield Difference(
            batch_size=batch_size,
            verdict=verdict,
            ratio=ratio,
            lower=None if ends is None else ends[0],
            upper=None if ends is None else ends[1],
            p_value=abs(p_value),
            reaches=reaches,
            baseline_reaches=baseline_reaches,
            ended_sooner=sooner,
            at_half=None if halves is None else chances(*halves),
        )


def ratio_of(amount: float, baseline: float) -> float | None:
    """Return amount / baseline; None where either is unknown, or the baseline is 0."""
    return float(amount / baseline) if np.isfinite(amount) and np.isfinite(baseline) and baseline > 0 else None


def _verdict(signed_p: float, ratio: float | None) -> Verdict:
    """Return the verdict of the permutation test, unless the ratio of medians contradicts it."""
    if 0 < signed_p <= ERROR and (ratio is None or ratio < 1):
        return "fewer"
    return "more" if 0 < -signed_p <= ERROR and (ratio is None or ratio > 1) else "not told"
