"""The goal of a page: that of the request, else one of the workload, else one that it comes close to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from losslake.questions import scaling
from losslake.questions.declaration.parameters import SelectionParameters, check_targets
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.search import at, open_searches
from losslake.questions.trials.selection import Goal
from losslake.questions.trials.study_results import least_by_study
from losslake_schema.names import Workload
from losslake_schema.reached import DEFAULT_COMPARATOR, NEVER, Comparator, comparison_sign, hits, sign_of
from losslake_schema.registry import metric_named


@dataclass(frozen=True)
class PageGoal:
    """A metric with a target.

    direction: minimize or maximize. source: who set it; empty for a computed goal. is_proposed: nobody set it, nor did
    the request. instead_of: the text of the workload's goal, if that is because no batch size reaches it.
    """

    metric: str
    target: float
    direction: str
    source: str = ""
    comparator: Comparator = DEFAULT_COMPARATOR
    is_proposed: bool = False
    instead_of: str = ""

    @property
    def text(self) -> str:
        """The goal as text: val/classification_error < 0.05."""
        return Goal(self.target, self.comparator).in_words(self.metric, self.direction)

    @property
    def why_proposed(self) -> str:
        """The reason for which the page proposes this target, as a sentence; empty where it was set or requested."""
        if not self.is_proposed:
            return ""
        unset = f"No goal is set for {self.metric} of this workload."
        why = f"No batch size reaches this workload's goal, {self.instead_of}." if self.instead_of else unset
        return f"{why} Shown instead: the hardest round target that every batch size reaches."

    @property
    def condition(self) -> str:
        """The condition for a value to reach the target: "at most", "less than", "at least" or "more than" it."""
        if self.comparator == "inclusive":
            return "at most" if self.direction == "minimize" else "at least"
        return "less than" if self.direction == "minimize" else "more than"

    @property
    def parameters(self) -> dict[str, str | float]:
        """The parameters of links to pages about it."""
        return {"metric": self.metric, "target": self.target}

    @property
    def with_comparator(self) -> dict[str, str | float]:
        """The parameters of questions about it, whatever comparators the workloads have."""
        return {**self.parameters, "comparator": self.comparator}

    @property
    def for_scripts(self) -> dict[str, str | float]:
        """The facts with which a script finds the first step that reaches it, and its text."""
        sign = comparison_sign(self.direction, self.comparator)
        return {"target": self.target, "sign": sign, "text": self.text}


def goals_of(view: ReleaseView, facts: WorkloadFacts) -> Sequence[PageGoal]:
    """Return the goals of a workload, or of those of a pool, whose metrics are measured."""
    goals: dict[tuple[str, float], PageGoal] = {}
    for goal in chain.from_iterable(map(view.goals_of, sorted(facts.workloads))):
        direction = view.metrics[goal.metric].direction if goal.metric in facts.measured else None
        if direction is not None:
            shown = PageGoal(goal.metric, goal.target, direction, goal.source or "", goal.comparator)
            goals.setdefault((goal.metric, goal.target), shown)
    return list(goals.values())


def metrics_of(view: ReleaseView, first: WorkloadFacts, *others: WorkloadFacts) -> list[str]:
    """Return the metrics with a known direction that all of these workloads measure."""
    return [
        name
        for name in first.measured
        if view.metrics[name].direction is not None and all(name in each.measured for each in others)
    ]


def page_goal(
    view: ReleaseView, facts: WorkloadFacts, metric: str | None, target: float | None, direction: str | None = None
) -> PageGoal:
    """Return the goal of a page; raises UnknownName for a metric that isn't measured.

    direction: of a metric whose direction is unknown. Raises BadParameter without one, and for a target out of range.
    """
    goals = [goal for goal in goals_of(view, facts) if metric in (None, goal.metric)]
    if target is None and goals:
        return _default_goal(view, facts, goals)
    name = metric or usual_metric(view, facts)
    if name is None:
        raise BadParameter("metric", f"no metric of {facts.workload} has a known direction")
    direction = view.metric(facts, name).direction or direction
    if direction is None:
        directed = ", ".join(metrics_of(view, facts))
        raise BadParameter("metric", f"the direction of {name} is not known: choose one of {directed}")
    is_proposed = target is None
    target = reachable(view, facts, name, direction) if target is None else target
    check_targets(name, target=target)
    source = next((goal.source for goal in goals if goal.target == target), "")
    is_inclusive = view.comparators(facts.workload, name) == {"inclusive"}
    return PageGoal(name, target, direction, source, "inclusive" if is_inclusive else "strict", is_proposed)


def usual_metric(view: ReleaseView, facts: WorkloadFacts, measured: Sequence[str] | None = None) -> str | None:
    """Return the metric of the first goal, else one with a direction on validation data, on test data, or on any.

    measured: the metrics to choose from; default: all of the workload.
    """
    names = facts.measured if measured is None else measured
    goals = (goal.metric for goal in goals_of(view, facts) if goal.metric in names)
    return next(goals, None) or last_of_held_out([name for name in names if view.metrics[name].direction is not None])


def last_of_held_out(metrics: Sequence[str]) -> str | None:
    """Return the last metric by name of those on validation data, else on test data, else of all; None without any."""
    return max(metrics, key=lambda name: (name.startswith("val/"), name.startswith("test/"), name), default=None)


def _default_goal(view: ReleaseView, facts: WorkloadFacts, goals: Sequence[PageGoal]) -> PageGoal:
    """Return the first goal that a batch size reaches; if none does, the hardest round target that all of them reach.

    Without a trial that counts, that is the first goal.
    """
    best_values: dict[str, list[float]] = {}
    for goal in goals:
        if goal.metric not in best_values:
            best_values[goal.metric] = _best_values(view, facts, goal.metric, goal.direction)
        sign = sign_of(goal.direction)
        if hits(sign * np.array(best_values[goal.metric]), sign * goal.target, goal.comparator).any():
            return goal
    first = goals[0]
    if not best_values[first.metric]:
        return first
    target = _reached_by_all(best_values[first.metric], first.metric, first.direction)
    return (
        replace(first, target=target, source="", is_proposed=True, instead_of=first.text)
        if target != first.target
        else first
    )


def steps_by_size(view: ReleaseView, workload: Workload, goal: PageGoal) -> list[tuple[int, int]]:
    """Return each batch size at which a trial reached the goal, with the fewest steps."""
    parameters = scaling.ScalingParameters.model_validate({"workload": [str(workload)], **goal.with_comparator})
    rows = scaling.QUESTION.answer(view, parameters).table()
    pairs = zip(rows["batch_size"].to_pylist(), rows["steps"].to_pylist(), strict=True)
    return [(size, steps) for size, steps in pairs if size and steps is not None]


def common_goal(view: ReleaseView, workloads: Sequence[WorkloadFacts], metric: str) -> PageGoal:
    """Return the hardest goal that each workload reaches at every batch size. metric: one with a known direction."""
    direction = view.metrics[metric].direction
    assert direction is not None
    easiest = max if direction == "minimize" else min
    return PageGoal(metric, easiest(reachable(view, each, metric, direction) for each in workloads), direction)


def reachable(view: ReleaseView, facts: WorkloadFacts, metric: str, direction: str) -> float:
    """Return a target with few digits that every batch size with a finite value reaches; 0 if there is none.

    Where it would be beyond the range of the metric, it is the end of the range.
    """
    values = _best_values(view, facts, metric, direction)
    return _reached_by_all(values, metric, direction) if values else 0.0


def _reached_by_all(values: Sequence[float], metric: str, direction: str) -> float:
    is_minimized, registered = direction == "minimize", metric_named(metric)
    target = _rounded_away(max(values) if is_minimized else min(values), is_minimized)
    return float(min(max(target, registered.smallest), registered.largest))


def _best_values(view: ReleaseView, facts: WorkloadFacts, metric: str, direction: str) -> list[float]:
    """Return the best value at each batch size that has a finite one: of its best trial, or of its best setting."""
    wanted = {"workload": [str(facts.workload)], "metric": metric, "direction": direction}
    (search,) = open_searches(view, SelectionParameters.model_validate(wanted).selection(), with_schedules=True)
    values = search.sign * at(search.records.value, search.best_records)
    least = least_by_study(search, np.where(search.best_records == NEVER, np.inf, values)).amount
    return [search.sign * value for value in least[np.isfinite(least)].tolist()]


def as_fraction(view: ReleaseView, facts: WorkloadFacts, goal: PageGoal) -> float | None:
    """Return the target as a fraction if it looks like a percentage: all best values are fractions, and it isn't."""
    values = _best_values(view, facts, goal.metric, goal.direction)
    is_fraction = bool(values) and min(values) >= 0 and max(values) <= 1
    return float(f"{goal.target / 100:.6g}") if is_fraction and 1 < goal.target <= 100 else None


def _rounded_away(value: float, is_up: bool) -> float:
    """Return the next number of two significant digits beyond a value."""
    if value == 0:
        return 1e-6 if is_up else -1e-6
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 1)
    whole = math.floor(value / unit) + 1 if is_up else math.ceil(value / unit) - 1
    rounded = float(f"{whole * unit:.6g}")
    # Rounding may have moved the quotient to the wrong side of an integer.
    is_beyond = rounded > value if is_up else rounded < value
    return rounded if is_beyond else float(f"{(whole + (1 if is_up else -1)) * unit:.6g}")
