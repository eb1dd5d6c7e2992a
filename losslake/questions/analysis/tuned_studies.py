"""The metaparameters of a workload's trials, and its studies as the mathematics of metaparameters takes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake.analysis.effective_learning_rate import effective_learning_rates, momentum_or_plain
from losslake.analysis.tuned_study import TunedStudy
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.reached import Flags, Floats, Integers
from losslake_schema.tables import STATUSES

_INFEASIBLE = STATUSES.index("INFEASIBLE")


@dataclass(frozen=True)
class Metaparameters:
    """Numeric metaparameters of a workload's trials, in the order of facts.trials.

    names: sorted. values: shape (trials, names), NaN where a trial has none of that name.
    """

    names: tuple[str, ...]
    values: Floats

    @property
    def learning_rate(self) -> Floats:
        return self.of("learning_rate")

    @property
    def momentum(self) -> Floats:
        """0 in plain SGD, where no trial has one."""
        return momentum_or_plain(self.of("momentum"))

    @property
    def effective_learning_rate(self) -> Floats:
        return effective_learning_rates(self.learning_rate, self.momentum)

    def of(self, name: str) -> Floats:
        """By trial, the metaparameter of that name."""
        if name not in self.names:
            return np.full(len(self.values), np.nan)
        found: Floats = self.values[:, self.names.index(name)]
        return found

    def by_name(self, row: int) -> list[tuple[str, float]]:
        """The metaparameters that a trial has."""
        values: list[float] = self.values[row].tolist()
        return [(name, value) for name, value in zip(self.names, values, strict=True) if value == value]

    def ends(self, rows: Integers) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """The least and the greatest value that any of these trials has, by metaparameter."""
        own = self.values[rows]
        kept = np.flatnonzero(~np.isnan(own).all(axis=0))
        names = [self.names[column] for column in kept]
        least, most = np.fmin.reduce(own[:, kept]).tolist(), np.fmax.reduce(own[:, kept]).tolist()
        return list(zip(names, least, strict=True)), list(zip(names, most, strict=True))


@dataclass(frozen=True)
class PlacedStudy:
    """A study, and which rows of facts.trials its trials are."""

    rows: Integers
    tuned: TunedStudy


def metaparameters_of(view: ReleaseView, facts: WorkloadFacts) -> Metaparameters:
    """Read the numeric metaparameters of a workload's trials."""
    asked = {"first_study": facts.first_study, "last_study": facts.last_study}
    found = view.table("metaparameters_of_trials", asked)
    encoded = found["name"].combine_chunks().dictionary_encode()
    known = encoded.dictionary.to_pylist()
    names = sorted(known)
    column = np.array([names.index(name) for name in known], np.int64)
    values = np.full((len(facts.trials.trial_id), len(names)), np.nan)
    given = found["value"].combine_chunks().fill_null(np.nan).to_numpy(zero_copy_only=False)
    values[found["row"].to_numpy(), column[encoded.indices.to_numpy()]] = given
    return Metaparameters(tuple(names), values)


def tuned_studies(
    found: Search, steps: Floats, metaparameters: Metaparameters, trials: int | None
) -> list[PlacedStudy]:
    """By study, the trials that count for metaparameters: those admitted, and those that diverged beside them.

    steps: by trial, inf for never. trials: as the selection has it; then of those that diverged only the ones with a
    lower number than the last trial admitted. A trial that diverged has its steps only if the selection admits it.
    """
    facts = found.facts
    diverged = facts.trials.status == _INFEASIBLE
    counts = found.admitted | (diverged if trials is None else diverged & _before_the_last(found))
    learning_rate, momentum = metaparameters.learning_rate, metaparameters.momentum
    studies = []
    for index, batch_size in enumerate(facts.batch_sizes):
        own = facts.rows_of(index)
        rows = own.start + np.flatnonzero(counts[own])
        is_infeasible = diverged[rows] & ~np.isfinite(steps[rows])
        tuned = TunedStudy(float(batch_size), steps[rows], learning_rate[rows], momentum[rows], is_infeasible)
        studies.append(PlacedStudy(rows, tuned))
    return studies


def _before_the_last(found: Search) -> Flags:
    """By trial, whether a later one of its study is admitted."""
    flags = np.zeros(len(found.admitted), bool)
    for index in range(len(found.facts.batch_sizes)):
        own = found.facts.rows_of(index)
        flags[own] = np.logical_or.accumulate(found.admitted[own][::-1])[::-1]
    return flags
