"""Pools: the trials of all workloads that a pattern matches, or some of them, by batch size, as those of one workload.

In a pattern, `*` stands for any text within collection, dataset, model or optimizer. A study of the pool has the trials
of every workload at that batch size, in the order of collection, dataset, model, optimizer and trial_id, so ties go to
the first of them in that order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property

import numpy as np
import pyarrow as pa

from losslake.index.measurement_files import MeasurementFile
from losslake.index.records import TrialRecords, Trials, WorkloadTrials, reordered_records
from losslake.index.workload_file import OpenWorkload
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake_schema.names import CHANGES, Workload
from losslake_schema.reached import NEVER, Flags, Integers

ANY = "*"
MOST_POOLED = 200


def is_pattern(workload: Workload | str) -> bool:
    """Return True if the name has a `*`."""
    return ANY in str(workload)


def matches(pattern: Workload, workloads: Iterable[Workload]) -> list[Workload]:
    """Return the workloads that a pattern matches, in order; raises BadParameter if they are more than MOST_POOLED."""
    parts = [re.compile(".*".join(map(re.escape, part.split(ANY))), re.DOTALL) for part in astuple(pattern)]
    matching = sorted(
        each
        for each in workloads
        if all(part.fullmatch(name) for part, name in zip(parts, vars(each).values(), strict=True))
    )
    if len(matching) > MOST_POOLED:
        why = f"'{pattern}' matches {len(matching)} workloads: give a pattern that matches up to {MOST_POOLED}"
        raise BadParameter("workload", why)
    return matching


@dataclass(frozen=True, eq=False)
class Pool(WorkloadFacts):
    """The studies of several workloads that measure one metric, or some trials of one workload.

    members: the workloads, in order. member: by trial, the index of its workload. places: by member, the row here of
    each of its trials; NEVER for those left out, such as those of studies that don't measure the metric.
    """

    members: tuple[WorkloadFacts, ...]
    member: Integers
    places: tuple[Integers, ...]

    def parts(self) -> Iterator[tuple[int, slice, WorkloadFacts, int]]:
        """Yield for each stored study the study here and the rows of trials, and its workload and study there."""
        for facts, places in zip(self.members, self.places, strict=True):
            for study, size in enumerate(facts.batch_sizes):
                rows = places[facts.rows_of(study)]
                rows = rows[rows != NEVER]
                if len(rows):
                    yield self.batch_sizes.index(size), slice(rows[0], rows[-1] + 1), facts, study

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """The workloads that are pooled."""
        return tuple(facts.workload for facts in self.members)

    @property
    def is_of_one(self) -> bool:
        """True for some trials of one workload, which a name without a pattern stands for."""
        return self.workloads == (self.workload,)

    def workloads_of(self, rows: Integers) -> pa.Array | None:
        """Return the names of the workloads of these trials, null for NEVER; None if all are of the one so named."""
        if self.is_of_one:
            return None
        names = pa.array([str(facts.workload) for facts in self.members])
        return names.take(pa.array(self.member[rows] if len(self.member) else rows, mask=rows == NEVER))

    def records(self, of_member: Callable[[WorkloadFacts], TrialRecords]) -> TrialRecords:
        """Return the records of the pool from those of its members."""
        return reordered_records([(places, of_member(m)) for m, places in zip(self.members, self.places, strict=True)])

    @cached_property
    def rows_in_members(self) -> Integers:
        """By trial, its row in the trials of the members one after the other."""
        places = np.concatenate(self.places)
        return np.argsort(places)[np.count_nonzero(places == NEVER) :]

    @property
    def drawn_as_wholes(self) -> Integers:
        """By trial, a number that trials of a study share which are drawn as a whole: its setting, or its workload.

        Where a study has trials of several workloads, each of them is a recipe, and what it repeats is alike, whatever
        its settings are.
        """
        ends = (self.extreme_by_study(extreme, self.member, NEVER) for extreme in (np.minimum, np.maximum))
        is_mixed = np.not_equal(*ends)[self.study_of_trial]
        return np.where(is_mixed, self.member, len(self.members) + self.trials.setting)

    @property
    def n_bytes(self) -> int:
        """About the size in memory of what the pool copies of its members."""
        return 64 * (len(self.member) + len(self.opened.records(self.metrics[0][0]).step))

    @property
    def study_ids(self) -> dict[str, int]:
        """The range of all studies of one workload but that of CHANGES; raises BadParameter for anything else."""
        if self.is_of_one and self.members[0].has_schedules and not self.has_schedules:
            whole, n_fixed = self.members[0], len(self.members[0].trials.trial_id) - self.members[0].offsets[1]
            if self.batch_sizes == whole.batch_sizes[1:] and len(self.member) == n_fixed:
                return {"first_study": whole.first_study + 1, "last_study": whole.study_ids["last_study"]}
        if self.is_of_one:
            raise BadParameter("where", "this question is about all trials of a workload: leave out where=")
        raise BadParameter("workload", f"this question pools no workloads: give one instead of '{self.workload}'")


def of_fixed_sizes(facts: WorkloadFacts, metric: str, direction: str | None) -> Pool:
    """Return the trials with one batch size, in studies that measure a metric; raises BadParameter without any.

    direction: of the metric.
    """
    if len(facts.batch_sizes) == 1:
        why = f"the batch size of all trials of {facts.workload} changes, and this question is about batch sizes"
        raise BadParameter("workload", f"{why}: ask scaling, steps-to-target or curves, with measure=examples")
    members = facts.members if isinstance(facts, Pool) else (facts,)
    places = facts.places if isinstance(facts, Pool) else (np.arange(len(facts.trials.trial_id)),)
    chosen = []
    for member, rows in zip(members, places, strict=True):
        is_fixed = np.asarray(member.batch_sizes, np.int64)[member.study_of_trial] != CHANGES
        chosen.append(is_fixed & (rows != NEVER))
    return pooled(facts.workload, members, metric, direction, chosen)


def pooled(
    pattern: Workload,
    members: Sequence[WorkloadFacts],
    metric: str,
    direction: str | None,
    chosen: Sequence[Flags] | None = None,
) -> Pool:
    """Return the pool of workloads that measure a metric, in order.

    direction: of the metric. chosen: by member and trial, whether it is pooled; None for all. A batch size without any
    such trial isn't in the pool.
    """
    studies = sorted(
        (size, at, study)
        for at, facts in enumerate(members)
        for study, size in enumerate(facts.batch_sizes)
        if metric in facts.metrics[study]
    )
    places = tuple(np.full(facts.offsets[-1], NEVER, np.int64) for facts in members)
    member, n_trials, sizes = [np.zeros(0, np.int64)], 0, dict[int, int]()
    for size, at, study in studies:
        study_rows = members[at].rows_of(study)
        rows = np.arange(study_rows.start, study_rows.stop)
        if chosen is not None:
            rows = rows[chosen[at][study_rows]]
            if not len(rows):
                continue
        end = n_trials + len(rows)
        places[at][rows] = np.arange(n_trials, end)
        member.append(np.full(len(rows), at))
        sizes[size] = n_trials = end
    columns = {each.name: np.empty(n_trials, np.int64) for each in fields(Trials)}
    n_settings = 0
    for facts, rows in zip(members, places, strict=True):
        for name, column in columns.items():
            column[rows[rows != NEVER]] = getattr(facts.trials, name)[rows != NEVER]
        columns["setting"][rows[rows != NEVER]] += n_settings
        n_settings += int(facts.trials.setting.max(initial=-1)) + 1
    pool = Pool(
        workload=pattern,
        first_study=NEVER,
        batch_sizes=tuple(sizes),
        metrics=((metric,),) * len(sizes),
        open=lambda: opened,
        files=_no_files,
        members=tuple(members),
        member=np.concatenate(member),
        places=places,
    )
    trials = WorkloadTrials(np.array([0, *sizes.values()]), Trials(**columns))
    records = pool.records(lambda facts: facts.opened.records(metric))
    last_steps = np.concatenate([facts.opened.last_steps(metric) for facts in members])[pool.rows_in_members]
    opened = OpenWorkload.in_memory(trials, metric, direction, records, last_steps)
    return pool


def _no_files(_: int) -> Sequence[MeasurementFile]:
    raise BadParameter("workload", "this question pools no workloads: give one instead of a pattern")
