"""Where one competitor takes fewer steps than another, where more, and where that can't be told, by batch size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from losslake.analysis.equal_budget import chances
from losslake.analysis.ratio_range import ratio_range
from losslake.questions.analysis.contest import Contest
from losslake.questions.analysis.resolution import ended_sooner, is_unresolved
from losslake.questions.analysis.scaling_curve import ScalingCurve

Verdict = Literal["fewer", "more", "not told", "neither reaches", "too few trials"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
LEAST_TRIALS = 3
"""Two equal searches of two trials each would be told apart one time in three, of three or more one time in eight."""


@dataclass(frozen=True)
class Difference:
    """Of a competitor to the baseline at one batch size.

    ratio: of the median steps; None where either is unknown or the baseline's is 0. lower, upper: of the ratio with
    half the budget, which 90% of draws lie between; 0 and inf where they are open, None without such draws. leads: the
    chance that whoever is ahead is, with half the budget. reaches, baseline_reaches: whether any trial does.
    ended_sooner: whether one that doesn't was trained for fewer steps than the other needed.
    """

    batch_size: int
    verdict: Verdict
    ratio: float | None
    lower: float | None
    upper: float | None
    leads: float
    reaches: bool
    baseline_reaches: bool
    ended_sooner: bool


def differences(found: Contest, curves: Sequence[ScalingCurve], index: int, base: int) -> Iterator[Difference | None]:
    """By column of the contest; None where either has no trials. curves: by competitor."""
    for column, (_, batch_size) in enumerate(found.places):
        own, baseline = found.steps[index][column], found.steps[base][column]
        if own is None or baseline is None:
            yield None
            continue
        ours, theirs = found.medians[[index, base], column].tolist()
        half = found.budgets[column] // 2
        ends = ratio_range(own, baseline, half) if half else None
        ratio = steps_ratio(ours, theirs)
        sooner = any(
            ended_sooner(found, curves[one], one, column, found.medians[other, column]) is not None
            for one, other in ((index, base), (base, index))
        )
        reaches, baseline_reaches = bool(np.isfinite(own).any()), bool(np.isfinite(baseline).any())
        verdict: Verdict = "not told"
        if not (reaches or baseline_reaches):
            verdict = "neither reaches"
        elif ends is None or min(len(own), len(baseline)) < LEAST_TRIALS:
            verdict = "too few trials"
        elif not sooner and not is_unresolved(found, (curves[index], curves[base]), (index, base), column):
            verdict = _verdict(ends, ratio)
        yield Difference(
            batch_size=batch_size,
            verdict=verdict,
            ratio=ratio,
            lower=None if ends is None else ends[0],
            upper=None if ends is None else ends[1],
            leads=max(chances(own, baseline, half).beats, chances(baseline, own, half).beats) if half else 0.0,
            reaches=reaches,
            baseline_reaches=baseline_reaches,
            ended_sooner=sooner,
        )


def steps_ratio(steps: float, baseline: float) -> float | None:
    """None where either is unknown, or the baseline's are 0."""
    return float(steps / baseline) if np.isfinite(steps) and np.isfinite(baseline) and baseline > 0 else None


def _verdict(ends: tuple[float, float], ratio: float | None) -> Verdict:
    """What a range without 1 tells, unless the ratio of medians contradicts it."""
    if ends[1] < 1 and (ratio is None or ratio < 1):
        return "fewer"
    return "more" if ends[0] > 1 and (ratio is None or ratio > 1) else "not told"
