"""Acceptance by a reviewer: only what the checks don't refuse, and with their report."""

from __future__ import annotations

from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.review.acceptance import Acceptance, accept
from losslake_contributions.review.review import Reviews
from losslake_contributions.review.submissions import find_any, owner_of
from losslake_contributions.store.database import Database

_MOST_NAMED = 3


def accept_as(database: Database, reviews: Reviews, name: str, identity: Identity) -> Acceptance:
    """Accept a submission for a reviewer. Raises ContributionError as `accept_reviewed`, and for what they sent."""
    identity.require("review")
    if owner_of(database, name) == identity.contributor:
        raise ContributionError("forbidden", f"{name} is your own submission: another reviewer accepts it")
    return accept_reviewed(database, reviews, name, identity.credit.name)


def accept_reviewed(database: Database, reviews: Reviews, name: str, reviewer: str) -> Acceptance:
    """Accept a submission, and keep the report of the checks; accepted again, nothing changes.

    Raises ContributionError if a check refuses a run, or a run can't be stored.
    """
    checked = None
    if find_any(database, name, with_runs=False).state != "accepted":
        report = reviews.review(name).report
        if report.refuses:
            errors = [str(finding) for finding in report.findings if finding.severity == "error"]
            more = f", and {len(errors) - _MOST_NAMED:,} more" if len(errors) > _MOST_NAMED else ""
            detail = f"the checks refuse it: {'; '.join(errors[:_MOST_NAMED])}{more}: return it, or split the runs off"
            raise ContributionError("refused", detail, findings=errors[:1000])
        checked = report.to_json().decode()
    acceptance = accept(database, name, reviewer, checked)
    reviews.forget(name)
    return acceptance
