"""Questions that a release can answer, as paths with a query: for the root page and for what `serve` prints."""

from __future__ import annotations

import math
from collections.abc import Iterator
from urllib.parse import quote, urlencode

from schema.names import Workload
from service.answers.goal import GoalQuestion
from service.answers.scaling import scaling
from service.release_view import ReleaseView


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


def _candidates(view: ReleaseView) -> Iterator[tuple[Workload, str, float]]:
    """The goals that are measured; without any, targets that workloads come near to."""
    for goal in view.goals:
        if goal.metric in view.workloads[goal.workload].measured and view.metrics[goal.metric].direction:
            yield goal.workload, goal.metric, goal.target
    for facts in view.workloads.values():
        metric = next((name for name in reversed(facts.measured) if view.metrics[name].direction), None)
        if metric is not None:
            yield from ((facts.workload, metric, target) for target in _targets(view, facts.workload, metric))


def _targets(view: ReleaseView, workload: Workload, metric: str) -> list[float]:
    """The best value at the batch size that is worst off, then the number next to it, which all get past."""
    answer = scaling(view, GoalQuestion(workload, metric, 0.0))
    best = sorted(row.best_value for row in answer.rows if row.best_value is not None)
    if not best:
        return []
    worst, easier = (best[-1], math.inf) if answer.direction == "minimize" else (best[0], -math.inf)
    return [worst, math.nextafter(worst, easier)]


def _query(**parameters: str) -> str:
    return urlencode(parameters, safe="/", quote_via=quote)
