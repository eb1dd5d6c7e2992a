"""The report of the checks: what they found, by which version of them, and which rules weren't run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from losslake_contributions.review.checks.rules import CHECKS_VERSION, SEVERITIES, Finding
from losslake_schema.quantities import counted

_MOST_OF_A_RULE = 20


@dataclass(frozen=True)
class NotRun:
    """A rule that wasn't run, and why."""

    rule: str
    reason: str


@dataclass(frozen=True)
class Report:
    """The findings of the checks on a submission.

    runs: their names. version: of the checks, which a stored report keeps.
    """

    runs: Sequence[str]
    findings: Sequence[Finding]
    not_run: Sequence[NotRun] = ()
    version: int = CHECKS_VERSION

    @property
    def refuses(self) -> bool:
        """True if an error was found, so that the runs can't be accepted as they are."""
        return any(finding.severity == "error" for finding in self.findings)

    def to_json(self) -> str:
        """Return the report as JSON, to be stored."""
        return _REPORT.dump_json(self, indent=1).decode()

    @staticmethod
    def from_json(text: str) -> Report:
        """Read a report, of any version. Raises ValueError."""
        return _REPORT.validate_json(text)


_REPORT = TypeAdapter(Report)


def as_text(report: Report) -> Iterator[str]:
    """Yield the lines of a report: errors first, each with what to do, then what wasn't checked, then the verdict."""
    counts: Counter[str] = Counter()
    order = {severity: place for place, severity in enumerate(SEVERITIES)}
    for finding in sorted(report.findings, key=lambda each: (order[each.severity], each.rule, each.run, each.where)):
        counts[finding.rule] += 1
        if counts[finding.rule] <= _MOST_OF_A_RULE:
            yield str(finding)
    for rule, count in counts.items():
        if count > _MOST_OF_A_RULE:
            yield f"… and {count - _MOST_OF_A_RULE:,} more of {rule}"
    for reason in dict.fromkeys(each.reason for each in report.not_run):
        rules = ", ".join(each.rule for each in report.not_run if each.reason == reason)
        yield f"not checked: {rules}: {reason}"
    severities = Counter(finding.severity for finding in report.findings)
    findings = ", ".join(counted(count, name) for name, count in severities.items())
    verdict = "refused" if report.refuses else "not refused"
    runs = counted(len(report.runs), "run")
    yield f"{runs}, {findings or 'nothing found'}, by version {report.version} of the checks: {verdict}"
