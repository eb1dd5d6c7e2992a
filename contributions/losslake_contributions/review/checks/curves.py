"""Rules about curves by themselves: constant, perfect from the start, without a number, with too few evaluations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.rules import Finding, finding
from losslake_schema.reached import Floats
from losslake_schema.registry import metric_named
from losslake_schema.statuses import INFEASIBLE

LEAST = 5


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about single curves."""
    for name, spool in evidence.spools.items():
        is_infeasible = (spool.end or {}).get("status") == INFEASIBLE
        for metric, curve in evidence.curves(name).items():
            for rule, message in _problems(metric, curve.values, is_infeasible):
                yield finding(rule, name, metric, message)


def _problems(metric: str, values: Floats, is_infeasible: bool) -> Iterator[tuple[str, str]]:
    """Yield the rules that the values of a metric break, each with a message."""
    n, finite = len(values), values[np.isfinite(values)]
    if not len(finite):
        if not is_infeasible:
            yield "no_number", f"none of its {n:,} values is finite: finish it as INFEASIBLE, or leave it out"
        return
    if metric_named(metric).direction is None:
        return
    if is_constant(values):
        yield "constant_curve", f"all of its {n:,} values are {finite[0]:g}: is it measured?"
    elif starts_perfect(metric, values):
        message = f"its first value is {values[0]:g}, and nothing is better: is it measured on the right data?"
        yield "perfect_at_start", message
    if n < LEAST:
        yield "few_evaluations", f"it has {n} evaluations, so steps to a target are coarse: evaluate more often"


def is_constant(values: Floats) -> bool:
    """Return True for at least five finite values that are all equal, whatever isn't finite between them."""
    finite = values[np.isfinite(values)]
    return len(finite) >= LEAST and bool((finite == finite[0]).all())


def starts_perfect(metric: str, values: Floats) -> bool:
    """Return True if the first value of a metric with a range is the best that it can have."""
    registered = metric_named(metric)
    best = registered.smallest if registered.direction == "minimize" else registered.largest
    return len(values) > 1 and bool(np.isfinite(best)) and bool(values[0] == best)
