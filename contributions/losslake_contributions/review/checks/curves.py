"""Rules about curves by themselves: constant, perfect from the start, without a number, with too few evaluations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from losslake_contributions.review.checks.evidence import Curve, Evidence
from losslake_contributions.review.checks.rules import NOTE, WARNING, Finding, Rule
from losslake_schema.reached import Floats
from losslake_schema.registry import metric_named
from losslake_schema.statuses import INFEASIBLE

CONSTANT = Rule("constant_curve", WARNING, "a metric with a known direction changes between evaluations")
PERFECT = Rule("perfect_at_start", WARNING, "a metric isn't at its best possible value from the first evaluation on")
NO_NUMBER = Rule("no_number", WARNING, "a metric of a run that isn't INFEASIBLE has a finite value")
FEW = Rule("few_evaluations", NOTE, "a metric with a known direction is evaluated at least five times")
RULES = (CONSTANT, PERFECT, NO_NUMBER, FEW)

LEAST = 5


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about single curves."""
    for name, spool in evidence.spools.items():
        is_infeasible = (spool.end or {}).get("status") == INFEASIBLE
        for metric, curve in evidence.curves(name).items():
            for rule, message in _of_curve(metric, curve, is_infeasible):
                yield rule.finding(name, metric, message)


def _of_curve(metric: str, curve: Curve, is_infeasible: bool) -> Iterator[tuple[Rule, str]]:
    values = curve.values
    if not np.isfinite(values).any():
        if not is_infeasible:
            yield NO_NUMBER, f"none of its {len(values):,} values is finite: finish it as INFEASIBLE, or leave it out"
        return
    if metric_named(metric).direction is None:
        return
    if is_constant(values):
        yield CONSTANT, f"all of its {len(values):,} values are {values[np.isfinite(values)][0]:g}: is it measured?"
    elif starts_perfect(metric, values):
        yield PERFECT, f"its first value is {values[0]:g}, and nothing is better: is it measured on the right data?"
    if len(values) < LEAST:
        yield FEW, f"it has {len(values)} evaluations, so steps to a target are coarse: evaluate more often"


def is_constant(values: Floats) -> bool:
    """Return True for at least five finite values that are all equal, whatever isn't finite between them."""
    finite = values[np.isfinite(values)]
    return len(finite) >= LEAST and bool((finite == finite[0]).all())


def starts_perfect(metric: str, values: Floats) -> bool:
    """Return True if the first value of a metric with a range is the best that it can have."""
    registered = metric_named(metric)
    best = registered.smallest if registered.direction == "minimize" else registered.largest
    return len(values) > 1 and bool(np.isfinite(best)) and bool(values[0] == best)
