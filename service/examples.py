"""Questions that a release can answer, as paths with a query: for the root page and for what `serve` prints."""

from __future__ import annotations

import math
from collections.abc import Iterator
from urllib.parse import quote, urlencode

from schema.names import Workload
from service.answers.best import best
from service.answers.scaling import scaling
from service.answers.selection import Selection
from service.release_view import ReleaseView


def example_paths(view: ReleaseView) -> list[str]:
    """Scaling of a workload with a goal, a curve of the best trial there, the workloads; without data, three lists."""
    for workload, metric, target in _candidates(view):
        rows = scaling(view, Selection((workload,), metric), target).table().to_pylist()
        reached = next((row for row in rows if row["trial_id"] is not None), None)
        if reached is not None:
            goal = _query(workload=str(workload), metric=metric, target=repr(target))
            trial = _query(trial=f"{workload}/{reached['batch_size']}/{reached['trial_id']}", metric=metric)
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
    rows = best(view, Selection((workload,), metric)).table()
    values = sorted(value for value in rows["best_value"].to_pylist() if value is not None)
    if not values:
        return []
    is_minimized = view.metrics[metric].direction == "minimize"
    worst, easier = (values[-1], math.inf) if is_minimized else (values[0], -math.inf)
    return [worst, math.nextafter(worst, easier)]


def _query(**parameters: str) -> str:
    return urlencode(parameters, safe="/", quote_via=quote)
