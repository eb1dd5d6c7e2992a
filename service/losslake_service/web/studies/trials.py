"""The trials of a study: what became of each, when it reached the goal, its best value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from losslake.questions.release_view import ReleaseView
from losslake.questions.search import at, search
from losslake.questions.selection import Goal, Selection
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.reached import NEVER, NO_STEP, Flags, Floats, Integers
from losslake_schema.tables import STATUSES
from losslake_service.web.studies.goal import LookedAt


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
