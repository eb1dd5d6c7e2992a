"""Where the regimes of each workload lie: break points and critical batch size with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from losslake.cli.reports.subject import NOTHING, Question, interval, number, table
from losslake.questions.analysis.critical_batch_size import critical_batch_size
from losslake.questions.analysis.regimes import AS_DEFINED, DIMINISHING, MAXIMAL, PERFECT, regimes
from losslake.questions.release_view import ReleaseView
from losslake_schema.names import Workload

_DEFINITION = "mccandlish2018"
_AT_90_PERCENT = 1.6448536269514722


@dataclass(frozen=True)
class Transition:
    """One workload at one goal.

    regimes: those that some batch size is in. perfect_end, max_useful: break points, of /v1/analysis/regimes.
    critical_batch_size, lower, upper: with its 90% interval; None where the data can't support one, lower and upper
    then being bounds.
    """

    workload: Workload
    regimes: frozenset[str]
    perfect_end: dict[str, Any]
    max_useful: dict[str, Any]
    critical_batch_size: float | None
    lower: float | None
    upper: float | None
    rms: float | None

    @property
    def has_three_regimes(self) -> bool:
        """Whether some batch size is in each of them."""
        return {PERFECT, DIMINISHING, MAXIMAL} <= self.regimes

    @property
    def is_useful_inside(self) -> bool:
        """Whether the largest useful batch size lies between two that reached the target."""
        return self.max_useful["batch_size"] is not None and self.max_useful["censoring"] is None

    @property
    def log_error(self) -> float | None:
        """Standard error of log(critical_batch_size), as its interval has it."""
        if self.critical_batch_size is None or not self.lower or not self.upper:
            return None
        return (math.log(self.upper) - math.log(self.lower)) / (2 * _AT_90_PERCENT)


def transitions(view: ReleaseView, workloads: Sequence[Workload], question: Question) -> list[Transition]:
    """One for each workload, in their order."""
    selection = question.selection(*workloads)
    answer = regimes(view, selection, question.goal)
    ends = {
        (row["workload"], row["break_point"]): row
        for row in answer.facts["break_points"]
        if row["variant"] == AS_DEFINED
    }
    seen = {(row["workload"], row["regime"]) for row in answer.table().to_pylist()}
    fits = {
        row["workload"]: row
        for row in critical_batch_size(view, selection, question.goal).table().to_pylist()
        if row["definition"] == _DEFINITION
    }
    return [
        Transition(
            workload=workload,
            regimes=frozenset(regime for name, regime in seen if name == str(workload) and regime is not None),
            perfect_end=ends[str(workload), "perfect_scaling_end"],
            max_useful=ends[str(workload), "max_useful_batch_size"],
            critical_batch_size=fits[str(workload)]["critical_batch_size"],
            lower=fits[str(workload)]["lower"],
            upper=fits[str(workload)]["upper"],
            rms=fits[str(workload)]["rms_log_residual"],
        )
        for workload in workloads
    ]


def transition_table(found: Sequence[Transition]) -> str:
    """The transitions as Markdown."""
    headings = ["workload", "perfect scaling until", "useful until", "B_c", "90% interval", "rms log residual"]
    return table(headings, (_row(each) for each in found))


def _row(found: Transition) -> list[str]:
    return [
        f"{found.workload.model} {found.workload.optimizer}",
        _break_point(found.perfect_end),
        _break_point(found.max_useful),
        number(found.critical_batch_size),
        interval(found.lower, found.upper),
        NOTHING if found.rms is None else f"{found.rms:.2f}",
    ]


def _break_point(row: dict[str, Any]) -> str:
    if row["batch_size"] is None:
        return NOTHING
    sign = {"left": "≤ ", "right": "≥ "}.get(row["censoring"], "")
    return f"{sign}{row['batch_size']:,}"


def disjoint_pairs(found: Sequence[Transition]) -> tuple[int, int]:
    """How many pairs of workloads have intervals that don't overlap, and how many have intervals."""
    known = [each for each in found if each.log_error is not None]
    pairs = list(combinations(known, 2))
    return sum(_are_disjoint(*pair) for pair in pairs), len(pairs)


def _are_disjoint(first: Transition, second: Transition) -> bool:
    ends = (first.lower, first.upper, second.lower, second.upper)
    assert all(end is not None for end in ends)
    return bool(first.upper < second.lower or second.upper < first.lower)  # type: ignore[operator]


@dataclass(frozen=True)
class Ratio:
    """Critical batch size of the second workload over that of the first, with its 90% interval; None if unknown."""

    value: float | None
    lower: float | None
    upper: float | None

    @property
    def is_above_1(self) -> bool:
        return self.lower is not None and self.lower > 1

    @property
    def is_below_1(self) -> bool:
        return self.upper is not None and self.upper < 1


def ratio(first: Transition, second: Transition) -> Ratio:
    """The errors of both are taken as independent, in the logarithm."""
    errors = (first.log_error, second.log_error)
    if errors[0] is None or errors[1] is None or not first.critical_batch_size or not second.critical_batch_size:
        return Ratio(None, None, None)
    value = second.critical_batch_size / first.critical_batch_size
    spread = math.exp(_AT_90_PERCENT * math.hypot(errors[0], errors[1]))
    return Ratio(value, value / spread, value * spread)


def known_sizes(found: Sequence[Transition]) -> Iterator[float]:
    """The critical batch sizes that the data support."""
    for each in found:
        if each.critical_batch_size is not None:
            yield each.critical_batch_size
