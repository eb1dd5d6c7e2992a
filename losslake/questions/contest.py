"""Searches that compete: each competitor's trials by column, with the tuning budget that all of a column share.

What evaluations leave open in a comparison: orders within their distance, and training that stopped too soon.
Where one competitor takes fewer steps than another, where more, and where that can't be told, by batch size.
Steps to a goal of the trials that a selection admits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from losslake.analysis.equal_budget import chances, median_best, ratio_range, shared_budget
from losslake.questions.scaling_curve import ScalingCurve, trial_steps
from losslake.questions.search import Search
from losslake.questions.selection import Goal
from losslake_schema.reached import Floats


@dataclass(frozen=True)
class Entry:
    """The trials of one competitor in one column: steps to the target, inf for never. place: tells columns apart."""

    competitor: str
    place: tuple[str, int]
    steps: Floats


@dataclass(frozen=True)
class Contest:
    """Competitors in the order they were named, against each other in columns by ascending place.

    places: of the columns: what besides the batch size tells them apart, and the batch size. steps: of each competitor
    in each column, None where it has no trials. budgets: of each column, the trials that the best is taken of.
    medians: (competitors, columns), of the best of so many; inf for never, NaN where it has no trials. left_out: words.
    """

    competitors: tuple[str, ...]
    places: tuple[tuple[str, int], ...]
    steps: tuple[tuple[Floats | None, ...], ...]
    budgets: tuple[int, ...]
    medians: Floats
    left_out: tuple[str, ...]

    def beats(self, first: int, second: int, column: int, budget: int) -> float:
        """The chance that a competitor beats another in a column with that budget; NaN where that isn't known."""
        ours, theirs = self.steps[first][column], self.steps[second][column]
        return np.nan if ours is None or theirs is None or budget < 1 else chances(ours, theirs, budget).beats

    def place_name(self, column: int) -> str:
        """A column in words."""
        return _name(self.places[column])


def contest(competitors: tuple[str, ...], entries: Iterable[Entry], budget: int | None) -> Contest:
    """The contest of these entries; a column is left out in which only one competitor has trials, of several.

    budget: trials that the best is taken of; a column is left out where a competitor has fewer. None: as many as every
    competitor of the column has.
    """
    found: dict[tuple[str, int], dict[str, Floats]] = {}
    left_out = []
    for entry in entries:
        column = found.setdefault(entry.place, {})
        if len(entry.steps):
            column[entry.competitor] = entry.steps
        else:
            left_out.append(f"{entry.competitor} at {_name(entry.place)}: it has no admitted trials")
    kept: dict[tuple[str, int], int] = {}
    for place, column in sorted(found.items()):
        shared = shared_budget([len(steps) for steps in column.values()])
        if len(column) < min(2, len(competitors)):
            who = next(iter(column), "nobody")
            left_out.append(f"{_name(place)}: only {who} has trials there")
        elif budget is not None and shared < budget:
            left_out.append(
                f"{_name(place)}: a budget of {budget} trials is more than the {shared} that all have there"
            )
        else:
            kept[place] = shared if budget is None else budget
    steps = tuple(tuple(found[place].get(name) for place in kept) for name in competitors)
    medians = [
        [np.nan if own is None else median_best(own, kept[place]) for own, place in zip(row, kept, strict=True)]
        for row in steps
    ]
    return Contest(
        competitors=competitors,
        places=tuple(kept),
        steps=steps,
        budgets=tuple(kept.values()),
        medians=np.array(medians, np.float64).reshape(len(competitors), len(kept)),
        left_out=tuple(left_out),
    )


def _name(place: tuple[str, int]) -> str:
    rest, batch_size = place
    return f"{rest} at batch size {batch_size}" if rest else f"batch size {batch_size}"


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


def admitted_steps(found: Search, goal: Goal) -> Iterator[Floats]:
    """By study, the steps to the target of its admitted trials; inf for never."""
    steps = trial_steps(found, goal)
    for study in range(len(found.facts.batch_sizes)):
        own = found.facts.rows_of(study)
        yield steps[own][found.admitted[own]]
