"""Counts of workloads in a release, by which the cost of answers is estimated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from losslake.questions.release.pool import MOST_POOLED


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of a workload, or of several together. repeated: trials of settings with enough of them for a result."""

    workloads: int = 0
    studies: int = 0
    trials: int = 0
    evaluations: int = 0
    repeated: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Return the sums of both."""
        return Counts(
            self.workloads + other.workloads,
            self.studies + other.studies,
            self.trials + other.trials,
            self.evaluations + other.evaluations,
            self.repeated + other.repeated,
        )


def largest(counts: Iterable[Counts]) -> Counts:
    """Return the counts of as many workloads as a pattern may match: of those with the most evaluations."""
    chosen = sorted(counts, key=lambda each: -each.evaluations)[:MOST_POOLED]
    together = sum(chosen, Counts())
    return replace(together, repeated=together.trials)  # any of them may be
