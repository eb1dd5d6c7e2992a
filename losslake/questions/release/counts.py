"""Counts of workloads in a release, by which the cost of answers is estimated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from losslake.questions.release.pool import MOST_POOLED


class Counts(NamedTuple):
    """Counts of a workload, or of several together."""

    workloads: int = 0
    studies: int = 0
    trials: int = 0
    evaluations: int = 0


def together(counts: Iterable[Counts]) -> Counts:
    """Return the sums of all counts."""
    return Counts(*map(sum, zip(*counts, strict=True)))


def largest(counts: Iterable[Counts]) -> Counts:
    """Return the counts of as many workloads as a pattern may match: of those with the most evaluations."""
    chosen = sorted(counts, key=lambda each: -each.evaluations)[:MOST_POOLED]
    return together(chosen)
