"""Competing searches: each competitor's trials by column, with the tuning budget that a column shares.

What evaluations leave open in a comparison: orders within their distance, and training that stopped too soon.
The batch sizes at which one competitor takes fewer steps than another, more, or neither clearly.
Steps to a goal of the trials that a selection admits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from losslake.analysis.equal_budget import median_best, ratio_range, shared_budget
from losslake.analysis.permutation_test import ERROR, least_p_value, p_values
from losslake.questions.measure import Measure
from losslake.questions.release_view import ReleaseView
from losslake.questions.scaling_curve import ScalingCurve, scaling_curve, trial_steps
from losslake.questions.search import Search, at
from losslake.questions.selection import Goal
from losslake_schema.reached import NEVER, Flags, Floats, Integers


@dataclass(frozen=True)
class Entry:
    """The trials of one competitor in one column: steps (or what else is counted) to the target, inf for never.

    place: tells columns apart. settings: the median steps of each setting, over its trials with other seeds; None if
    no differences are to be told.
    """

    competitor: str
    place: tuple[str, int]
    steps: Floats
    settings: Floats | None = None


@dataclass(frozen=True)
class Contest:
    """Competitors, in the order given, compared in columns by ascending place.

    places: of the columns: what besides the batch size tells them apart, and the batch size. steps: of each competitor
    in each column, None where it has no trials; settings: likewise. budgets: of each column, the number of trials in
    a draw.
    medians: (competitors, columns), of the best of these; inf for never, NaN where it has no trials. left_out: words.
    """

    competitors: tuple[str, ...]
    places: tuple[tuple[str, int], ...]
    steps: tuple[tuple[Floats | None, ...], ...]
    settings: tuple[tuple[Floats | None, ...], ...]
    budgets: tuple[int, ...]
    medians: Floats
    left_out: tuple[str, ...]

    def signed_p(self, first: int, second: int, column: int) -> float:
        """Return the p-value of a difference in a column, below 0 if the first needs more steps; 1 if unknown."""
        ours, theirs = self.settings[first][column], self.settings[second][column]
        return 1.0 if ours is None or theirs is None else float(p_values(ours[None], theirs[None])[0])

    def place_name(self, column: int) -> str:
        """Return the name of a column."""
        return _name(self.places[column])


def contest(competitors: tuple[str, ...], entries: Iterable[Entry], budget: int | None) -> Contest:
    """Return the contest of these entries; columns in which only one of several competitors has trials are left out.

    budget: trials that the best is taken of; a column is left out where a competitor has fewer. None: as many as every
    competitor of the column has.
    """
    columns: dict[tuple[str, int], dict[str, Entry]] = {}
    left_out = []
    for entry in entries:
        column = columns.setdefault(entry.place, {})
        if len(entry.steps):
            column[entry.competitor] = entry
        else:
            left_out.append(f"{entry.competitor} at {_name(entry.place)}: it has no admitted trials")
    kept: dict[tuple[str, int], int] = {}
    for place, column in sorted(columns.items()):
        shared = shared_budget([len(entry.steps) for entry in column.values()])
        if len(column) < min(2, len(competitors)):
            who = next(iter(column), "nobody")
            left_out.append(f"{_name(place)}: only {who} has trials there")
        elif budget is not None and shared < budget:
            left_out.append(
                f"{_name(place)}: a budget of {budget} trials is more than the {shared} that all have there"
            )
        else:
            kept[place] = shared if budget is None else budget
    entries_of = [[columns[place].get(name) for place in kept] for name in competitors]
    steps = tuple(tuple(None if entry is None else entry.steps for entry in row) for row in entries_of)
    medians = [
        [np.nan if each is None else median_best(each, kept[place]) for each, place in zip(row, kept, strict=True)]
        for row in steps
    ]
    return Contest(
        competitors=competitors,
        places=tuple(kept),
        steps=steps,
        settings=tuple(tuple(None if entry is None else entry.settings for entry in row) for row in entries_of),
        budgets=tuple(kept.values()),
        medians=np.array(medians, np.float64).reshape(len(competitors), len(kept)),
        left_out=tuple(left_out),
    )


def _name(place: tuple[str, int]) -> str:
    rest, batch_size = place
    return f"{rest} at batch size {batch_size}" if rest else f"batch size {batch_size}"


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


Verdict = Literal["fewer", "more", "not told", "neither reaches", "too few trials"]
VERDICTS: tuple[str, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Difference:
    """The difference of a competitor to the baseline at one batch size.

    ratio: of the median steps; None where either is unknown or the baseline's is 0. lower, upper: of the ratio with
    half the budget, which 90% of draws lie between; 0 and inf where they are open, None without such draws. p_value: of
    the permutation test. reaches, baseline_reaches: whether any trial does.
    ended_sooner: whether one that doesn't was trained for fewer steps than the other needed.
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


def differences(contest: Contest, curves: Sequence[ScalingCurve], index: int, base: int) -> Iterator[Difference | None]:
    """Yield the difference in each column; None where either has no trials. curves: by competitor."""
    for column, (_, batch_size) in enumerate(contest.places):
        steps, baseline = contest.steps[index][column], contest.steps[base][column]
        if steps is None or baseline is None:
            yield None
            continue
        ours, theirs = contest.medians[[index, base], column].tolist()
        half = contest.budgets[column] // 2
        ends = ratio_range(steps, baseline, half) if half else None
        ratio, signed_p = ratio_of(ours, theirs), contest.signed_p(index, base, column)
        sooner = any(
            ended_sooner(contest, curves[one], one, column, contest.medians[other, column]) is not None
            for one, other in ((index, base), (base, index))
        )
        reaches, baseline_reaches = bool(np.isfinite(steps).any()), bool(np.isfinite(baseline).any())
        verdict: Verdict = "not told"
        if not (reaches or baseline_reaches):
            verdict = "neither reaches"
        elif ends is None or _least(contest.settings[index][column], contest.settings[base][column]) > ERROR:
            verdict = "too few trials"
        elif not sooner and not is_unresolved(contest, (curves[index], curves[base]), (index, base), column):
            verdict = _verdict(signed_p, ratio)
        yield Difference(
            batch_size=batch_size,
            verdict=verdict,
            ratio=ratio,
            lower=None if ends is None else ends[0],
            upper=None if ends is None else ends[1],
            p_value=abs(signed_p),
            reaches=reaches,
            baseline_reaches=baseline_reaches,
            ended_sooner=sooner,
        )


def ratio_of(amount: float, baseline: float) -> float | None:
    """Return amount / baseline; None where either is unknown, or the baseline is 0."""
    return float(amount / baseline) if np.isfinite(amount) and np.isfinite(baseline) and baseline > 0 else None


def _least(ours: Floats | None, theirs: Floats | None) -> float:
    return 1.0 if ours is None or theirs is None else least_p_value(len(ours), len(theirs))


def _verdict(signed_p: float, ratio: float | None) -> Verdict:
    """Return the verdict of the permutation test, unless the ratio of medians contradicts it."""
    if 0 < signed_p <= ERROR and (ratio is None or ratio < 1):
        return "fewer"
    return "more" if 0 < -signed_p <= ERROR and (ratio is None or ratio > 1) else "not told"


def settings_of_trials(view: ReleaseView, search: Search) -> tuple[npt.NDArray[np.uint64], Flags]:
    """Return by trial a number that those of one setting share, seeds aside, and whether its setting is known."""
    table = view.table("settings_of_trials", search.facts.study_ids)
    return table["setting"].to_numpy(), table["is_known"].to_numpy()


@dataclass(frozen=True)
class MeasuredTrials:
    """The amounts that the trials of a competitor need to reach a goal.

    amounts: by trial, inf for never, NaN where it isn't known. curve: of the least amounts.
    """

    measure: Measure
    amounts: Floats
    curve: ScalingCurve

    def left_out(self) -> Iterator[str]:
        """Yield in words the trials of unknown amounts."""
        yield from self.measure.left_out(int(np.isnan(self.amounts).sum()))


def measured_trials(measure: Measure, goal: Goal) -> MeasuredTrials:
    """Return the amounts that the trials of a workload need to reach a goal."""
    search = measure.search
    hits = search.first_hits(goal)
    amounts = measure.of_trials(hits)
    return MeasuredTrials(measure, amounts, _curve_of(measure, scaling_curve(search, goal), hits, amounts))


def _curve_of(measure: Measure, curve: ScalingCurve, hits: Integers, amounts: Floats) -> ScalingCurve:
    """Return a curve with amounts instead of steps. hits, amounts: by trial, as `of_trials` takes and returns them.

    For times, those of evaluations before, and of runs that never reach the target, are those of their steps at
    the least time a step of any trial of the study that reached it; 0 if none did.
    """
    search = measure.search
    facts, steps = search.facts, at(search.records.step, hits)
    row = facts.first_least_by_study(np.isfinite(amounts), amounts, steps)
    least = np.where(row == NEVER, np.inf, at(amounts, row))
    factors = measure.factors
    if factors is None:
        pace = np.where(np.isfinite(amounts) & (steps > 0), amounts / np.maximum(steps, 1), np.inf)
        fastest = facts.first_least_by_study(np.isfinite(pace), pace, steps)
        factors = np.where(fastest == NEVER, 0.0, at(pace, fastest))
    previous = at(at(search.records.previous_step, hits), row)
    return ScalingCurve(
        batch_sizes=curve.batch_sizes,
        steps=least,
        previous_steps=np.where((row != NEVER) & (previous >= 0), previous * factors, np.nan),
        censored_at=np.where(curve.censored_at >= 0, curve.censored_at * factors, -1),
        n_trials=curve.n_trials,
        n_reached=curve.n_reached,
    )


def entries(
    measured: MeasuredTrials, goal: Goal, competitor: str, rest: str, setting_of_trial: npt.NDArray[np.uint64]
) -> Iterator[Entry]:
    """Yield the trials of a competitor by batch size. rest: what else tells columns apart."""
    search, steps = measured.measure.search, measured.amounts
    counts = search.admitted & ~search.stopped_earlier(goal) & ~np.isnan(steps)
    for study, batch_size in enumerate(search.facts.batch_sizes):
        rows = np.arange(len(counts))[search.facts.rows_of(study)]
        rows = rows[counts[rows]]
        yield Entry(
            competitor, (rest, batch_size), steps[rows], medians_of_settings(steps[rows], setting_of_trial[rows])
        )


def medians_of_settings(values: Floats, setting_of_trial: npt.NDArray[np.uint64]) -> Floats:
    """Return the median of the values of each setting, the lower one of two. values, setting_of_trial: by trial."""
    groups = np.unique(setting_of_trial, return_inverse=True)[1]
    order = np.lexsort((values, groups))
    ordered = np.split(values[order], np.flatnonzero(np.diff(groups[order])) + 1)
    return np.array([group[(len(group) - 1) // 2] for group in ordered if len(group)], np.float64)


def admitted_steps(search: Search, goal: Goal) -> Iterator[Floats]:
    """Yield by study the steps to the target of its admitted trials that didn't stop earlier; inf for never."""
    steps, counts = trial_steps(search, goal), search.admitted & ~search.stopped_earlier(goal)
    for study in range(len(search.facts.batch_sizes)):
        study_rows = search.facts.rows_of(study)
        yield steps[study_rows][counts[study_rows]]
