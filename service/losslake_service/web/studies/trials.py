"""The trials of a study: what became of each, when it reached the goal that a page looks at, its best value.

What one trial came to: when it reached each goal of its workload, its best value of each metric, and its ranks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from losslake.questions.release_view import ReleaseView
from losslake.questions.search import at, search
from losslake.questions.selection import Goal, Selection
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.reached import NEVER, NO_STEP, Flags, Floats, Integers
from losslake_schema.tables import STATUSES
from losslake_service.web.goals import GoalShown, goal_shown, goals_of

Result = dict[str, Any]


@dataclass(frozen=True)
class LookedAt:
    """metric: None where the study measures nothing. goal: None where nobody has said which way that is better."""

    metric: str | None
    goal: GoalShown | None


def looked_at(
    view: ReleaseView, facts: WorkloadFacts, study: int, metric: str | None, target: float | None
) -> LookedAt:
    """Return what is wanted, else the workload's first goal that its study of that index measures, else another metric.

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
    goals = [goal.metric for goal in goals_of(view, facts) if goal.metric in measured]
    directed = [name for name in measured if view.metrics[name].direction is not None]
    # By name the last one is on validation data.
    return goals[0] if goals else next(reversed(directed or measured), None)


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


def study_trials(view: ReleaseView, facts: WorkloadFacts, study: int, goal: GoalShown | None) -> StudyTrials:
    """Return the trials of a workload's study of that index, with the goal that is looked at."""
    rows = facts.rows_of(study)
    trials = facts.trials[rows]
    if goal is None:
        n = len(trials.trial_id)
        never, none = np.full(n, NEVER, np.int64), np.full(n, np.nan)
        zero = np.zeros(n, np.int64)
        return StudyTrials(trials.trial_id, trials.status, trials.last_step, never, never, none, never, zero)
    evaluations = search(view, Selection((facts.workload,), goal.metric, statuses=STATUSES), facts.workload)
    records = evaluations.records
    hits, best = evaluations.first_hits(Goal(goal.target))[rows], evaluations.best_records[rows]
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
        n_records=n_records[rows],
        is_minimized=goal.direction == "minimize",
    )


def goal_results(view: ReleaseView, facts: WorkloadFacts, study: int, row: int) -> Iterator[Result]:
    """Yield, for each goal of the workload that the study measures, the steps to it and the rank of a trial.

    row: of the trial in its study. steps: None if it was never reached.
    """
    for goal in goals_of(view, facts):
        if goal.metric in facts.metrics[study]:
            trials = study_trials(view, facts, study, goal)
            steps = int(trials.steps[row]) if trials.reached[row] else None
            yield {"goal": goal, "steps": steps, "rank": rank_in(trials.ranked, row)}


def metric_results(
    view: ReleaseView, facts: WorkloadFacts, study: int, row: int, names: Sequence[str]
) -> Iterator[Result]:
    """Yield, for each of these metrics, which the study measures, the best value of a trial and its rank by that.

    row: of the trial in its study. best_value, best_step: None where there is no finite value. direction: None, and
    nothing more, where nobody has said which way is better.
    """
    units = dict(view.rows("units_of_metrics", {"metrics": list(names)}))
    for name in names:
        result: Result = {"metric": name, "unit": units.get(name), "direction": view.metrics[name].direction}
        if result["direction"] is not None:
            trials = study_trials(view, facts, study, GoalShown(name, 0.0, result["direction"]))
            value = float(trials.best_value[row])
            result["best_value"] = None if math.isnan(value) else value
            result["best_step"] = int(trials.best_step[row])
            result["rank"] = rank_in(trials.by_value, row)
        yield result


def rank_in(order: Sequence[int], row: int) -> tuple[int, int] | None:
    """Return the place of a trial in an order, from 1 on, and among how many; None if it isn't there."""
    return (order.index(row) + 1, len(order)) if row in order else None
