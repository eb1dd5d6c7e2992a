"""Searching the records of a workload's trials: first hits of a target, and best values.

Records of a trial get strictly better step by step. So the first hit of a target is found by bisection, and the best
value within a budget is the last record within it.

What answers about a selection say of the whole of it, before their rows.
Searching some batch sizes of a workload alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from losslake.index.frontiers import COUNTED, Frontiers
from losslake.index.records import TrialRecords, trial_records
from losslake.index.study_files import StudyRecords
from losslake.questions.errors import BadParameter
from losslake.questions.release_view import Metric, ReleaseView
from losslake.questions.selection import Goal, Selection
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.names import LARGEST_INTEGER, Study, Workload
from losslake_schema.reached import NEVER, Flags, Integers, sign_of, strict_bound
from losslake_schema.tables import STATUSES


@dataclass(frozen=True)
class Search:
    """The trials of one workload, in the order of facts.trials, with those records that a selection admits.

    admitted: of an admitted status, and among the first so many. limits: by study, the last step within the budgets;
    None without a budget. open_records: gives the records. open_frontiers: gives the frontiers of those admitted; None
    where there are none for them.
    """

    facts: WorkloadFacts
    metric: str
    direction: str
    admitted: Flags
    limits: Integers | None
    open_records: Callable[[], TrialRecords]
    open_frontiers: Callable[[], Frontiers] | None

    def among(self, chosen: Flags) -> Search:
        """The same with fewer trials admitted; chosen: by trial."""
        return replace(self, admitted=self.admitted & chosen, open_frontiers=None)

    @property
    def sign(self) -> float:
        """1 to minimize, -1 to maximize."""
        return sign_of(self.direction)

    @cached_property
    def records(self) -> TrialRecords:
        """The records of the trials that have any, admitted or not."""
        return self.open_records()

    @property
    def rows(self) -> Integers:
        """Where in facts.trials each trial with records is."""
        return self.records.rows

    @cached_property
    def ends(self) -> Integers:
        """Of each trial with records, where those within the budgets end."""
        return self.records.offsets[1:] if self.limits is None else _ends_within(self.records, self.facts, self.limits)

    @cached_property
    def frontiers(self) -> Frontiers | None:
        """Of the admitted trials; None where only their records can be searched."""
        return None if self.open_frontiers is None else self.open_frontiers()

    def first_hits(self, goal: Goal) -> Integers:
        """By trial, which record is the first that reaches the goal; NEVER for none, or for a trial not admitted."""
        values, sign = self.records.value, self.sign
        bound = strict_bound(sign * goal.target, goal.comparator)

        def reaches(record: Integers) -> Flags:
            return values[record] * sign < bound

        first = _first_where(self.records.offsets[:-1], self.ends, reaches)
        return self._of_all_trials(np.where(first < self.ends, first, NEVER))

    @cached_property
    def best_records(self) -> Integers:
        """By trial, which record is its best; NEVER for none, or for a trial not admitted."""
        return self._of_all_trials(np.where(self.ends > self.records.offsets[:-1], self.ends - 1, NEVER))

    @cached_property
    def n_admitted(self) -> Integers:
        """By study, how many trials are admitted."""
        return self.facts.sums_by_study(self.admitted)

    @cached_property
    def observed_until(self) -> Integers:
        """By trial, the last step at which it was seen within the budgets; NEVER if at none, or if not admitted."""
        last = self.facts.trials.last_step
        if self.limits is not None:
            last = np.minimum(last, self.limits[self.facts.study_of_trial])
        return np.where(self.admitted, last, NEVER)

    @cached_property
    def last_steps(self) -> Integers:
        """By study, the last step up to which any admitted trial was seen within the budgets; NEVER for none."""
        return self.facts.extreme_by_study(np.maximum, self.observed_until, NEVER)

    def fewest_steps(self, hits: Integers) -> Integers:
        """By study, the row of the trial with the least steps, ties to the lower number; NEVER for none."""
        return self.facts.first_least_by_study(hits != NEVER, at(self.records.step, hits))

    def best_trials(self) -> Integers:
        """By study, the row of the trial with the best value, ties to the lesser step, then to the lower number."""
        best = self.best_records
        losses = at(self.records.value, best) * self.sign
        return self.facts.first_least_by_study(best != NEVER, losses, at(self.records.step, best))

    def _of_all_trials(self, found: Integers) -> Integers:
        spread = np.full(len(self.admitted), NEVER, np.int64)
        spread[self.rows] = found
        spread[~self.admitted] = NEVER
        return spread


def at(values: npt.NDArray[Any], records: Integers) -> npt.NDArray[Any]:
    """The values of these records; of NEVER whatever comes."""
    return values[records] if len(values) else np.zeros(len(records), values.dtype)


def searches_of(view: ReleaseView, selection: Selection) -> list[Search]:
    """A search in each selected workload; raises UnknownName and BadParameter."""
    return [search(view, selection, workload) for workload in selection.workloads]


def check_batch_size(parameter: str, batch_size: int | None, searches: Sequence[Search]) -> None:
    """Raise BadParameter unless any of the workloads has this batch size."""
    known = sorted({size for found in searches for size in found.facts.batch_sizes})
    if batch_size is not None and batch_size not in known:
        listed = ", ".join(map(str, known))
        raise BadParameter(parameter, f"{parameter}={batch_size} is no batch size here: give one of {listed}")


def examples_of(steps: int, batch_size: int) -> int | None:
    """How many examples so many steps take; None where that exceeds 64 bits."""
    examples = steps * batch_size
    return examples if examples <= LARGEST_INTEGER else None


def search(view: ReleaseView, selection: Selection, workload: Workload) -> Search:
    """Open the records that answer questions about a workload; raises UnknownName and BadParameter."""
    facts = view.workload(workload)
    metric = view.metric(facts, selection.metric)
    direction = selection.direction or metric.direction
    if direction is None:
        why = f"nobody has said which way {metric.name} is better: give direction=minimize or direction=maximize"
        raise BadParameter("direction", why)
    limits = _step_limits(facts, selection)
    is_own = direction == metric.direction
    is_plain = is_own and limits is None and selection.trials is None and selection.statuses == COUNTED
    return Search(
        facts=facts,
        metric=metric.name,
        direction=direction,
        admitted=_admitted(facts, selection),
        limits=limits,
        open_records=partial(facts.opened.records, metric.name)
        if is_own
        else partial(_records_of_measurements, view, facts, metric, sign_of(direction)),
        open_frontiers=partial(facts.opened.frontiers, metric.name) if is_plain else None,
    )


def _first_where(starts: Integers, ends: Integers, holds: Callable[[Integers], Flags]) -> Integers:
    """In each range, the first index for which `holds`; its end if for none. From an index that holds on, all do."""
    # Nothing before `first` holds; it moves on by halving strides, as long as nothing on the way holds either.
    first = starts
    stride = 1 << int((ends - starts).max(initial=0)).bit_length() >> 1
    while stride:
        beyond = first + stride
        first = np.where((beyond <= ends) & ~holds(np.minimum(beyond, ends) - 1), beyond, first)
        stride >>= 1
    return first


def _records_of_measurements(view: ReleaseView, facts: WorkloadFacts, metric: Metric, sign: float) -> TrialRecords:
    """The records for the other direction, found in the measurements."""
    asked = {
        "files": [view.store.name_for_queries(file.path) for file in view.measurement_files(facts)],
        "batch_sizes": facts.batch_sizes,
        "metric": metric.name,
        "sign": sign,
    }
    columns = view.query("records_of_measurements", asked).fetchnumpy()
    study, trial_id, step, previous_step = (
        np.asarray(columns[name], np.int64) for name in ("study", "trial_id", "step", "previous_step")
    )
    value, elapsed_s = np.asarray(columns["value"], np.float64), np.full(len(study), np.nan)
    ends = np.searchsorted(study, np.arange(len(facts.batch_sizes) + 1))
    parts = [
        StudyRecords(
            trial_id[start:end], step[start:end], previous_step[start:end], value[start:end], elapsed_s[start:end]
        )
        for start, end in pairwise(ends.tolist())
    ]
    return trial_records(facts.opened.trials, parts)


def _ends_within(records: TrialRecords, facts: WorkloadFacts, limits: Integers) -> Integers:
    """Of each trial with records, where those within the budgets end."""
    of_trial = limits[facts.study_of_trial[records.rows]]
    return _first_where(records.offsets[:-1], records.offsets[1:], lambda record: records.step[record] > of_trial)


def _step_limits(facts: WorkloadFacts, selection: Selection) -> Integers | None:
    """By study, the last step within both budgets; None without a budget."""
    if selection.step_budget is None and selection.example_budget is None:
        return None
    steps = LARGEST_INTEGER if selection.step_budget is None else selection.step_budget
    if selection.example_budget is None:
        return np.full(len(facts.batch_sizes), steps, np.int64)
    # A batch size of 0 makes no examples.
    limits = [min(steps, selection.example_budget // size) if size else steps for size in facts.batch_sizes]
    return np.array(limits, np.int64)


def _admitted(facts: WorkloadFacts, selection: Selection) -> Flags:
    is_admitted = np.array([status in selection.statuses for status in STATUSES])
    admitted: Flags = is_admitted[facts.trials.status]
    if selection.trials is not None:
        for index in range(len(facts.batch_sizes)):
            own = admitted[facts.rows_of(index)]
            own &= np.cumsum(own) <= selection.trials
    return admitted


def selection_facts(view: ReleaseView, selection: Selection, direction: str) -> dict[str, Any]:
    """The release, the workloads, the metric, its direction and every restriction, as they were applied."""
    return {
        "release": view.number,
        "workloads": [str(workload) for workload in selection.workloads],
        "metric": selection.metric,
        "direction": direction,
        "step_budget": selection.step_budget,
        "example_budget": selection.example_budget,
        "trials": selection.trials,
        "status": list(selection.statuses),
    }


def of_batch_sizes(view: ReleaseView, found: Search, batch_sizes: Sequence[int]) -> Search:
    """The search among the trials of these batch sizes; of all where none is given. Raises UnknownName."""
    if not batch_sizes:
        return found
    facts = found.facts
    wanted = np.zeros(len(facts.batch_sizes), np.bool_)
    for batch_size in batch_sizes:
        wanted[view.study(Study(facts.workload, batch_size))[1]] = True
    return found.among(wanted[facts.study_of_trial])
