"""The runs that MLPerf requires of a submission, by suite and benchmark, as rules.toml has them with their sources."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from losslake_schema.package_files import read_toml

SUITES = ("mlperf-training", "mlperf-hpc")


@dataclass(frozen=True)
class SubmissionRules:
    """The rules of a benchmark, as the head of rules.toml explains them. reference: its name in older rounds."""

    runs: int
    trimmed: int
    not_reached: int
    first_converged: int | None = None
    allowance: float = 0.0
    reference: str | None = None


def round_key(name: str) -> tuple[int, ...]:
    """Return the sort key of a round such as 5.1; a part that isn't a number is -1, so before all numbers."""
    return tuple(int(part) if part.isdecimal() else -1 for part in name.split("."))


@cache
def rules_of(suite: str, benchmark: str) -> SubmissionRules | None:
    """Return the rules of a benchmark; None where none are known."""
    document = read_toml("losslake.questions.results", "rules.toml")
    stated = document.get(suite, {}).get(benchmark) if suite != "defaults" else None
    return None if stated is None else SubmissionRules(**{**document["defaults"], **stated})
