"""The result of each study of a workload for a goal, by the rule of its search: its best trial, or its best setting."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from losslake.analysis.best_setting import BestSettings, best_settings, counting
from losslake.index.frontiers import Staircase
from losslake.questions.trials.search import Search, at
from losslake.questions.trials.selection import Goal
from losslake_schema.names import LARGEST_INTEGER
from losslake_schema.reached import NEVER, NO_STEP, Flags, Floats, Integers, strict_bound


@dataclass(frozen=True)
class FewestSteps:
    """By study of a workload: the trial that crosses a target first; ties go to the lowest trial_id.

    row: its row in facts.trials; NEVER where no trial does, and then the others mean nothing. n_reached: how
    many trials do.
    """

    row: Integers
    steps: Integers
    previous_step: Integers
    n_reached: Integers


@dataclass(frozen=True)
class StudyResults(FewestSteps):
    """By study of a workload: the trial with the fewest steps to a target, or that of its best setting.

    value: of the metric there. runner_up: the fewest steps of any other trial, or setting; NEVER for none. setting: of
    the best setting, the number of settings and its quartiles; None for the best trial.
    """

    value: Floats
    runner_up: Integers
    setting: BestSettings | None = None


@dataclass(frozen=True)
class Least:
    """By study: the least of some amount, and the row in facts.trials of its trial, NEVER for none.

    setting: where it is of the best setting, else None.
    """

    row: Integers
    amount: Floats
    setting: BestSettings | None = None


def study_results(search: Search, goal: Goal) -> StudyResults:
    """Return the result of each study for a goal."""
    frontiers = search.frontiers
    if frontiers is None or search.rule.is_of_settings:
        return results_of_hits(search, search.first_hits(goal))
    merit = -strict_bound(search.sign * goal.target, goal.comparator)
    entry, runner_up = (_first_entries(each, merit) for each in (frontiers.best, frontiers.runner_up))
    reaching = _first_above(merit, frontiers.reach_offsets, frontiers.reach)
    return StudyResults(
        row=np.where(entry == NEVER, NEVER, at(frontiers.row, entry)),
        steps=at(frontiers.best.step, entry),
        previous_step=at(frontiers.previous_step, entry),
        n_reached=np.array([end - first for first, end in reaching], np.int64),
        value=at(frontiers.best.merit, entry) * -search.sign,
        runner_up=np.where(runner_up == NEVER, NEVER, at(frontiers.runner_up.step, runner_up)),
    )


def results_of_hits(search: Search, hits: Integers) -> StudyResults:
    """Return the same from the first hits of every trial."""
    facts, records, is_hit = search.facts, search.records, hits != NEVER
    steps, n_reached = at(records.step, hits), facts.sums_by_study(is_hit)
    if search.rule.is_of_settings:
        return _of_settings(search, hits, least_by_study(search, np.where(is_hit, steps, np.inf)), n_reached)
    rows = facts.first_least_by_study(is_hit, steps)
    first = at(hits, rows)
    others = np.where(is_hit, steps, LARGEST_INTEGER)
    others[rows[rows != NEVER]] = LARGEST_INTEGER
    return StudyResults(
        row=rows,
        steps=at(records.step, first),
        previous_step=at(records.previous_step, first),
        n_reached=n_reached,
        value=at(records.value, first),
        runner_up=np.where(n_reached > 1, facts.extreme_by_study(np.minimum, others, NEVER), NEVER),
    )


def _of_settings(search: Search, hits: Integers, least: Least, n_reached: Integers) -> StudyResults:
    assert least.setting is not None
    is_of_trial = search.rule.seeds == "median"
    return StudyResults(
        row=least.row,
        steps=at(search.records.step, at(hits, least.row)) if is_of_trial else whole_steps(least.amount),
        previous_step=_previous_steps(search, least.setting, at(search.records.previous_step, hits), least.row),
        n_reached=n_reached,
        value=at(search.records.value, at(hits, least.row)),
        runner_up=whole_steps(least.setting.runner_up),
        setting=least.setting,
    )


def least_by_study(search: Search, amounts: Floats, *ties: Integers) -> Least:
    """Return the least amount of each study by the rule of the search.

    amounts: by trial, inf for never, NaN for unknown. ties: by trial, what equal amounts of trials are ordered by.
    """
    facts, rule = search.facts, search.rule
    if not rule.is_of_settings:
        row = facts.first_least_by_study(np.isfinite(amounts), amounts, *ties)
        return Least(row, np.where(row == NEVER, np.inf, at(amounts, row)))
    rows = np.flatnonzero(search.admitted & ~np.isnan(amounts))
    studies, settings = facts.study_of_trial[rows], rule.settings[rows]
    setting = best_settings(amounts[rows], studies, settings, len(facts.batch_sizes), rule.seeds)
    return Least(np.where(setting.row == NEVER, NEVER, at(rows, setting.row)), setting.least, setting)


def is_of_small_setting(search: Search) -> Flags:
    """Return by trial True if it is admitted, of a setting with too few trials to count beside larger ones."""
    rows = np.flatnonzero(search.admitted)
    is_small = np.zeros(len(search.admitted), np.bool_)
    is_small[rows] = ~counting(search.facts.study_of_trial[rows], search.rule.settings[rows])
    return is_small


def _previous_steps(search: Search, setting: BestSettings, previous: Integers, row: Integers) -> Integers:
    """Return by study the evaluation before its result: of the trial at the median, or the mean of a setting's."""
    if search.rule.seeds == "median":
        return at(previous, row)
    is_of_chosen = search.admitted & (search.rule.settings == setting.setting[search.facts.study_of_trial])
    sums = search.facts.sums_by_study(np.where(is_of_chosen, previous, 0))
    is_first = search.facts.sums_by_study(is_of_chosen & (previous < 0)) > 0
    means: Integers = np.rint(sums / np.maximum(setting.n_seeds, 1)).astype(np.int64)
    return np.where(is_first, NO_STEP, means)


def whole_steps(steps: Floats) -> Integers:
    """Return steps as integers, rounded; NEVER for inf."""
    is_there = np.isfinite(steps)
    fits = is_there & (steps < LARGEST_INTEGER)
    whole = np.where(fits, np.rint(np.where(fits, steps, 0)), NEVER).astype(np.int64)
    return np.where(is_there & ~fits, LARGEST_INTEGER, whole)


def study_bests(search: Search) -> tuple[Integers, Floats]:
    """Return by study the trial with the best value, and this; ties go to the smaller step, then the lowest trial_id.

    The trial is its row in facts.trials; NEVER where no trial has a value, and then the value means nothing.
    """
    frontiers = search.frontiers
    if frontiers is None:
        rows = search.best_trials()
        return rows, at(search.records.value, at(search.best_records, rows))
    offsets = frontiers.best.offsets
    last = np.where(np.diff(offsets) > 0, offsets[1:] - 1, NEVER)
    row = np.where(last == NEVER, NEVER, at(frontiers.row, last))
    return row, at(frontiers.best.merit, last) * -search.sign


def _first_entries(staircase: Staircase, merit: float) -> Integers:
    """Return by study the first entry that exceeds the merit; NEVER for none."""
    ranges = _first_above(merit, staircase.offsets, staircase.merit)
    return np.array([first if first < end else NEVER for first, end in ranges], np.int64)


def _first_above(merit: float, offsets: Integers, merits: Floats) -> Iterator[tuple[int, int]]:
    """Yield by study the first entry that exceeds the merit, and the end of its entries."""
    ascending = merits.data
    for start, end in pairwise(offsets.tolist()):
        yield bisect_right(ascending, merit, start, end), end
