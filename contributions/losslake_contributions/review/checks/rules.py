"""Rules and findings: what a check looks for, how much it matters, and what it found.

A rule keeps its name and meaning. A later version of the checks may add rules or make them stricter; what was accepted
by an earlier version stays accepted, with its report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CHECKS_VERSION = 1
"""Raised with every change of a rule that lets the same runs have other findings."""

Severity = Literal["error", "warning", "note"]
ERROR: Severity = "error"
WARNING: Severity = "warning"
NOTE: Severity = "note"


@dataclass(frozen=True)
class Rule:
    """A rule. severity: an error refuses, a warning is for the reviewer to decide, a note is to be known.

    meaning: the rule in one line. since: the version of the checks that it came with. needs_base: it compares with what
    is stored.
    """

    name: str
    severity: Severity
    meaning: str
    since: int = 1
    needs_base: bool = False

    def finding(self, run: str, where: str, message: str) -> Finding:
        """Return a finding by this rule."""
        return Finding(self.name, self.severity, run, where, message)


@dataclass(frozen=True)
class Finding:
    """A finding by a rule.

    run: the name of the run; empty for the submission. where: file, metric or field. message: what, and what to do.
    """

    rule: str
    severity: Severity
    run: str
    where: str
    message: str

    def __str__(self) -> str:
        place = ", ".join(filter(None, (self.run, self.where)))
        return (
            f"{self.severity} {self.rule}: {place}: {self.message}"
            if place
            else f"{self.severity} {self.rule}: {self.message}"
        )
