"""A rule about claims: that a metric reaches a target at a step has to be what the log says, exactly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from losslake_contributions.review.checks.evidence import Claim, Curve, Evidence
from losslake_contributions.review.checks.rules import ERROR, Finding, Rule
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Workload
from losslake_schema.reached import Comparator, hits, sign_of
from losslake_schema.tables import STUDY_KEYS

CLAIM = Rule("claim", ERROR, "each claim equals its computation from the log: the first step that reaches the target")
RULES = (CLAIM,)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the claims that don't hold."""
    for claim in evidence.claims:
        where = f"{claim.metric} {claim.target:g} in {claim.steps:,} steps"
        message = _problem(claim, evidence)
        if message is not None:
            yield CLAIM.finding(claim.run, where, message)


def _problem(claim: Claim, evidence: Evidence) -> str | None:
    """Return why a claim doesn't hold, None if it does."""
    spool = evidence.spools.get(claim.run)
    if spool is None:
        return "no run of that name is sent: name one of them"
    curve = evidence.curves(claim.run).get(claim.metric)
    if curve is None:
        measured = ", ".join(sorted(evidence.curves(claim.run))) or "nothing"
        return f"the run doesn't measure {claim.metric}, but {measured}: name one of these"
    view = evidence.after
    assert view is not None
    direction = view.metrics[claim.metric].direction
    if direction is None:
        return f"it isn't known whether lower or higher values of {claim.metric} are better: claim another metric"
    workload = Workload(*(str(spool.facts.get(key)) for key in STUDY_KEYS[:4]))
    comparator = view.comparator(workload, claim.metric)
    try:
        first = first_step(curve, claim.target, direction, comparator)
    except ValueError as error:
        return f"{error}"
    if first == claim.steps:
        return None
    equal = "at least as good as" if comparator == "inclusive" else "better than"
    if first is None:
        return f"no value of the log is {equal} it: leave the claim out"
    return f"the first value of the log that is {equal} it is at step {first:,}: claim that"


def first_step(curve: Curve, target: float, direction: str, comparator: Comparator) -> int | None:
    """Return the first step at which a curve reaches a target; None for never. Raises ValueError."""
    sign = sign_of(direction)
    rows = np.flatnonzero(hits(sign * curve.values, sign * target, comparator))
    return int(curve.steps[rows[0]]) if len(rows) else None


def parse_claim(text: str) -> Claim:
    """Read `[RUN:]METRIC=TARGET@STEPS`, such as val/classification_error=0.05@1200. Raises LossLakeError."""
    head, at, steps = text.rpartition("@")
    named, sign, target = head.rpartition("=")
    run, _, metric = named.rpartition(":")
    try:
        claim = Claim(run, metric, float(target), int(steps))
    except ValueError:
        claim = None
    if not (at and sign and metric) or claim is None or not np.isfinite(claim.target) or claim.steps < 0:
        raise LossLakeError(f"--claim {text!r}: give METRIC=TARGET@STEPS, as in val/classification_error=0.05@1200")
    return claim
