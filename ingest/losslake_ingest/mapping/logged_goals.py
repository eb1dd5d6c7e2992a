"""The goals that a log states for its columns, in the units of their metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from losslake_ingest.contracts.rules import MissingField, Refusal, Rule
from losslake_ingest.contracts.run_log import LoggedGoal
from losslake_ingest.mapping.metrics import ColumnMetric
from losslake_ingest.mapping.toml import toml_string
from losslake_schema.names import Workload
from losslake_schema.reached import DEFAULT_COMPARATOR, Floats, hits, sign_of
from losslake_schema.registry import Direction, Goal, metric_named

NO_TARGET = "goal of the log that its metric can't have: left out; state it by a [[goal]] with replaces"
_PERCENT = Fraction(1, 100)


def logged_goals(
    goals: Mapping[LoggedGoal, ColumnMetric],
    values: Mapping[str, Floats],
    directions: Mapping[str, Direction],
    workload: Workload,
) -> tuple[list[Goal], Counter[str]]:
    """Return the goals of a log, and remarks on them. Raises Refusal for one whose unit can't be known.

    goals: with the metrics of their columns. values: of each metric. directions: of metrics that aren't registered.
    """
    stated, remarks = [], Counter[str]()
    for goal, metric in goals.items():
        known = metric_named(metric.name)
        target = converted = _converted(goal, metric)
        if _may_be_fraction(goal, metric):
            target = _target_of_percentages(goal, metric, known.direction or directions.get(metric.name), values)
        if target != converted:
            remarks[f"goal {goal.target:g} of {goal.column}: a fraction, though the values are percentages"] = 1
        if known.can_reach(target):
            stated.append(Goal(workload, metric.name, target, goal.source, goal.comparator))
        else:
            remarks[NO_TARGET] += 1
    return stated, remarks


def _converted(goal: LoggedGoal, metric: ColumnMetric) -> float:
    return float(metric.values(np.array([goal.target]))[0])


def _may_be_fraction(goal: LoggedGoal, metric: ColumnMetric) -> bool:
    """Return True if a column has percentages of a fraction, and its target may be a fraction as well as up to 1%."""
    is_fraction = metric_named(metric.name).unit in ("fraction", "")  # metrics that aren't registered have no unit
    return is_fraction and abs(metric.scale) == _PERCENT and 0 < goal.target <= 1


def _target_of_percentages(
    goal: LoggedGoal, metric: ColumnMetric, direction: Direction | None, values: Mapping[str, Floats]
) -> float:
    """Return the target that is meant by a number up to 1. Raises Refusal if it can't be known.

    Nobody aims at an accuracy of 1%, or at an error that each value of the run is below.
    """
    as_percentage, as_fraction = (
        _converted(goal, each) for each in (metric, replace(metric, scale=100 * metric.scale))
    )
    if direction is not None:
        if (direction == "maximize") == (metric.scale > 0):
            return as_fraction
        sign, logged = sign_of(direction), values[metric.name]
        if hits(sign * logged[np.isfinite(logged)], sign * as_fraction, goal.comparator).all():
            return as_percentage
    what = (
        f"the log states the goal {goal.target:g} for {goal.column}, whose values are percentages: it's unknown "
        f"whether {100 * goal.target:g}% or {goal.target:g}% is meant"
    )
    equal = f'comparator = "{goal.comparator}"\n' if goal.comparator != DEFAULT_COMPARATOR else ""
    add = (
        f"[[goal]]\nmetric = {toml_string(metric.name)}\nsource = {toml_string(goal.source)}\n{equal}"
        f"replaces = {goal.target!r}\ntarget = {as_fraction!r}   # or {as_percentage!r}"
    )
    missing = MissingField(what, add)
    raise Refusal(Rule.BAD_FACT, f"{what}: add to the mapping: {missing.inline}", missing=(missing,))
