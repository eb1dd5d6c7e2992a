"""A rule about claims: that a metric reaches a target at a step has to be what the log says, exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from losslake_contributions.review.checks.evidence import Claim, Curve, Evidence
from losslake_contributions.review.checks.rules import Finding, finding
from losslake_contributions.review.draft import workload_of
from losslake_schema.errors import LossLakeError
from losslake_schema.reached import Comparator, hits, sign_of


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the claims that don't hold."""
    for claim in evidence.claims:
        message = _problem(claim, evidence)
        if message is not None:
            yield finding("claim", claim.run, f"{claim.metric} {claim.target:g} in {claim.steps:,} steps", message)


def _problem(claim: Claim, evidence: Evidence) -> str | None:
    """Return why a claim doesn't hold, None if it does."""
    spool, curves = evidence.spools.get(claim.run), evidence.curves(claim.run)
    if spool is None:
        return "no run of that name is sent: name one of them"
    curve, view = curves.get(claim.metric), evidence.after
    if curve is None or view is None:
        return f"the run doesn't measure {claim.metric}, but {', '.join(curves) or 'nothing'}: name one of these"
    direction = view.metrics[claim.metric].direction
    if direction is None:
        return f"it isn't known whether lower or higher values of {claim.metric} are better: claim another metric"
    comparator = view.comparator(workload_of(spool), claim.metric)
    first = first_step(curve, claim.target, direction, comparator)
    if first == claim.steps:
        return None
    equal = "at least as good as" if comparator == "inclusive" else "better than"
    if first is None:
        return f"no value of the log is {equal} it: leave the claim out"
    return f"the first value of the log that is {equal} it is at step {first:,}: claim that"


def first_step(curve: Curve, target: float, direction: str, comparator: Comparator) -> int | None:
    """Return the first step at which a curve reaches a target; None for never."""
    sign = sign_of(direction)
    rows = np.flatnonzero(hits(sign * curve.values, sign * target, comparator))
    return int(curve.steps[rows[0]]) if len(rows) else None


def parse_claim(text: str) -> Claim:
    """Read `[RUN:]METRIC=TARGET@STEPS`, such as val/classification_error=0.05@1200. Raises LossLakeError."""
    head, _, steps = text.rpartition("@")
    named, _, target = head.rpartition("=")
    run, _, metric = named.rpartition(":")
    with suppress(ValueError):
        claim = Claim(run, metric, float(target), int(steps))
        if metric and math.isfinite(claim.target) and claim.steps >= 0:
            return claim
    raise LossLakeError(f"--claim {text!r}: give METRIC=TARGET@STEPS, as in val/classification_error=0.05@1200")
