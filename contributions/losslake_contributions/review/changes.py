"""The differences that the runs of a draft make: steps to goals, regimes, critical batch sizes, best trials."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from losslake.library.lake import Lake as Library
from losslake.questions.regimes import AS_DEFINED, MAX_USEFUL, PERFECT_END
from losslake.questions.release.view import ReleaseView
from losslake_contributions.review.draft import Draft, rows_of
from losslake_contributions.review.queries import query
from losslake_ingest.contracts.report import Quarantined
from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_schema.names import Trial, size_name
from losslake_schema.registry import Goal

MOST_GOALS = 100


@dataclass(frozen=True)
class StudyChange:
    """A study with new trials. n_before: stored trials; None if the study is new."""

    study: str
    n_before: int | None
    n_after: int


@dataclass(frozen=True)
class NewTrial:
    """A trial of a run, as the lake would store it. source: the name of the run."""

    trial: str
    run: str
    status: str
    steps: int
    n_evaluations: int
    n_nonfinite: int
    last_step: int | None
    metrics: tuple[str, ...]
    parameters: Mapping[str, float]
    attributes: Mapping[str, str]
    is_flagged: bool


_NEW_TRIALS = TypeAdapter(tuple[NewTrial, ...])


@dataclass(frozen=True)
class StepsAt:
    """The fewest steps to a goal at a batch size, before and after; None where no trial reaches it.

    batch_size: None for trials that change theirs.
    """

    batch_size: int | None
    before: int | None
    after: int | None
    trial_before: int | None
    trial_after: int | None
    is_new: bool

    @property
    def is_changed(self) -> bool:
        """Return True if the steps or their trial changed."""
        return (self.before, self.trial_before) != (self.after, self.trial_after)


@dataclass(frozen=True)
class BreakPoint:
    """An end of a regime, from lower to upper; None for no bound. censoring: left, right or None."""

    batch_size: int | None
    lower: int | None
    upper: int | None
    censoring: str | None


@dataclass(frozen=True)
class CriticalBatchSize:
    """A critical batch size by McCandlish's definition, with its interval; value None: bounds, or nothing."""

    value: float | None
    lower: float | None
    upper: float | None
    n_batch_sizes: int


@dataclass(frozen=True)
class OfRelease:
    """The analyses of a workload and goal in one release; None for those that can't be made."""

    perfect_scaling_end: BreakPoint | None = None
    max_useful_batch_size: BreakPoint | None = None
    critical_batch_size: CriticalBatchSize | None = None


@dataclass(frozen=True)
class GoalChange:
    """The changes for a goal of a workload with new trials, by batch size."""

    workload: str
    metric: str
    target: float
    comparator: str
    direction: str
    points: tuple[StepsAt, ...]
    before: OfRelease
    after: OfRelease


@dataclass(frozen=True)
class NewBest:
    """A new trial with the best value of a metric at its batch size. before: the best value so far; None for none.

    batch_size: None for trials that change theirs.
    """

    workload: str
    batch_size: int | None
    metric: str
    before: float | None
    after: float
    trial: str
    run: str


@dataclass(frozen=True)
class DraftChanges:
    """The differences between the releases of a draft.

    not_compared: goals and metrics without a comparison, and why. left_out: stored workloads that the draft lacks.
    """

    before: int | None
    after: int | None
    studies: tuple[StudyChange, ...] = ()
    trials: tuple[NewTrial, ...] = ()
    goals: tuple[GoalChange, ...] = ()
    best: tuple[NewBest, ...] = ()
    quarantined: tuple[Quarantined, ...] = ()
    left_out: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()


def changes(draft: Draft) -> DraftChanges:
    """Return the differences between the two releases of a draft. Raises LossLakeError."""
    unchanged = DraftChanges(
        draft.before, draft.after, quarantined=tuple(draft.quarantined), left_out=tuple(draft.left_out)
    )
    view = draft.view(draft.after)
    if view is None:
        return unchanged
    rows = query(view, "new_trials", {"runs": [*draft.trials]}).to_pylist(maps_as_pydicts="lossy")
    trials = _NEW_TRIALS.validate_python(rows)
    goals, not_compared = _goals(draft, view)
    return replace(
        unchanged,
        studies=tuple(_studies(draft, view)),
        trials=trials,
        goals=tuple(goals),
        best=tuple(_best(draft, trials)),
        not_compared=tuple(not_compared),
    )


def _studies(draft: Draft, after: ReleaseView) -> Iterator[StudyChange]:
    """Yield the studies with trials of the runs."""
    before = draft.view(draft.before)
    n_before = _n_trials(before) if before is not None else {}
    n_after = _n_trials(after)
    for study in sorted({str(trial.study) for trial in draft.trials.values()}):
        yield StudyChange(study, n_before.get(study), n_after[study])


def _n_trials(view: ReleaseView) -> dict[str, int]:
    return {row["study"]: row["n_trials"] for row in query(view, "trials_of_studies").to_pylist()}


def _goals(draft: Draft, view: ReleaseView) -> tuple[list[GoalChange], list[str]]:
    """Return the changes by goal, and what can't be compared."""
    workloads = {trial.study.workload for trial in draft.trials.values()}
    goals = [goal for goal in view.goals if goal.workload in workloads]
    compared: list[GoalChange] = []
    reasons = [f"{len(goals) - MOST_GOALS:,} more goals: ask the draft"] if len(goals) > MOST_GOALS else []
    for goal in sorted(goals, key=lambda each: (each.workload, each.metric, each.target))[:MOST_GOALS]:
        try:
            compared.append(_goal(goal, draft))
        except LakeBroken:
            raise
        except LossLakeError as error:
            reasons.append(f"{goal.workload}, {goal.metric} {goal.target:g}: {error}")
    return compared, reasons


def _goal(goal: Goal, draft: Draft) -> GoalChange:
    """Return the changes for a goal. Raises LossLakeError if they can't be computed."""
    before, after = draft.library(draft.before), draft.library(draft.after)
    assert after is not None
    workload = str(goal.workload)
    parameters: dict[str, Any] = {
        "workload": workload, "metric": goal.metric, "target": goal.target, "comparator": goal.comparator
    }  # fmt: skip
    answer = after.scaling(**parameters)
    new = {row["batch_size"]: row for row in answer.to_dicts()}
    old = {row["batch_size"]: row for row in rows_of(before, "scaling", parameters)}
    points = []
    for size in sorted(new.keys() | old.keys(), key=lambda size: size or math.inf):
        earlier, later = old.get(size, {}), new.get(size, {})
        trial_id = later.get("trial_id")
        is_new = f"{workload}/{size_name(size)}/{trial_id}" in draft.runs
        steps = earlier.get("steps"), later.get("steps")
        points.append(StepsAt(size, *steps, earlier.get("trial_id"), trial_id, is_new))
    return GoalChange(
        **parameters,
        direction=answer.facts["direction"],
        points=tuple(points),
        before=_of_release(before, parameters),
        after=_of_release(after, parameters),
    )


def _best(draft: Draft, trials: Sequence[NewTrial]) -> Iterator[NewBest]:
    """Yield the new trials that are the best of their batch size in a metric whose direction is known."""
    before, after = draft.library(draft.before), draft.library(draft.after)
    measured = {(str(Trial.parse(each.trial).study.workload), metric) for each in trials for metric in each.metrics}
    for workload, metric in sorted(measured):
        parameters = {"workload": workload, "metric": metric}
        old = {row["batch_size"]: row["best_value"] for row in rows_of(before, "best", parameters)}
        for row in rows_of(after, "best", parameters):
            size = row["batch_size"]
            trial = f"{workload}/{size_name(size)}/{row['trial_id']}"
            if trial in draft.runs:
                yield NewBest(workload, size, metric, old.get(size), row["best_value"], trial, draft.runs[trial])


def _of_release(lake: Library | None, goal: Mapping[str, Any]) -> OfRelease:
    """Return the analyses of one release."""
    if lake is None:
        return OfRelease()
    ends: dict[str, BreakPoint] = {}
    try:
        for point in lake.regimes(**goal).facts["break_points"]:
            if point["variant"] == AS_DEFINED:
                values = (point[key] for key in ("batch_size", "lower", "upper", "censoring"))
                ends[point["break_point"]] = BreakPoint(*values)
        rows = lake.critical_batch_size(**goal).to_dicts()
    except LossLakeError:
        return OfRelease()
    row = next((row for row in rows if row["definition"] == "mccandlish2018"), None)
    critical = None
    if row is not None:
        critical = CriticalBatchSize(row["critical_batch_size"], row["lower"], row["upper"], row["n_batch_sizes"])
    return OfRelease(ends.get(PERFECT_END), ends.get(MAX_USEFUL), critical)
