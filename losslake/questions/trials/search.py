"""Searches in the records of a workload's trials: first hits of a target, and best values.

Records of a trial get strictly better step by step. So the first hit of a target is found by bisection, and the best
value within a budget is the last record within it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, TypeVar
from weakref import ReferenceType, ref

import numpy as np
import numpy.typing as npt

from losslake.analysis.crossings import resolution
from losslake.index.frontiers import COUNTED, Frontiers
from losslake.index.records import TrialRecords, trial_records
from losslake.index.study_files import StudyRecords
from losslake.output.columns import Nullable
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.pool import Pool, of_fixed_sizes
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.examples import step_limits
from losslake.questions.trials.result_rule import ResultRule, result_rule
from losslake.questions.trials.schedules import is_finished
from losslake.questions.trials.selection import Goal, Selection
from losslake.questions.trials.trials_where import chosen_trials
from losslake_schema.names import CHANGES, LARGEST_INTEGER, Workload
from losslake_schema.reached import NEVER, Flags, Integers, sign_of, strict_bound
from losslake_schema.statuses import STATUSES

T = TypeVar("T")


@dataclass(frozen=True)
class Search:
    """The trials of one workload, as in facts.trials, with the records that a selection admits.

    admitted: of a study with the metric and an admitted status, and among the first so many. limits: by trial, the last
    step within the budgets; None without a budget. has_frontiers: True if there are frontiers of those admitted.
    selection: that admits them. view_reference: of the release, which keeps searches and isn't to be kept by them.
    """

    view_reference: ReferenceType[ReleaseView]
    facts: WorkloadFacts
    selection: Selection
    metric: str
    direction: str
    admitted: Flags
    limits: Integers | None
    has_frontiers: bool
    _kept: dict[Callable[[Search], Any], Any] = field(default_factory=dict, init=False, repr=False)
    _hits: dict[Goal, Integers] = field(default_factory=dict, init=False, repr=False)

    @property
    def view(self) -> ReleaseView:
        """The release, which whoever searches it holds."""
        view = self.view_reference()
        assert view is not None
        return view

    def among(self, chosen: Flags) -> Search:
        """Return the search with only these trials admitted. chosen: by trial."""
        return replace(self, admitted=self.admitted & chosen, has_frontiers=False)

    @cached_property
    def rule(self) -> ResultRule:
        """The result of a study: that of its best trial, or of its best setting."""
        return result_rule(self.facts, self.selection, self.admitted)

    def once(self, compute: Callable[[Search], T]) -> T:
        """Return what a function returns for this search, computed once: something that no goal changes."""
        if compute not in self._kept:
            self._kept[compute] = compute(self)
        value: T = self._kept[compute]
        return value

    @cached_property
    def is_stored(self) -> bool:
        """True for the metric's own direction, in which records are stored."""
        return self.direction == self.view.metrics[self.metric].direction

    @cached_property
    def sign(self) -> float:
        """1 to minimize, -1 to maximize."""
        return sign_of(self.direction)

    @cached_property
    def records(self) -> TrialRecords:
        """The records of the trials that have any, admitted or not."""
        if self.is_stored:
            return self.facts.opened.records(self.metric)
        return _records_of_measurements(self.view, self.facts, self.metric, self.sign)

    @property
    def rows(self) -> Integers:
        """The row in facts.trials of each trial with records."""
        return self.records.rows

    @cached_property
    def ends(self) -> Integers:
        """Return the end of the records within the budgets, by trial with records."""
        return self.records.offsets[1:] if self.limits is None else _ends_within(self.records, self.limits)

    @cached_property
    def frontiers(self) -> Frontiers | None:
        """The frontiers of the admitted trials; None where only their records can be searched."""
        return self.facts.opened.frontiers(self.metric) if self.has_frontiers else None

    def first_hits(self, goal: Goal) -> Integers:
        """Return by trial its first record that reaches the goal; NEVER for none, or for a trial not admitted.

        The array can't be written to: that of the goal before is kept, since an answer needs it several times.
        """
        hits = self._hits.get(goal)
        if hits is None:
            hits = self._first_hits(goal)
            hits.setflags(write=False)
            self._hits.clear()
            self._hits[goal] = hits
        return hits

    def _first_hits(self, goal: Goal) -> Integers:
        values, sign = self.records.value, self.sign
        bound = strict_bound(sign * goal.target, goal.comparator)

        def reaches(record: Integers) -> Flags:
            return values[record] * sign < bound

        first = _first_where(self.records.offsets[:-1], self.ends, reaches)
        return self._of_all_trials(np.where(first < self.ends, first, NEVER))

    def stopped_earlier(self, goal: Goal) -> Flags:
        """Return by trial True if it ended at an easier goal: whether it would reach this one is unknown."""
        stopped = self._ended_at_any_goal
        return stopped & (self.first_hits(goal) == NEVER) if stopped.any() else stopped

    @cached_property
    def _ended_at_any_goal(self) -> Flags:
        """Return by trial True if it is admitted and its last evaluation is within the budgets and reached a goal."""
        ended: Flags = self.admitted & (self.ended_at_goal != NEVER)
        if self.limits is not None:
            ended &= self.ended_at_goal <= self.limits
        return ended

    @cached_property
    def ended_at_goal(self) -> Integers:
        """Return by trial the step of its last evaluation if that is its first to reach a goal; NEVER for others."""
        if self.is_stored or self.view.metrics[self.metric].direction is None:
            return _ended_at_goal(self.view, self.facts, self.metric, self.direction)
        return np.full(len(self.admitted), NEVER, np.int64)

    @cached_property
    def best_records(self) -> Integers:
        """By trial, its best record; NEVER for none, or for a trial not admitted."""
        return self._of_all_trials(np.where(self.ends > self.records.offsets[:-1], self.ends - 1, NEVER))

    def last_records(self, limits: Integers) -> Integers:
        """Return by trial its best record up to a last step by study; NEVER for none, or for a trial not admitted."""
        ends = np.minimum(self.ends, _ends_within(self.records, limits[self.facts.study_of_trial]))
        return self._of_all_trials(np.where(ends > self.records.offsets[:-1], ends - 1, NEVER))

    @cached_property
    def n_admitted(self) -> Integers:
        """The number of admitted trials by study."""
        return self.facts.sums_by_study(self.admitted)

    @property
    def last_evaluated(self) -> Integers:
        """By trial of a study with the metric, the last step at which it was evaluated in it; NEVER for none."""
        return self.facts.opened.last_steps(self.metric)

    @cached_property
    def observed_until(self) -> Integers:
        """By trial, its last evaluation, or the budget if it was evaluated beyond it; NEVER if not admitted.

        Its steps to a target are those of an evaluation, so without a hit within the budget they are beyond it.
        """
        last = self.last_evaluated
        if self.limits is not None:
            last = np.minimum(last, self.limits)
        return np.where(self.admitted, last, NEVER)

    @cached_property
    def last_steps(self) -> Integers:
        """By study, the last of these; NEVER for none."""
        return self.facts.extreme_by_study(np.maximum, self.observed_until, NEVER)

    def best_trials(self) -> Integers:
        """Return by study the row of the trial with the best value, ties to the smaller step, then trial_id."""
        best = self.best_records
        losses = at(self.records.value, best) * self.sign
        return self.facts.first_least_by_study(best != NEVER, losses, at(self.records.step, best))

    def _of_all_trials(self, records: Integers) -> Integers:
        spread = np.full(len(self.admitted), NEVER, np.int64)
        spread[self.rows] = records
        spread[~self.admitted] = NEVER
        return spread


def at(values: npt.NDArray[Any], records: Integers) -> npt.NDArray[Any]:
    """Return the values at these indices; entries that are NEVER give an undefined value."""
    return values[records] if len(values) else np.zeros(len(records), values.dtype)


def open_searches(view: ReleaseView, selection: Selection, *, with_schedules: bool = False) -> list[Search]:
    """Return a search in each selected workload; raises UnknownName and BadParameter.

    with_schedules: include trials whose batch size changes.
    """
    if with_schedules:
        selection = replace(selection, with_schedules=True)
    return [open_search(view, selection, workload) for workload in selection.workloads]


def check_batch_size(parameter: str, batch_size: int | None, searches: Sequence[Search]) -> None:
    """Raise BadParameter unless any of the workloads has this batch size."""
    sizes = sorted({size for search in searches for size in search.facts.batch_sizes} - {CHANGES})
    if batch_size is not None and batch_size not in sizes:
        listed = ", ".join(map(str, sizes))
        raise BadParameter(parameter, f"{parameter}={batch_size} is no batch size here: give one of {listed}")


def column_at(values: npt.NDArray[Any], rows: Integers) -> Nullable:
    """Return the values of these rows; null for NEVER, NaN and infinities."""
    picked = at(values, rows)
    return Nullable(picked, (rows != NEVER) & np.isfinite(picked))


def resolution_column(steps: Integers, previous_steps: Integers, is_there: Flags) -> Nullable:
    """Return the resolution of steps; null where not `is_there`, and without an evaluation before."""
    relative = resolution(steps, previous_steps)
    return Nullable(relative, is_there & ~np.isinf(relative))


def open_search(view: ReleaseView, selection: Selection, workload: Workload) -> Search:
    """Open the records that answer questions about a workload; raises UnknownName and BadParameter."""
    if not selection.is_plain or workload not in view.workloads:
        return _opened(view, selection, workload)
    key = (workload, selection.metric, selection.result, selection.seeds, selection.with_schedules)
    return view.kept(key, lambda: _opened(view, replace(selection, workloads=(workload,)), workload))


def _opened(view: ReleaseView, selection: Selection, workload: Workload) -> Search:
    facts = chosen_trials(view, view.measuring(workload, selection.metric), selection.metric, selection.where)
    metric = view.metrics[selection.metric]
    if facts.has_schedules and not selection.with_schedules:
        key = ("fixed batch sizes", workload, selection.metric, selection.where)
        facts = view.kept(key, partial(of_fixed_sizes, facts, selection.metric, metric.direction))
    direction = selection.direction or metric.direction
    if direction is None:
        why = f"it isn't known whether lower or higher values of {metric.name} are better"
        raise BadParameter("direction", f"{why}: give direction=minimize or direction=maximize")
    limits = _step_limits(view, facts, selection)
    is_plain = limits is None and selection.trials is None and selection.statuses == COUNTED
    is_plain &= selection.flagged == "exclude" or not facts.trials.flagged.any()
    is_plain &= not selection.only_finished
    return Search(
        view_reference=ref(view),
        facts=facts,
        selection=selection,
        metric=metric.name,
        direction=direction,
        admitted=_admitted(facts, selection),
        limits=limits,
        has_frontiers=is_plain and direction == metric.direction,
    )


def _ended_at_goal(view: ReleaseView, facts: WorkloadFacts, metric: str, direction: str) -> Integers:
    """Return by trial the step of its last evaluation of a metric, if it is the first that reached a goal; else NEVER.

    direction: of the metric. Goals are those of the workload in it. A trial of a study with a number of steps to run
    (train_steps) ended there only if these steps had room for one more evaluation.
    """
    if isinstance(facts, Pool):
        of_members = np.concatenate([_ended_at_goal(view, member, metric, direction) for member in facts.members])
        return of_members[facts.rows_in_members]
    key = ("ended at goal", facts.workload, metric, direction)
    return view.kept(key, lambda: _found_ends(view, facts, metric, direction))


def _found_ends(view: ReleaseView, facts: WorkloadFacts, metric: str, direction: str) -> Integers:
    ended = np.full(len(facts.trials.trial_id), NEVER, np.int64)
    goals = view.goals_of(facts.workload, metric)
    if not goals:
        return ended
    every = Selection((facts.workload,), metric, direction=direction, statuses=STATUSES, flagged="include")
    every = replace(every, with_schedules=True)
    search = open_search(view, every, facts.workload)
    planned = view.train_steps(facts)[facts.study_of_trial]
    for goal in goals:
        hits = search.first_hits(Goal(goal.target, goal.comparator))
        step, before = at(search.records.step, hits), at(search.records.previous_step, hits)
        has_room = (hits != NEVER) & ((planned == 0) | (step - np.maximum(before, 0) <= planned - step))
        ended = np.where(has_room & (step == search.last_evaluated), step, ended)
    return ended


def _first_where(starts: Integers, ends: Integers, holds: Callable[[Integers], Flags]) -> Integers:
    """Return the first index of each range from which `holds` is True; its end for none."""
    # Nothing before `first` holds; it moves on by halving strides, as long as nothing on the way holds either.
    first = starts
    stride = 1 << int((ends - starts).max(initial=0)).bit_length() >> 1
    while stride:
        beyond = first + stride
        first = np.where((beyond <= ends) & ~holds(np.minimum(beyond, ends) - 1), beyond, first)
        stride >>= 1
    return first


def _records_of_measurements(view: ReleaseView, facts: WorkloadFacts, metric: str, sign: float) -> TrialRecords:
    """Return the records for the other direction, from the measurements."""
    if isinstance(facts, Pool):
        return facts.records(lambda member: _records_of_measurements(view, member, metric, sign))
    parameters = {
        "files": [view.store.name_for_queries(file.path) for file in view.measurement_files(facts)],
        "batch_sizes": facts.batch_sizes,
        "metric": metric,
        "sign": sign,
    }
    columns = view.query("records_of_measurements", parameters).fetchnumpy()
    study, trial_id, step, previous_step = (
        np.asarray(columns[name], np.int64) for name in ("study", "trial_id", "step", "previous_step")
    )
    value, elapsed_s = np.asarray(columns["value"], np.float64), np.full(len(study), np.nan)
    ends = np.searchsorted(study, np.arange(len(facts.batch_sizes) + 1))
    ranges = [slice(start, end) for start, end in pairwise(ends.tolist())]
    parts = [
        StudyRecords(trial_id[rows], step[rows], previous_step[rows], value[rows], elapsed_s[rows]) for rows in ranges
    ]
    return trial_records(facts.opened.trials, parts)


def _ends_within(records: TrialRecords, limits: Integers) -> Integers:
    """Return the end of the records within the budgets, by trial with records. limits: the last step, by trial."""
    of_trial = limits[records.rows]
    return _first_where(records.offsets[:-1], records.offsets[1:], lambda record: records.step[record] > of_trial)


def _step_limits(view: ReleaseView, facts: WorkloadFacts, selection: Selection) -> Integers | None:
    """Return by trial the last step within both budgets; None without a budget."""
    if selection.step_budget is None and selection.example_budget is None:
        return None
    steps = LARGEST_INTEGER if selection.step_budget is None else selection.step_budget
    if selection.example_budget is None:
        return np.full(len(facts.trials.trial_id), steps)
    return np.minimum(step_limits(view, facts, selection.example_budget), steps)


def of_admitted_status(facts: WorkloadFacts, selection: Selection) -> Flags:
    """Return by trial True if the selection admits its status."""
    is_admitted = np.array([status in selection.statuses for status in STATUSES])
    admitted: Flags = is_admitted[facts.trials.status]
    return admitted


def _admitted(facts: WorkloadFacts, selection: Selection) -> Flags:
    admitted = of_admitted_status(facts, selection) & facts.measures(selection.metric)
    if selection.flagged == "exclude":
        admitted &= facts.trials.flagged == 0
    if selection.only_finished:
        admitted &= is_finished(facts.trials)
    if selection.trials is not None:
        for _, rows, _, _ in facts.parts():
            study_admitted = admitted[rows]
            study_admitted &= np.cumsum(study_admitted) <= selection.trials
    admitted.setflags(write=False)
    return admitted


def only_batch_sizes(view: ReleaseView, search: Search, batch_sizes: Sequence[int]) -> Search:
    """Return the search restricted to these batch sizes; unchanged for none. Raises UnknownName."""
    if not batch_sizes:
        return search
    for batch_size in batch_sizes:
        view.index_of(search.facts, batch_size)
    return search.among(search.facts.of_batch_sizes(batch_sizes))
