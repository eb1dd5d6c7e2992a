"""Running all checks on a submission."""

from __future__ import annotations

from losslake_contributions.review.checks import (
    amounts,
    claims,
    copies,
    curves,
    goals,
    licences,
    ownership,
    plausible,
    texts,
    timing,
    whole,
)
from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.report import NotRun, Report
from losslake_contributions.review.checks.rules import rules

NO_BASE = "there is no lake to compare with: name one by --lake"
NO_SENDER = "only the service knows what else its contributor has sent"
NO_NEIGHBOURS = "the lake has no trial of these data sets and models"
_CHECKS = (whole, texts, licences, goals, claims, timing, copies, ownership, amounts, curves, plausible)


def check(evidence: Evidence) -> Report:
    """Return the findings of all rules on a submission. Raises LossLakeError."""
    findings = [finding for each in _CHECKS for finding in each.check(evidence)]
    return Report(sorted(evidence.spools), findings, _not_run(evidence))


def _not_run(evidence: Evidence) -> list[NotRun]:
    """Return the rules that lack what they compare with, by reason."""
    reasons: dict[str, str] = {}
    if evidence.draft.base is None:
        reasons = dict.fromkeys(("lake", "neighbours", "sender"), NO_BASE)
    else:
        reasons |= {"neighbours": NO_NEIGHBOURS} if evidence.draft.before is None else {}
        reasons |= {"sender": NO_SENDER} if evidence.own_submissions is None else {}
    distinct = dict.fromkeys(reasons.values())
    return [
        NotRun(rule.name, each) for each in distinct for rule in rules().values() if reasons.get(rule.needs) == each
    ]
