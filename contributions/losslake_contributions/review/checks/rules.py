"""Rules and findings: what a check looks for, how much it matters, and what it found.

A rule keeps its name and meaning. A later version of the checks may add rules or make them stricter; what was accepted
by an earlier version stays accepted, with its report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from losslake_schema.package_files import read_toml

CHECKS_VERSION = 2
"""Raised with every change of a rule that lets the same runs have other findings."""

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[str, ...] = get_args(Severity)


@dataclass(frozen=True)
class Rule:
    """A rule, as data/rules.toml has it."""

    name: str
    severity: Severity
    meaning: str
    needs: Literal["", "lake", "neighbours", "sender"] = ""


@cache
def rules() -> Mapping[str, Rule]:
    """Return every rule by its name, in the order in which they are run."""
    return {
        name: Rule(name, **facts)
        for name, facts in read_toml("losslake_contributions.review.data", "rules.toml").items()
    }


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
        return ": ".join(filter(None, (f"{self.severity} {self.rule}", place, self.message)))


def finding(rule: str, run: str, where: str, message: str) -> Finding:
    """Return a finding by the rule of this name."""
    return Finding(rule, rules()[rule].severity, run, where, message)
