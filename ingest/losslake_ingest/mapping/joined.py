"""Goals that join metrics: reached at the first evaluation at which each metric reaches its own target.

The margin of such a goal is a metric of its own, so every question about a goal answers for it too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.study import Curves
from losslake_ingest.mapping.mapping import JoinedGoal, JoinedTarget
from losslake_ingest.mapping.metrics import checked_metric
from losslake_schema.reached import Floats
from losslake_schema.registry import Direction, metric_named

BEST: Direction = "maximize"
REACHED = 1.0


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
