"""The metaparameters and outcomes of a workload's trials, by study."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake.analysis.goal_region import outcomes
from losslake.analysis.tuned_study import TunedStudy, effective_learning_rates, momentum_or_plain
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.search import Search
from losslake.questions.trials.selection import Goal
from losslake_schema.reached import NEVER, Flags, Floats, Integers
from losslake_schema.statuses import INCOMPLETE, INFEASIBLE, STATUSES

_DIVERGED = STATUSES.index(INFEASIBLE)


@dataclass(frozen=True)
class Metaparameters:
    """Numeric metaparameters of a workload's trials, as in facts.trials.

    names: sorted. values: shape (trials, names), NaN where a trial has none of that name.
    """

    names: tuple[str, ...]
    values: Floats

    @property
    def learning_rate(self) -> Floats:
        """The learning rate by trial; NaN without one."""
        return self.of("learning_rate")

    @property
    def momentum(self) -> Floats:
        """The momentum by trial; 0 in plain SGD, where no trial has one."""
        return momentum_or_plain(self.of("momentum"))

    @property
    def effective_learning_rate(self) -> Floats:
        """learning_rate / (1 - momentum)."""
        return effective_learning_rates(self.learning_rate, self.momentum)

    def of(self, name: str) -> Floats:
        """Return the metaparameter of that name by trial."""
        if name not in self.names:
            return np.full(len(self.values), np.nan)
        column: Floats = self.values[:, self.names.index(name)]
        return column

    def by_name(self, row: int) -> list[tuple[str, float]]:
        """Return the metaparameters of a trial."""
        values: list[float] = self.values[row].tolist()
        return [(name, value) for name, value in zip(self.names, values, strict=True) if value == value]

    def ends(self, rows: Integers) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """Return the least and the greatest value of each metaparameter over these trials."""
        values = self.values[rows]
        kept = np.flatnonzero(~np.isnan(values).all(axis=0))
        names = [self.names[column] for column in kept]
        least, most = np.fmin.reduce(values[:, kept]).tolist(), np.fmax.reduce(values[:, kept]).tolist()
        return list(zip(names, least, strict=True)), list(zip(names, most, strict=True))


@dataclass(frozen=True)
class PlacedStudy:
    """A study, and the rows of facts.trials that are its trials."""

    rows: Integers
    tuned: TunedStudy


def metaparameters_of(view: ReleaseView, facts: WorkloadFacts) -> Metaparameters:
    """Read the numeric metaparameters of a workload's trials."""
    table = view.table("metaparameters_of_trials", facts.study_ids)
    encoded = table["name"].combine_chunks().dictionary_encode()
    stored_names = encoded.dictionary.to_pylist()
    names = sorted(stored_names)
    column = np.array([names.index(name) for name in stored_names], np.int64)
    values = np.full((len(facts.trials.trial_id), len(names)), np.nan)
    numbers = table["value"].combine_chunks().fill_null(np.nan).to_numpy(zero_copy_only=False)
    values[table["row"].to_numpy(), column[encoded.indices.to_numpy()]] = numbers
    return Metaparameters(tuple(names), values)


def tuned_studies(
    search: Search, steps: Floats, metaparameters: Metaparameters, trials: int | None
) -> list[PlacedStudy]:
    """Return by study the trials that count for metaparameters: admitted ones, and those that diverged.

    steps: by trial, inf for never. trials: as the selection has it; then of those that diverged only the ones with a
    lower number than the last trial admitted. A trial that diverged has its steps only if the selection admits it.
    """
    facts = search.facts
    diverged = facts.trials.status == _DIVERGED
    counts = search.admitted | (diverged if trials is None else diverged & _before_the_last(search))
    learning_rate, momentum = metaparameters.learning_rate, metaparameters.momentum
    studies = []
    for batch_size, rows in zip(facts.batch_sizes, facts.rows_where(counts), strict=True):
        is_infeasible = diverged[rows] & ~np.isfinite(steps[rows])
        tuned = TunedStudy(float(batch_size), steps[rows], learning_rate[rows], momentum[rows], is_infeasible)
        studies.append(PlacedStudy(rows, tuned))
    return studies


def _before_the_last(search: Search) -> Flags:
    """Return True for the trials up to the last admitted one of their study."""
    flags = np.zeros(len(search.admitted), bool)
    for index in range(len(search.facts.batch_sizes)):
        study_rows = search.facts.rows_of(index)
        flags[study_rows] = np.logical_or.accumulate(search.admitted[study_rows][::-1])[::-1]
    return flags


def outcomes_of(search: Search, goal: Goal, hits: Integers, rows: Integers) -> Integers:
    """Return the class of each of these trials, as an index of goal_region.OUTCOMES.

    hits: first hits of the goal. rows: in facts.trials. What stopped earlier, at an easier goal, is incomplete.
    """
    status = search.facts.trials.status[rows]
    is_incomplete = (status == STATUSES.index(INCOMPLETE)) | search.stopped_earlier(goal)[rows]
    return outcomes(hits[rows] != NEVER, status == _DIVERGED, is_incomplete)
