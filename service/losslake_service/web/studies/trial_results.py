"""What a trial came to: when it reached each goal of its workload, its best value of each metric, and its ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from losslake.questions.release_view import ReleaseView
from losslake.questions.workload_facts import WorkloadFacts
from losslake_service.web.goals import GoalShown, goals_of
from losslake_service.web.studies.goal import LookedAt
from losslake_service.web.studies.trials import StudyTrials, study_trials


@dataclass(frozen=True)
class Rank:
    """place: from 1 on, among so many."""

    place: int
    among: int


@dataclass(frozen=True)
class GoalResult:
    """steps: to the goal; None if it was never reached. previous_step: None for none. rank: among the trials that
    count and reached it; None if this one doesn't."""

    goal: GoalShown
    steps: int | None
    previous_step: int | None
    rank: Rank | None


@dataclass(frozen=True)
class MetricResult:
    """best_value, best_step: None where there is no finite value, or nobody has said which way is better.

    rank: by best value, among the trials that count and have one; None if this one doesn't.
    """

    metric: str
    unit: str
    direction: str | None
    best_value: float | None
    best_step: int | None
    rank: Rank | None


def goal_result(goal: GoalShown, trials: StudyTrials, row: int) -> GoalResult:
    """What a trial of a study, whose trials have that goal, came to."""
    if not trials.reached[row]:
        return GoalResult(goal, None, None, None)
    previous = int(trials.previous_step[row])
    rank = rank_in(trials.ranked, row)
    return GoalResult(goal, int(trials.steps[row]), previous if previous >= 0 else None, rank)


def goal_results(view: ReleaseView, facts: WorkloadFacts, study: int, row: int) -> Sequence[GoalResult]:
    """For each goal of the workload that the study measures. row: of the trial in its study."""
    goals = [goal for goal in goals_of(view, facts) if goal.metric in facts.metrics[study]]
    return [goal_result(goal, study_trials(view, facts, study, LookedAt(goal.metric, goal)), row) for goal in goals]


def metric_results(
    view: ReleaseView, facts: WorkloadFacts, study: int, row: int, names: Sequence[str]
) -> Sequence[MetricResult]:
    """For each of these metrics, which the study measures. row: of the trial in its study."""
    units = dict(view.rows("units_of_metrics", {"metrics": list(names)}))
    return [_metric_result(view, facts, study, row, name, units.get(name) or "") for name in names]


def rank_in(order: Sequence[int], row: int) -> Rank | None:
    """Where a trial is in an order; None if it isn't there."""
    return Rank(order.index(row) + 1, len(order)) if row in order else None


def _metric_result(view: ReleaseView, facts: WorkloadFacts, study: int, row: int, name: str, unit: str) -> MetricResult:
    direction = view.metrics[name].direction
    if direction is None:
        return MetricResult(name, unit, None, None, None, None)
    trials = study_trials(view, facts, study, LookedAt(name, GoalShown(name, 0.0, direction)))
    best, step = float(trials.best_value[row]), int(trials.best_step[row])
    is_there = best == best
    rank = rank_in(trials.by_value, row)
    return MetricResult(name, unit, direction, best if is_there else None, step if is_there else None, rank)
