"""Questions that a release can answer, as paths with a query: for the root page and for what `serve` prints."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from schema.names import Workload
from service.answers.goal import GoalQuestion
from service.answers.scaling import Scaling, scaling
from service.release_view import ReleaseView, WorkloadFacts


def example_paths(view: ReleaseView) -> list[str]:
    """Scaling of a workload with a goal, a curve of the best trial there, the workloads; without data, three lists."""
    for workload, metric, target in _candidates(view):
        answer = scaling(view, GoalQuestion(workload, metric, target))
        best = next((row for row in answer.rows if row.trial_id is not None), None)
        if best is not None:
            goal = _query(workload=str(workload), metric=metric, target=repr(target))
            trial = _query(trial=f"{workload}/{best.batch_size}/{best.trial_id}", metric=metric)
            return [f"/v1/scaling?{goal}", f"/v1/curves?{trial}", "/v1/workloads"]
    return ["/v1/workloads", "/v1/studies", "/v1/releases"]


def _candidates(view: ReleaseView) -> list[tuple[Workload, str, float]]:
    """The goals that are measured, then the hardest target that most studies of a workload reach."""
    known = [
        (goal.workload, goal.metric, goal.target)
        for goal in view.goals
        if goal.metric in view.workloads[goal.workload].measured and view.metrics[goal.metric].direction
    ]
    return known or [found for facts in view.workloads.values() if (found := _made_up(view, facts))][:1]


def _made_up(view: ReleaseView, facts: WorkloadFacts) -> tuple[Workload, str, float] | None:
    metric = next((name for name in reversed(facts.measured) if view.metrics[name].direction), None)
    if metric is None:
        return None
    answer: Scaling = scaling(view, GoalQuestion(facts.workload, metric, 0.0))
    best = sorted(row.best_value for row in answer.rows if row.best_value is not None)
    if not best:
        return None
    return facts.workload, metric, best[-1] if answer.direction == "minimize" else best[0]


def _query(**parameters: str) -> str:
    return urlencode(parameters, safe="/", quote_via=quote)
