"""The runs of submissions: the logs of trials that state a round, an organisation, a system and a benchmark."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

import numpy as np

from losslake.questions.release.errors import BadParameter, UnknownName
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.examples import schedules_of
from losslake.questions.trials.scaling_curve import trial_steps
from losslake.questions.trials.search import open_search
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.batch_schedule import stored_schedule
from losslake_schema.names import Workload, size_name
from losslake_schema.reached import Floats
from losslake_schema.statuses import COMPLETE, STATUSES

LONGEST_NAME = 200
_LONGEST_NUMBER = 40
_MOST_SECONDS = 1e9


class SubmissionKey(NamedTuple):
    """The facts that its runs share. entry: the organisation as its round calls it. folder: of the logs."""

    suite: str
    round: str
    division: str | None
    organisation: str
    entry: str
    system: str
    benchmark: str
    scaling: str | None
    folder: str


@dataclass(frozen=True)
class Run:
    """A run of a submission.

    is_reached: its log says that it reached the target. seconds: from run_start to run_stop; None where unknown.
    examples: to the target, as the trial's measurements have it; None for never.
    is_copy: the same run was submitted before. flagged: the rules by which answers leave the trial out.
    """

    workload: Workload
    batch_size: int | None
    trial_id: int
    number: str
    is_reached: bool
    seconds: Decimal | None
    examples: int | None
    accelerator: str | None
    accelerators: float | None
    epoch_examples: float | None
    log: str
    is_copy: bool
    flagged: frozenset[str]

    @property
    def trial(self) -> str:
        """The trial, as the parameter `trial` takes it."""
        return f"{self.workload}/{size_name(self.batch_size)}/{self.trial_id}"

    @property
    def order(self) -> tuple[int, str, str]:
        """The place of the run among those of its submission: by number, as far as it is one."""
        return int(self.number) if self.number.isdecimal() else 0, self.number, self.log


def read_runs(view: ReleaseView) -> tuple[dict[SubmissionKey, list[Run]], int]:
    """Return the runs of each submission, by number, and how many logs were left out: names are empty or too long."""
    flags: dict[tuple[int, int], set[str]] = {}
    for study_id, trial_id, rule in view.rows("flagged_runs"):
        flags.setdefault((study_id, trial_id), set()).add(rule)
    facts_of = {
        facts.first_study + i: facts for facts in view.workloads.values() for i in range(len(facts.batch_sizes))
    }
    reached: dict[Workload, _Reached] = {}
    submissions: dict[SubmissionKey, list[Run]] = {}
    n_left_out = 0
    for study_id, trial_id, status, is_copy, batch_size, *names, number, text, accelerator, n, epoch, url in view.rows(
        "logs_of_submissions"
    ):
        key = SubmissionKey._make(names)
        if not _is_named(key):
            n_left_out += 1
            continue
        facts = facts_of[study_id]
        if facts.workload not in reached:
            reached[facts.workload] = _Reached(view, facts)
        seconds = _seconds(text)
        run = Run(
            workload=facts.workload,
            batch_size=batch_size,
            trial_id=trial_id,
            number=(number or "")[:_LONGEST_NUMBER],
            # A log that was damaged is INCOMPLETE, but a time is only stored of a run that reached the target.
            is_reached=status == COMPLETE or seconds is not None,
            seconds=seconds,
            examples=reached[facts.workload].examples(study_id, trial_id),
            accelerator=accelerator if accelerator and len(accelerator) <= LONGEST_NAME else None,
            accelerators=n if n is not None and 1 <= n < math.inf else None,
            epoch_examples=epoch if epoch is not None and 1 <= epoch < math.inf else None,
            log=url,
            is_copy=is_copy,
            flagged=frozenset(flags.get((study_id, trial_id), ())),
        )
        submissions.setdefault(key, []).append(run)
    for runs in submissions.values():
        runs.sort(key=lambda each: each.order)
    return submissions, n_left_out


def _is_named(key: SubmissionKey) -> bool:
    """Return True unless a name of a submission is missing or too long."""
    needed = (key.suite, key.round, key.organisation, key.entry, key.system, key.benchmark)
    return all(needed) and all(len(name or "") <= LONGEST_NAME for name in key[:-1])


def _seconds(text: str | None) -> Decimal | None:
    """Return a time above 0, exactly as its text has it; None for any other text."""
    if text is None or len(text) > _LONGEST_NUMBER:
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    # An exponent of a billion would take as many digits.
    is_time = number.is_finite() and 0 < number < _MOST_SECONDS and number.adjusted() > -_LONGEST_NUMBER
    return number if is_time else None


class _Reached:
    """The trials of a workload, and the steps at which each has reached all of its goals."""

    def __init__(self, view: ReleaseView, facts: WorkloadFacts) -> None:
        self._facts, self._schedules = facts, schedules_of(view, facts)
        goals = list(_steps(view, facts))
        self._steps = np.max(goals, axis=0) if goals else np.full(len(facts.trials.trial_id), np.inf)
        self._rows = {
            facts.first_study + study: {
                int(trial_id): rows.start + place for place, trial_id in enumerate(facts.trials.trial_id[rows].tolist())
            }
            for study, rows, _, _ in facts.parts()
        }

    def examples(self, study_id: int, trial_id: int) -> int | None:
        """Return the examples of a trial to its last goal; None for never."""
        row = self._rows[study_id][trial_id]
        steps = float(self._steps[row])
        if not math.isfinite(steps):
            return None
        pieces = self._schedules[row]
        size = self._facts.batch_sizes[study_id - self._facts.first_study]
        return int(steps) * size if pieces is None else stored_schedule(pieces).examples(int(steps))


def _steps(view: ReleaseView, facts: WorkloadFacts) -> Iterator[Floats]:
    """Yield for each goal of a workload the steps to it by trial; inf for never."""
    for goal in view.goals_of(facts.workload):
        selection = Selection((facts.workload,), goal.metric, statuses=STATUSES, flagged="include", with_schedules=True)
        try:
            search = open_search(view, selection, facts.workload)
        except (BadParameter, UnknownName):
            continue  # without a known direction, or measurements, no trial reaches it
        yield trial_steps(search, Goal(goal.target, goal.comparator))
