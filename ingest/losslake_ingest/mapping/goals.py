"""The goals of a run: those that its log states, those of the mapping, and goals that join metrics.

A joined goal is reached at the first evaluation at which each of its metrics reaches its own target. Its margin is a
metric of its own, so every question about a goal answers for it too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from losslake_ingest.contracts.rules import Refusal, Rule, mapping_lacks, shown
from losslake_ingest.contracts.run_log import Fields, LoggedGoal, RunLog, Scalar
from losslake_ingest.contracts.study import Curves
from losslake_ingest.mapping.evaluations import TrialCurve
from losslake_ingest.mapping.mapping import JoinedGoal, JoinedTarget, LogMapping
from losslake_ingest.mapping.metrics import ColumnMetric, checked_metric
from losslake_ingest.mapping.template import fill_if_known, fill_known, finite_number
from losslake_ingest.mapping.toml import toml_string
from losslake_schema.names import Workload
from losslake_schema.reached import DEFAULT_COMPARATOR, Floats, hits, sign_of
from losslake_schema.registry import Direction, Goal, metric_named

NO_TARGET = "goal of the log that its metric can't have: left out; state it by a [[goal]] with replaces"
BEST: Direction = "maximize"
REACHED = 1.0
_PERCENT = Fraction(1, 100)


def goals_of(mapping: LogMapping, workload: Workload, fields: Fields) -> list[Goal]:
    """Return the goals of a mapping whose fields are all known. Raises Refusal for a target that no value can reach."""
    goals = []
    for goal in mapping.goal:
        templates = {"metric": goal.metric, "target": goal.target, "source": goal.source}
        texts = fill_known(templates, fields)
        if len(texts) == len(templates):
            metric = checked_metric(str(texts["metric"]))
            target = _target(metric, texts["target"])
            goals.append(Goal(workload, metric, target, str(texts["source"]), goal.comparator))
    return goals


def _target(metric: str, value: Scalar) -> float:
    target, definition = finite_number(value), metric_named(metric)
    if target is None:
        raise Refusal(Rule.BAD_FACT, f"the goal's target is {shown(value)}, not a finite number")
    if not definition.can_reach(target):
        limits = definition.range_in_words
        raise Refusal(Rule.OUT_OF_RANGE, f"the goal's target is {target:g}, and {limits}: correct it")
    return target


def logged_goals(
    log: RunLog, mapping: LogMapping, trial: TrialCurve, workload: Workload, fields: Fields
) -> tuple[list[Goal], Counter[str]]:
    """Return the goals of a log that the mapping doesn't replace, in the units of their metrics, and remarks on them.

    Raises Refusal for one whose unit can't be known.
    """
    replaced = {
        (fill_if_known(goal.metric, fields), goal.replaces) for goal in mapping.goal if goal.replaces is not None
    }
    goals, remarks = [], Counter[str]()
    directions = {**dict(trial.directions), **log.directions}
    for goal in dict.fromkeys(log.goals):
        metric = trial.columns.get(goal.column)
        if metric is None or (metric.name, goal.target) in replaced:
            continue
        definition = metric_named(metric.name)
        target = converted = _converted(goal, metric)
        if _may_be_fraction(goal, metric):
            direction = definition.direction or directions.get(metric.name)
            target = _target_of_percentages(goal, metric, direction, trial.curve.values[metric.name])
        if target != converted:
            remarks[f"goal {goal.target:g} of {goal.column}: a fraction, though the values are percentages"] = 1
        if definition.can_reach(target):
            goals.append(Goal(workload, metric.name, target, goal.source, goal.comparator))
        else:
            remarks[NO_TARGET] += 1
    return goals, remarks


def _converted(goal: LoggedGoal, metric: ColumnMetric) -> float:
    return float(metric.values(np.array([goal.target]))[0])


def _may_be_fraction(goal: LoggedGoal, metric: ColumnMetric) -> bool:
    """Return True if a column has percentages of a fraction, and its target may be a fraction as well as up to 1%."""
    is_fraction = metric_named(metric.name).unit in ("fraction", "")  # metrics that aren't registered have no unit
    return is_fraction and abs(metric.scale) == _PERCENT and 0 < goal.target <= 1


def _target_of_percentages(
    goal: LoggedGoal, metric: ColumnMetric, direction: Direction | None, values: Floats
) -> float:
    """Return the target that is meant by a number up to 1. Raises Refusal if it can't be known.

    Nobody aims at an accuracy of 1%, or at an error that each value of the run is below.
    """
    as_percentage = _converted(goal, metric)
    as_fraction = _converted(goal, replace(metric, scale=100 * metric.scale))
    if direction is not None:
        if (direction == BEST) == (metric.scale > 0):
            return as_fraction
        sign = sign_of(direction)
        if hits(sign * values[np.isfinite(values)], sign * as_fraction, goal.comparator).all():
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
    raise mapping_lacks(Rule.BAD_FACT, what, add)


def add_margins(
    curve: Curves, goals: Sequence[JoinedGoal], directions: Mapping[str, Direction]
) -> tuple[Curves, Mapping[str, str]]:
    """Return the curve of a trial with the margin of each goal whose metrics it has, and the margins' formulas.

    The margin is the least of value/target, or target/value where a metric is minimized, at the evaluations that have
    all of the metrics; NaN if one of them is. In IEEE arithmetic it is at least 1 exactly where each value is at least
    as good as its target, and above 1 exactly where each is better: neighbours of a target differ from it by more than
    half of the distance of 1 from its own neighbours. Values of 0 and less that are minimized reach any target.

    directions: of metrics that aren't registered. Raises Refusal for a metric without a direction, or a name in use.
    """
    values, missing, formulas = dict(curve.values), dict(curve.missing), {}
    for goal in goals:
        name = checked_metric(goal.metric)
        if metric_named(name).direction is not None or name in curve.values:
            raise Refusal(Rule.BAD_FACT, f"[[joined]] {name} is the name of another metric: choose another")
        if any(each.metric not in curve.values for each in goal.of):
            continue
        parts = [_margin(curve.values[each.metric], each, directions) for each in goal.of]
        absent = np.zeros(len(curve.steps), np.bool_)
        for each in goal.of:
            absent |= curve.missing.get(each.metric, False)
        if absent.all():
            continue
        values[name] = np.where(absent, np.nan, np.minimum.reduce([part for part, _ in parts]))
        if absent.any():
            missing[name] = absent
        formulas[name] = f"least of {' and '.join(formula for _, formula in parts)}"
    return (replace(curve, values=values, missing=missing), formulas) if formulas else (curve, {})


def _margin(values: Floats, part: JoinedTarget, directions: Mapping[str, Direction]) -> tuple[Floats, str]:
    direction = metric_named(part.metric).direction or directions.get(part.metric)
    if direction is None:
        what = f"[[joined]] the direction of {part.metric} is unknown: state it in its line under [metrics]"
        raise Refusal(Rule.MISSING_FACT, what)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        if direction == BEST:
            return values / part.target, f"{part.metric} / {part.target!r}"
        return np.where(values <= 0, math.inf, part.target / values), f"{part.target!r} / {part.metric}"
