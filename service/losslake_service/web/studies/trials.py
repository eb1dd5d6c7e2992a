"""The trials of a study: the status of each, its steps to the goal of the page, and its best value.

The results of one trial: its steps to each goal of its workload, its best value of each metric, and its ranks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from losslake.index.frontiers import COUNTED
from losslake.questions.declaration.measured import MeasureParameters
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.measure import Measure
from losslake.questions.trials.search import at, open_search
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.quantities import amount, counted
from losslake_schema.reached import NEVER, NO_STEP, Flags, Floats, Integers
from losslake_schema.statuses import STATUSES
from losslake_service.web.goals import PageGoal, goals_of, last_of_held_out, page_goal, usual_metric

Result = dict[str, Any]


@dataclass(frozen=True)
class SelectedGoal:
    """The metric and goal of a page. metric: None without measurements. goal: None without a known direction."""

    metric: str | None
    goal: PageGoal | None


def select_goal(
    view: ReleaseView, facts: WorkloadFacts, study: int, metric: str | None, target: float | None
) -> SelectedGoal:
    """Return the requested goal, else the workload's first goal that the study measures, else another metric.

    Raises UnknownName for a metric that the study doesn't measure.
    """
    measured = facts.metrics[study]
    if metric is not None:
        view.metric(facts, metric, study)
    name = metric or usual_metric(view, facts, measured) or last_of_held_out(measured)
    if name is None or view.metrics[name].direction is None:
        return SelectedGoal(name, None)
    return SelectedGoal(name, page_goal(view, facts, name, target))


@dataclass(frozen=True)
class StudyTrials:
    """All trials of a study in the order of trial_id; every array has an entry for each.

    status: index into STATUSES. last_step: of the goal's metric, if there is a goal; NEVER for none. steps: to the
    goal; NEVER if it was not reached. amounts: to the goal, in `noun`; NaN if it was not reached, or isn't known.
    previous_step: of the evaluation before the goal was reached; NO_STEP for none. best_value: NaN without a finite
    value. n_records: the evaluations that were better than all before. stopped_earlier: it ended at an easier goal of
    its own; None for none.
    """

    trial_id: Integers
    status: Integers
    last_step: Integers
    steps: Integers
    amounts: Floats
    previous_step: Integers
    best_value: Floats
    best_step: Integers
    n_records: Integers
    is_minimized: bool = True
    noun: str = "steps"
    stopped_earlier: Flags | None = None

    @cached_property
    def counts(self) -> Flags:
        """Flags of the trials that count for steps to a target: those that ran to their end."""
        return np.isin(self.status, [STATUSES.index(status) for status in COUNTED])

    @cached_property
    def reached(self) -> Flags:
        """Flags of the trials that reached the goal."""
        return np.asarray(self.steps != NEVER)

    @cached_property
    def censored(self) -> Flags:
        """Flags of the trials that ended at an easier goal: whether they would reach this one isn't known."""
        return np.zeros(len(self.trial_id), np.bool_) if self.stopped_earlier is None else self.stopped_earlier

    @cached_property
    def ranked(self) -> list[int]:
        """The counting trials that reached the goal, least amount first, then fewest steps, then the lower number."""
        rows = np.flatnonzero(self.counts & self.reached)
        return [int(row) for row in rows[np.lexsort((self.steps[rows], self.amounts[rows]))]]

    @cached_property
    def by_value(self) -> list[int]:
        """The counting trials with a value, best first; ties go to the lower step, then to the lower number."""
        rows = np.flatnonzero(self.counts & ~np.isnan(self.best_value))
        losses = self.best_value[rows] * (1 if self.is_minimized else -1)
        return [int(row) for row in rows[np.lexsort((self.best_step[rows], losses))]]

    @property
    def best(self) -> int | None:
        """The first trial to reach the goal, else the one with the best value; None if there is none."""
        return next(iter(self.ranked or self.by_value), None)

    def amount_in_words(self, row: int) -> str:
        """Return in words what a trial took to reach the goal: 1,642 steps; 70.2 seconds, 1,642 steps."""
        steps = counted(int(self.steps[row]), "step")
        if self.noun == "steps":
            return steps
        if math.isnan(self.amounts[row]):
            return f"{steps} in an unknown time" if "seconds" in self.noun else f"{steps}, {self.noun} unknown"
        return f"{amount(self.amounts[row])} {self.noun}, {steps}"

    def row_of(self, trial_id: int) -> int:
        """Return the row of a trial by its number."""
        return int(np.searchsorted(self.trial_id, trial_id))


def study_trials(
    view: ReleaseView, facts: WorkloadFacts, study: int, goal: PageGoal | None, counted: MeasureParameters | None = None
) -> StudyTrials:
    """Return the trials of a workload's study of that index, with what they take to the goal.

    counted: default: steps. Raises BadParameter where it can't be counted.
    """
    rows = facts.rows_of(study)
    trials = facts.trials[rows]
    if goal is None:
        n = len(trials.trial_id)
        never, none = np.full(n, NEVER, np.int64), np.full(n, np.nan)
        zero = np.zeros(n, np.int64)
        return StudyTrials(trials.trial_id, trials.status, trials.last_step, never, none, never, none, never, zero)
    selection = Selection((facts.workload,), goal.metric, statuses=STATUSES, with_schedules=True)
    evaluations = open_search(view, selection, facts.workload)
    records = evaluations.records
    all_hits = evaluations.first_hits(Goal(goal.target, goal.comparator))
    hits, best = all_hits[rows], evaluations.best_records[rows]
    measure = Measure.of(view, evaluations, (counted or MeasureParameters()).counting())
    n_records = np.zeros(len(facts.trials.trial_id), np.int64)
    n_records[records.rows] = np.diff(records.offsets)
    return StudyTrials(
        trial_id=trials.trial_id,
        status=trials.status,
        last_step=evaluations.last_evaluated[rows],
        steps=np.where(hits == NEVER, NEVER, at(records.step, hits)),
        amounts=np.where(hits == NEVER, np.nan, measure.of_trials(all_hits)[rows]),
        previous_step=np.where(hits == NEVER, NO_STEP, at(records.previous_step, hits)),
        best_value=np.where(best == NEVER, np.nan, at(records.value, best)),
        best_step=np.where(best == NEVER, NEVER, at(records.step, best)),
        n_records=n_records[rows],
        is_minimized=goal.direction == "minimize",
        noun=measure.noun,
        stopped_earlier=evaluations.stopped_earlier(Goal(goal.target, goal.comparator))[rows],
    )


def goal_results(
    view: ReleaseView, facts: WorkloadFacts, study: int, row: int, counted: MeasureParameters
) -> Iterator[Result]:
    """Yield, for each goal of the workload that the study measures, what a trial takes to it, and its rank.

    row: of the trial in its study. steps: None if the goal was not reached. amount: None if it isn't known.
    """
    for goal in goals_of(view, facts):
        if goal.metric in facts.metrics[study]:
            trials = study_trials(view, facts, study, goal, counted)
            steps = int(trials.steps[row]) if trials.reached[row] else None
            known_amount = None if math.isnan(trials.amounts[row]) else float(trials.amounts[row])
            yield {"goal": goal, "steps": steps, "amount": known_amount, "rank": rank_in(trials.ranked, row)}


def metric_results(
    view: ReleaseView, facts: WorkloadFacts, study: int, row: int, names: Sequence[str]
) -> Iterator[Result]:
    """Yield, for each of these metrics, which the study measures, the best value of a trial and its rank by that.

    row: of the trial in its study. best_value, best_step: None without a finite value. direction: None if unknown,
    then there are no other fields.
    """
    units = dict(view.rows("units_of_metrics", {"metrics": list(names)}))
    for name in names:
        result: Result = {"metric": name, "unit": units.get(name), "direction": view.metrics[name].direction}
        if result["direction"] is not None:
            trials = study_trials(view, facts, study, PageGoal(name, 0.0, result["direction"]))
            value = float(trials.best_value[row])
            result["best_value"] = None if math.isnan(value) else value
            result["best_step"] = int(trials.best_step[row])
            result["rank"] = rank_in(trials.by_value, row)
        yield result


def rank_in(order: Sequence[int], row: int) -> tuple[int, int] | None:
    """Return the rank of a trial in an order, from 1, and the length of the order; None if it isn't in it."""
    return (order.index(row) + 1, len(order)) if row in order else None
