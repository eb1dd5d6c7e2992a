"""Running all checks on a submission."""

from __future__ import annotations

from losslake_contributions.review.checks import (
    amounts,
    claims,
    copies,
    curves,
    licences,
    ownership,
    plausible,
    texts,
    timing,
    whole,
)
from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.report import NotRun, Report
from losslake_contributions.review.checks.rules import Rule

NO_BASE = "there is no lake to compare with: name one by --lake"
NO_SENDER = "only the service knows what else its contributor has sent"
NO_NEIGHBOURS = "the lake has no trial of these data sets and models"
_CHECKS = (
    whole,
    texts,
    licences,
    claims,
    timing,
    copies,
    ownership,
    amounts,
    curves,
    plausible,
)
_BESIDE_NEIGHBOURS = plausible.RULES


def rules() -> list[Rule]:
    """Return every rule."""
    return [rule for each in _CHECKS for rule in each.RULES]


def check(evidence: Evidence) -> Report:
    """Return the findings of all rules on a submission. Raises LossLakeError."""
    findings = [finding for each in _CHECKS for finding in each.check(evidence)]
    compared = [rule for rule in rules() if rule.needs_base]
    if evidence.draft.base is None:
        not_run = [NotRun(rule.name, NO_BASE) for rule in compared]
    elif evidence.draft.before is None:
        not_run = [NotRun(rule.name, NO_NEIGHBOURS) for rule in compared if rule in _BESIDE_NEIGHBOURS]
    else:
        not_run = []
    if evidence.draft.base is not None and evidence.own_submissions is None:
        not_run.append(NotRun(ownership.OTHERS.name, NO_SENDER))
    return Report(sorted(evidence.spools), findings, not_run)
