"""By study of a workload: which trial reaches a target in the fewest steps, and which gets to the best value.

Two ways to the same answer: for the trials that a question takes unless it says otherwise, a look into the frontiers,
which takes as long for many trials as for few; for any other choice, a search in the records of every trial.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from losslake.index.frontiers import Frontiers, Staircase
from losslake.questions.search import Search, at
from losslake.questions.selection import Goal
from losslake_schema.names import LARGEST_INTEGER
from losslake_schema.reached import NEVER, Floats, Integers, strict_bound


@dataclass(frozen=True)
class FewestSteps:
    """By study of a workload: the trial that crosses a target soonest, of several the one with the lowest number.

    row: its row in facts.trials; NEVER where no trial does, and then the others mean nothing. n_reached: how
    many trials do.
    """

    row: Integers
    steps: Integers
    previous_step: Integers
    n_reached: Integers


@dataclass(frozen=True)
class StudyResults(FewestSteps):
    """By study of a workload: the trial with the fewest steps to a target.

    value: of the metric there. runner_up: the fewest steps of any other trial; NEVER for none.
    """

    value: Floats
    runner_up: Integers


@dataclass(frozen=True)
class StudyBests:
    """By study of a workload: the trial with the best value, ties to the lesser step, then to the lower number.

    row: its row in facts.trials; NEVER where no trial has a value, and then value means nothing.
    """

    row: Integers
    value: Floats


def study_results(found: Search, goal: Goal) -> StudyResults:
    """Search a workload for a goal."""
    frontiers = found.frontiers
    if frontiers is None:
        return results_of_hits(found, found.first_hits(goal))
    asked = _Asked(-strict_bound(found.sign * goal.target, goal.comparator))
    entry = asked.first_entries(frontiers.best)
    runner_up = asked.first_entries(frontiers.runner_up)
    return StudyResults(
        row=np.where(entry == NEVER, NEVER, at(frontiers.row, entry)),
        steps=at(frontiers.best.step, entry),
        previous_step=at(frontiers.previous_step, entry),
        n_reached=asked.n_reaching(frontiers),
        value=at(frontiers.best.merit, entry) * -found.sign,
        runner_up=np.where(runner_up == NEVER, NEVER, at(frontiers.runner_up.step, runner_up)),
    )


def results_of_hits(found: Search, hits: Integers) -> StudyResults:
    """The same from the first hits of every trial."""
    facts, records, is_hit = found.facts, found.records, hits != NEVER
    steps = at(records.step, hits)
    rows = facts.first_least_by_study(is_hit, steps)
    first = at(hits, rows)
    others = np.where(is_hit, steps, LARGEST_INTEGER)
    others[rows[rows != NEVER]] = LARGEST_INTEGER
    n_reached = facts.sums_by_study(is_hit)
    return StudyResults(
        row=rows,
        steps=at(records.step, first),
        previous_step=at(records.previous_step, first),
        n_reached=n_reached,
        value=at(records.value, first),
        runner_up=np.where(n_reached > 1, facts.extreme_by_study(np.minimum, others, NEVER), NEVER),
    )


def study_bests(found: Search) -> StudyBests:
    """The best values of a workload's studies."""
    frontiers = found.frontiers
    if frontiers is None:
        rows = found.best_trials()
        return StudyBests(rows, at(found.records.value, at(found.best_records, rows)))
    offsets = frontiers.best.offsets
    last = np.where(np.diff(offsets) > 0, offsets[1:] - 1, NEVER)
    row = np.where(last == NEVER, NEVER, at(frontiers.row, last))
    return StudyBests(row, at(frontiers.best.merit, last) * -found.sign)


@dataclass(frozen=True)
class _Asked:
    """A merit to be exceeded."""

    merit: float

    def first_entries(self, staircase: Staircase) -> Integers:
        """By study, the first entry that reaches the merit; NEVER for none."""
        found = self._first(staircase.offsets, staircase.merit)
        return np.array([first if first < end else NEVER for first, end in found], np.int64)

    def n_reaching(self, frontiers: Frontiers) -> Integers:
        """By study, how many trials reach the merit."""
        found = self._first(frontiers.reach_offsets, frontiers.reach)
        return np.array([end - first for first, end in found], np.int64)

    def _first(self, offsets: Integers, merits: Floats) -> Iterator[tuple[int, int]]:
        """By study, the first that reaches the merit, and the end of those that could."""
        ascending = merits.data
        for start, end in pairwise(offsets.tolist()):
            yield bisect_right(ascending, self.merit, start, end), end
