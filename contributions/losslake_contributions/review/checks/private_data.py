"""A rule about private data: nothing is left that a client should have removed before it sent a run."""

from __future__ import annotations

from collections.abc import Iterator

from losslake_contributions.client.prepared_run import prepared
from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.rules import ERROR, Finding, Rule

PRIVATE = Rule("private_data", ERROR, "no secret, host name, path, address or e-mail is in what is sent")
RULES = (PRIVATE,)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield what would be removed from the runs as they were sent."""
    for name, spool in evidence.spools.items():
        for removal in prepared(spool).removals:
            yield PRIVATE.finding(
                name, removal.where, f"{removal.kind}: send the run by 'losslake push', which removes it"
            )
