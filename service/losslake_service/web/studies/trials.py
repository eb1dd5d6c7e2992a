"""The trials of a study: what became of each, when it reached the goal, its best value.

What the page of a study or trial looks at: a metric of the study, and a target where it can have one.
What a trial came to: when it reached each goal of its workload, its best value of each metric, and its ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from losslake.questions.release_view import ReleaseView
from losslake.questions.search import at, search
from losslake.questions.selection import Goal, Selection
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.reached import NEVER, NO_STEP, Flags, Floats, Integers
from losslake_schema.tables import STATUSES
from losslake_service.web.goals import GoalShown, goal_shown, goals_of


@dataclass(frozen=True)
class LookedAt:
    """metric: None where the study measures nothing. goal: None where nobody has said which way that is better."""

    metric: str | None
    goal: GoalShown | None


def looked_at(
    view: ReleaseView, facts: WorkloadFacts, study: int, metric: str | None, target: float | None
) -> LookedAt:
    """What is asked for, else the workload's first goal that its study of that index measures, else another metric.

    Raises UnknownName for a metric that the study doesn't measure.
    """
    measured = facts.metrics[study]
    if metric is not None:
        view.metric(facts, metric, study)
    name = metric or _usual(view, facts, measured)
    if name is None or view.metrics[name].direction is None:
        return LookedAt(name, None)
    return LookedAt(name, goal_shown(view, facts, name, target))


def _usual(view: ReleaseView, facts: WorkloadFacts, measured: tuple[str, ...]) -> str | None:
    own = [goal.metric for goal in goals_of(view, facts) if goal.metric in measured]
    directed = [name for name in measured if view.metrics[name].direction is not None]
    # By name the last one is on validation data.
    return own[0] if own else next(reversed(directed or measured), None)


@dataclass(frozen=True)
class StudyTrials:
    """The trials of a study in the order of trial_id, whatever their status; every array has an entry for each.

    status: index into STATUSES. last_step: NEVER for one that was never evaluated. steps: to the goal; NEVER if it is
    never reached. previous_step: of the evaluation before, NO_STEP for none. best_value: NaN where there is no finite
    one. n_records: how many of its evaluations were better than all before.
    """

    trial_id: Integers
    status: Integers
    last_step: Integers
    steps: Integers
    previous_step: Integers
    best_value: Floats
    best_step: Integers
    n_records: Integers
    is_minimized: bool = True

    @cached_property
    def counts(self) -> Flags:
        """Which trials count for steps to a target: those that completed, as everywhere."""
        return np.asarray(self.status == STATUSES.index("COMPLETE"))

    @cached_property
    def reached(self) -> Flags:
        """Which trials reached the goal."""
        return np.asarray(self.steps != NEVER)

    @cached_property
    def ranked(self) -> list[int]:
        """Those that count and reached the goal, the soonest first, ties to the lower number."""
        rows = np.flatnonzero(self.counts & self.reached)
        return [int(row) for row in rows[np.argsort(self.steps[rows], kind="stable")]]

    @cached_property
    def by_value(self) -> list[int]:
        """Those that count and have a value, the best first, ties to the lesser step, then to the lower number."""
        rows = np.flatnonzero(self.counts & ~np.isnan(self.best_value))
        losses = self.best_value[rows] * (1 if self.is_minimized else -1)
        return [int(row) for row in rows[np.lexsort((self.best_step[rows], losses))]]

    @property
    def best(self) -> int | None:
        """The trial to look at first: the soonest at the goal, else the one with the best value; None for none."""
        return next(iter(self.ranked or self.by_value), None)

    def row_of(self, trial_id: int) -> int:
        """Where a trial is by its number."""
        return int(np.searchsorted(self.trial_id, trial_id))


def study_trials(view: ReleaseView, facts: WorkloadFacts, study: int, looked: LookedAt) -> StudyTrials:
    """The trials of a workload's study of that index, with the goal that is looked at."""
    own = facts.rows_of(study)
    trials = facts.trials[own]
    if looked.goal is None:
        n = len(trials.trial_id)
        never, none = np.full(n, NEVER, np.int64), np.full(n, np.nan)
        zero = np.zeros(n, np.int64)
        return StudyTrials(trials.trial_id, trials.status, trials.last_step, never, never, none, never, zero)
    found = search(view, Selection((facts.workload,), looked.goal.metric, statuses=STATUSES), facts.workload)
    records = found.records
    hits, best = found.first_hits(Goal(looked.goal.target))[own], found.best_records[own]
    n_records = np.zeros(len(facts.trials.trial_id), np.int64)
    n_records[records.rows] = np.diff(records.offsets)
    return StudyTrials(
        trial_id=trials.trial_id,
        status=trials.status,
        last_step=trials.last_step,
        steps=np.where(hits == NEVER, NEVER, at(records.step, hits)),
        previous_step=np.where(hits == NEVER, NO_STEP, at(records.previous_step, hits)),
        best_value=np.where(best == NEVER, np.nan, at(records.value, best)),
        best_step=np.where(best == NEVER, NEVER, at(records.step, best)),
        n_records=n_records[own],
        is_minimized=looked.goal.direction == "minimize",
    )


@dataclass(frozen=True)
class Rank:
    """place: from 1 on, among so many."""

    place: int
    among: int


@dataclass(frozen=True)
class GoalResult:
    """steps: to the goal; None if it was never reached. previous_step: None for none. rank: among the trials that
    count and reached it; None if this one doesn't."""

    goal: GoalShown
    steps: int | None
    previous_step: int | None
    rank: Rank | None


@dataclass(frozen=True)
class MetricResult:
    """best_value, best_step: None where there is no finite value, or nobody has said which way is better.

    rank: by best value, among the trials that count and have one; None if this one doesn't.
    """

    metric: str
    unit: str
    direction: str | None
    best_value: float | None
    best_step: int | None
    rank: Rank | None


def goal_result(goal: GoalShown, trials: StudyTrials, row: int) -> GoalResult:
    """What a trial of a study, whose trials have that goal, came to."""
    if not trials.reached[row]:
        return GoalResult(goal, None, None, None)
    previous = int(trials.previous_step[row])
    rank = rank_in(trials.ranked, row)
    return GoalResult(goal, int(trials.steps[row]), previous if previous >= 0 else None, rank)


def goal_results(view: ReleaseView, facts: WorkloadFacts, study: int, row: int) -> Sequence[GoalResult]:
    """For each goal of the workload that the study measures. row: of the trial in its study."""
    goals = [goal for goal in goals_of(view, facts) if goal.metric in facts.metrics[study]]
    return [goal_result(goal, study_trials(view, facts, study, LookedAt(goal.metric, goal)), row) for goal in goals]


def metric_results(
    view: ReleaseView, facts: WorkloadFacts, study: int, row: int, names: Sequence[str]
) -> Sequence[MetricResult]:
    """For each of these metrics, which the study measures. row: of the trial in its study."""
    units = dict(view.rows("units_of_metrics", {"metrics": list(names)}))
    return [_metric_result(view, facts, study, row, name, units.get(name) or "") for name in names]


def rank_in(order: Sequence[int], row: int) -> Rank | None:
    """Where a trial is in an order; None if it isn't there."""
    return Rank(order.index(row) + 1, len(order)) if row in order else None


def _metric_result(view: ReleaseView, facts: WorkloadFacts, study: int, row: int, name: str, unit: str) -> MetricResult:
    direction = view.metrics[name].direction
    if direction is None:
        return MetricResult(name, unit, None, None, None, None)
    trials = study_trials(view, facts, study, LookedAt(name, GoalShown(name, 0.0, direction)))
    best, step = float(trials.best_value[row]), int(trials.best_step[row])
    is_there = best == best
    rank = rank_in(trials.by_value, row)
    return MetricResult(name, unit, direction, best if is_there else None, step if is_there else None, rank)
