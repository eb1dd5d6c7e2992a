"""AlgoPerf's times to target and scores, as its scoring code has them.

Source: mlcommons/algorithmic-efficiency, scoring/performance_profile.py (METHODS 5.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from losslake.analysis.performance_profile import LARGEST_RATIO, exact_scores, ratios_to_best, trapezoid_scores
from losslake_schema.reached import Floats, Integers, hits

TrialRule = Literal["index", "time"]


@dataclass(frozen=True)
class TimedCurve:
    """One trial's evaluations, as they were logged. times: seconds. losses: lower is better; negate to maximize."""

    times: Floats
    losses: Floats


@dataclass(frozen=True)
class Scores:
    """By submission: AlgoPerf's score, the same integral without its grid, and the ratios (submissions, workloads)."""

    score: Floats
    exact: Floats
    ratios: Floats


def time_to_target(trials: Sequence[TimedCurve], target: float, rule: TrialRule = "index") -> float:
    """The time at which a study, the trials of one tuning, first has a loss <= target; inf if no trial ever has.

    rule "index", as the official code has it: of the trial whose first hit has the smallest number among its
    evaluations, of equal ones the first trial; that isn't always the earliest. Rule "time": of the earliest. NaN and
    infinities never reach. Raises ValueError for a target that is not finite, and for hits with a negative or NaN time.
    """
    if not np.isfinite(target):
        raise ValueError(f"target {target} is not finite: give a number")
    first = [np.flatnonzero(hits(trial.losses, target, "inclusive"))[:1] for trial in trials]
    found = [(int(hit[0]), float(trial.times[hit[0]])) for hit, trial in zip(first, trials, strict=True) if len(hit)]
    if not all(time >= 0 for _, time in found):
        raise ValueError("the time of an evaluation that reaches the target has to be 0 or more")
    if not found:
        return np.inf
    return min(found, key=lambda pair: pair[0])[1] if rule == "index" else min(time for _, time in found)


def median_over_studies(times: Sequence[float]) -> float | None:
    """The median of a submission's studies, of which inf, not reached, is one like others; None without studies.

    Of an even number it is the mean of the two in the middle, so inf if either is. Take the studies that are there, and
    say how many: the baseline of v0.5 has 4.
    """
    return float(np.median(np.asarray(times, np.float64))) if len(times) else None


def scores(base: Floats, held_out: Floats | None = None, base_of: Integers | None = None) -> Scores:
    """Scores from times to target.

    base: (submissions, workloads); inf: not reached; NaN: no data. held_out: (submissions, variants), base_of: of each
    variant, the column of its workload in base. In this order: a variant isn't reached where its workload isn't; no
    time counts that exceeds LARGEST_RATIO times the best of its column; a workload isn't reached where a variant isn't;
    then ratios to the best. Raises ValueError for negative times and variants that are of no column.
    """
    if (base < 0).any() or (held_out is not None and (held_out < 0).any()):
        raise ValueError("times have to be 0 or more")
    reached = np.where(np.isnan(base), np.inf, base)
    within = _within(reached)
    if held_out is not None and base_of is not None:
        if held_out.shape != (len(base), len(base_of)) or not ((base_of >= 0) & (base_of < base.shape[1])).all():
            raise ValueError("held_out needs a row for each submission, and base_of a column of base for each variant")
        variants = np.where(np.isnan(held_out) | np.isinf(reached[:, base_of]), np.inf, held_out)
        variants = _within(variants)
        for variant, column in enumerate(base_of.tolist()):
            within[np.isinf(variants[:, variant]), column] = np.inf
    ratios = ratios_to_best(within)
    return Scores(trapezoid_scores(ratios), exact_scores(ratios), ratios)


def _within(times: Floats) -> Floats:
    """The times, inf where they exceed LARGEST_RATIO times the least of their column."""
    best = np.min(times, axis=0, keepdims=True, initial=np.inf)
    return np.where(times > LARGEST_RATIO * best, np.inf, times)
