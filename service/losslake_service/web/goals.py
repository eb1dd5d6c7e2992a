"""The goal that a page looks at: the one of the request, else one of the workload, else one that it comes near to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from losslake.questions import best, scaling
from losslake.questions.errors import BadParameter
from losslake.questions.parameters import SelectionParameters
from losslake.questions.release_view import ReleaseView
from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.names import Workload


@dataclass(frozen=True)
class GoalShown:
    """A metric with a target. direction: minimize or maximize. source: who set it; empty for one that we chose."""

    metric: str
    target: float
    direction: str
    source: str = ""

    @property
    def text(self) -> str:
        """In words: val/classification_error < 0.05."""
        return f"{self.metric} {'<' if self.direction == 'minimize' else '>'} {self.target:g}"

    @property
    def parameters(self) -> dict[str, str | float]:
        """The parameters that links to pages about it have."""
        return {"metric": self.metric, "target": self.target}


def goals_of(view: ReleaseView, facts: WorkloadFacts) -> Sequence[GoalShown]:
    """Return the goals of a workload, as far as they are measured."""
    goals = []
    for goal in view.goals:
        direction = view.metrics[goal.metric].direction if goal.metric in facts.measured else None
        if goal.workload == facts.workload and direction is not None:
            goals.append(GoalShown(goal.metric, goal.target, direction, goal.source or ""))
    return goals


def metrics_of(view: ReleaseView, first: WorkloadFacts, *others: WorkloadFacts) -> list[str]:
    """Return the metrics that all of these workloads measure and of which is known which way is better."""
    return [
        name
        for name in first.measured
        if view.metrics[name].direction is not None and all(name in each.measured for each in others)
    ]


def goal_shown(
    view: ReleaseView,
    facts: WorkloadFacts,
    metric: str | None,
    target: float | None,
    direction: str | None = None,
) -> GoalShown:
    """Return the goal that is looked at; raises UnknownName for a metric that isn't measured, BadParameter without any.

    direction: which way is better, of a metric of which nobody has said it.
    """
    goals = [goal for goal in goals_of(view, facts) if metric in (None, goal.metric)]
    if target is None and goals:
        return goals[0]
    known = metrics_of(view, facts)
    name = metric or (goals[0].metric if goals else next(reversed(known), None))
    if name is None:
        raise BadParameter("metric", f"nobody has said of any metric of {facts.workload} which way is better")
    direction = view.metric(facts, name).direction or direction
    if direction is None:
        raise BadParameter("metric", f"nobody has said of {name} which way is better: give one of {', '.join(known)}")
    if target is None:
        target = reachable(view, facts, name, direction)
    source = next((goal.source for goal in goals if goal.target == target), "")
    return GoalShown(name, target, direction, source)


def steps_by_size(view: ReleaseView, workload: Workload, goal: GoalShown) -> list[tuple[int, int]]:
    """Return each batch size at which a trial reached the goal, with the fewest steps that it took."""
    parameters = scaling.ScalingParameters(workload=[str(workload)], metric=goal.metric, target=goal.target)
    rows = scaling.answer(view, parameters).table()
    pairs = zip(rows["batch_size"].to_pylist(), rows["steps"].to_pylist(), strict=True)
    return [(size, steps) for size, steps in pairs if steps is not None]


def common_goal(view: ReleaseView, workloads: Sequence[WorkloadFacts], metric: str) -> GoalShown:
    """Return the strictest goal that each workload gets past at every batch size, of a metric whose better is known."""
    direction = view.metrics[metric].direction
    assert direction is not None
    easiest = max if direction == "minimize" else min
    return GoalShown(metric, easiest(reachable(view, each, metric, direction) for each in workloads), direction)


def reachable(view: ReleaseView, facts: WorkloadFacts, metric: str, direction: str) -> float:
    """Return a target of few digits that every batch size with a finite value gets past; 0 where there is none."""
    wanted = {"workload": [str(facts.workload)], "metric": metric, "direction": direction}
    rows = best.answer(view, SelectionParameters.model_validate(wanted)).table()
    values = [value for value in rows["best_value"].to_pylist() if value is not None and math.isfinite(value)]
    if not values:
        return 0.0
    is_minimized = direction == "minimize"
    return _rounded_away(max(values) if is_minimized else min(values), is_minimized)


def _rounded_away(value: float, is_up: bool) -> float:
    """Return the next number of two significant digits beyond a value."""
    if value == 0:
        return 1e-6 if is_up else -1e-6
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 1)
    whole = math.floor(value / unit) + 1 if is_up else math.ceil(value / unit) - 1
    rounded = float(f"{whole * unit:.6g}")
    # The quotient may have been rounded to the wrong side of a whole number.
    is_beyond = rounded > value if is_up else rounded < value
    return rounded if is_beyond else float(f"{(whole + (1 if is_up else -1)) * unit:.6g}")
