"""The differences that the runs of a draft make: steps to goals, regimes, critical batch sizes, best trials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from losslake.library.lake import Lake as Library
from losslake.questions.regimes import AS_DEFINED, MAX_USEFUL, PERFECT_END
from losslake_contributions.review.draft import Draft, rows_of
from losslake_contributions.review.queries import query
from losslake_ingest.contracts.report import Quarantined
from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_schema.names import Trial
from losslake_schema.registry import Goal

MOST_GOALS = 100
_WORKLOAD = ("collection", "dataset", "model", "optimizer")


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


@dataclass(frozen=True)
class StepsAt:
    """The fewest steps to a goal at a batch size, before and after; None where no trial reaches it."""

    batch_size: int
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
    """A new trial with the best value of a metric at its batch size. before: the best value so far; None for none."""

    workload: str
    batch_size: int
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
    not_compared: tuple[str, ...] = field(default=())


def changes(draft: Draft) -> DraftChanges:
    """Return the differences between the two releases of a draft. Raises LossLakeError."""
    facts = {"quarantined": tuple(draft.quarantined), "left_out": tuple(draft.left_out)}
    if draft.after is None:
        return DraftChanges(draft.before, None, **facts)  # type: ignore[arg-type]
    before = Library(draft.source, draft.before) if draft.before is not None else None
    pair = _Pair(before, Library(draft.source, draft.after), draft)
    trials = tuple(pair.trials())
    goals, not_compared = pair.goals()
    return DraftChanges(
        draft.before,
        draft.after,
        studies=tuple(pair.studies()),
        trials=trials,
        goals=tuple(goals),
        best=tuple(pair.best(trials)),
        not_compared=tuple(not_compared),
        **facts,  # type: ignore[arg-type]
    )


class _Pair:
    """Both releases of a draft, as objects that answer questions."""

    def __init__(self, before: Library | None, after: Library, draft: Draft) -> None:
        self._before, self._after, self._draft = before, after, draft
        self._names = draft.names
        self.workloads = sorted({str(trial.study.workload) for trial in draft.trials.values()})

    def studies(self) -> Iterator[StudyChange]:
        """Yield the studies with trials of the runs."""
        studies = {trial.study for trial in self._draft.trials.values()}
        before, after = self._n_trials(self._before), self._n_trials(self._after)
        for study in sorted(map(str, studies)):
            yield StudyChange(study, before.get(study), after[study])

    def _n_trials(self, lake: Library | None) -> dict[str, int]:
        if lake is None:
            return {}
        rows = lake.sql("SELECT collection, dataset, model, optimizer, batch_size, n_trials FROM studies").to_dicts()
        return {"/".join(str(row[key]) for key in (*_WORKLOAD, "batch_size")): row["n_trials"] for row in rows}

    def trials(self) -> Iterator[NewTrial]:
        """Yield the trials of the runs."""
        flagged = {Trial.of(row) for row in self._after.sql("SELECT * FROM flags").to_dicts()}
        measured: dict[Trial, set[str]] = {}
        for row in self._after.sql(query("metrics_of_trials"), {"runs": list(self._draft.trials)}).to_dicts():
            measured.setdefault(Trial.of(row), set()).add(row["metric"])
        rows = self._after.sql(query("new_trials"), {"runs": list(self._draft.trials)}).to_dicts()
        for row in rows:
            trial = Trial.of(row)
            yield NewTrial(
                str(trial),
                row["source"],
                row["status"],
                row["steps"],
                row["n_evaluations"],
                row["n_nonfinite"],
                row["last_step"],
                tuple(sorted(measured.get(trial, ()))),
                dict(row["parameters"] or {}),
                dict(row["attributes"] or {}),
                trial in flagged,
            )

    def goals(self) -> tuple[list[GoalChange], list[str]]:
        """Return the changes by goal, and what can't be compared."""
        goals = [Goal.of(row) for row in self._after.sql("SELECT * FROM goals").to_dicts()]
        goals = [goal for goal in goals if str(goal.workload) in self.workloads]
        compared: list[GoalChange] = []
        reasons = [f"{len(goals) - MOST_GOALS:,} more goals: ask the draft"] if len(goals) > MOST_GOALS else []
        for goal in sorted(goals, key=lambda each: (each.workload, each.metric, each.target))[:MOST_GOALS]:
            try:
                compared.append(self._goal(goal))
            except LakeBroken:
                raise
            except LossLakeError as error:
                reasons.append(f"{goal.workload}, {goal.metric} {goal.target:g}: {error}")
        return compared, reasons

    def _goal(self, goal: Goal) -> GoalChange:
        parameters = {
            "workload": str(goal.workload),
            "metric": goal.metric,
            "target": goal.target,
            "comparator": goal.comparator,
        }
        after = self._after.scaling(**parameters)  # type: ignore[arg-type]
        rows = {row["batch_size"]: row for row in after.to_dicts()}
        old = {row["batch_size"]: row for row in rows_of(self._before, "scaling", parameters)}
        points = [
            StepsAt(
                size,
                old.get(size, {}).get("steps"),
                rows.get(size, {}).get("steps"),
                old.get(size, {}).get("trial_id"),
                rows.get(size, {}).get("trial_id"),
                self._is_new(parameters["workload"], size, rows.get(size, {}).get("trial_id")),
            )
            for size in sorted(rows.keys() | old.keys())
        ]
        return GoalChange(
            str(goal.workload),
            goal.metric,
            goal.target,
            goal.comparator,
            after.facts["direction"],
            tuple(points),
            _of_release(self._before, parameters),
            _of_release(self._after, parameters),
        )

    def _is_new(self, workload: Any, batch_size: int, trial_id: int | None) -> bool:
        return trial_id is not None and Trial.parse(f"{workload}/{batch_size}/{trial_id}") in self._names

    def best(self, trials: Sequence[NewTrial]) -> Iterator[NewBest]:
        """Yield the new trials that are the best of their batch size in a metric whose direction is known."""
        metrics: dict[str, set[str]] = {}
        for each in trials:
            metrics.setdefault(str(Trial.parse(each.trial).study.workload), set()).update(each.metrics)
        for workload, names in sorted(metrics.items()):
            for metric in sorted(names):
                parameters = {"workload": workload, "metric": metric}
                old = {row["batch_size"]: row["best_value"] for row in rows_of(self._before, "best", parameters)}
                for row in rows_of(self._after, "best", parameters):
                    if self._is_new(workload, row["batch_size"], row["trial_id"]):
                        trial = Trial.parse(f"{workload}/{row['batch_size']}/{row['trial_id']}")
                        size = row["batch_size"]
                        yield NewBest(
                            workload, size, metric, old.get(size), row["best_value"], str(trial), self._names[trial]
                        )


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
