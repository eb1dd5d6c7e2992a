"""Where the regimes of each workload lie: break points and critical batch size with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from losslake.cli.reports.markdown import NOTHING, interval, number, table
from losslake.questions import critical_batch_size, regimes
from losslake.questions.release_view import ReleaseView
from losslake_schema.names import Workload

_DEFINITION = "mccandlish2018"


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
        return {regimes.PERFECT, regimes.DIMINISHING, regimes.MAXIMAL} <= self.regimes

    @property
    def is_useful_inside(self) -> bool:
        """Whether the largest useful batch size lies between two that reached the target."""
        return self.max_useful["batch_size"] is not None and self.max_useful["censoring"] is None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of the critical batch size; None where it has none."""
        if self.critical_batch_size is None or not self.lower or not self.upper:
            return None
        return self.lower, self.upper


def transitions(view: ReleaseView, workloads: Sequence[Workload], about: Mapping[str, Any]) -> list[Transition]:
    """Return one for each workload, in their order; about: the parameters of a question about them and a goal."""
    answer = regimes.answer(view, regimes.RegimesParameters(**about))
    fitted = critical_batch_size.answer(view, critical_batch_size.CriticalBatchSizeParameters(**about))
    ends = {
        (row["workload"], row["break_point"]): row
        for row in answer.facts["break_points"]
        if row["variant"] == regimes.AS_DEFINED
    }
    seen = {(row["workload"], row["regime"]) for row in answer.table().to_pylist()}
    fits = {row["workload"]: row for row in fitted.table().to_pylist() if row["definition"] == _DEFINITION}
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
    """Return the transitions as Markdown."""
    headings = ["workload", "perfect scaling until", "useful until", "B_c", "90% interval", "rms log residual"]
    rows = (
        [
            f"{each.workload.model} {each.workload.optimizer}",
            _break_point(each.perfect_end),
            _break_point(each.max_useful),
            number(each.critical_batch_size),
            interval(each.lower, each.upper),
            NOTHING if each.rms is None else f"{each.rms:.2f}",
        ]
        for each in found
    )
    return table(headings, rows)


def _break_point(row: dict[str, Any]) -> str:
    if row["batch_size"] is None:
        return NOTHING
    sign = {"left": "≤ ", "right": "≥ "}.get(row["censoring"], "")
    return f"{sign}{row['batch_size']:,}"


def disjoint_pairs(found: Sequence[Transition]) -> tuple[int, int]:
    """Return how many pairs of workloads have intervals that don't overlap, and how many have intervals."""
    pairs = list(combinations([ends for each in found if (ends := each.interval) is not None], 2))
    return sum(first[1] < second[0] or second[1] < first[0] for first, second in pairs), len(pairs)


@dataclass(frozen=True)
class Ratio:
    """Critical batch size of the second workload over that of the first, with its 90% interval; None if unknown."""

    value: float | None = None
    lower: float | None = None
    upper: float | None = None

    @property
    def is_above_1(self) -> bool:
        return self.lower is not None and self.lower > 1

    @property
    def is_below_1(self) -> bool:
        return self.upper is not None and self.upper < 1


def ratio(first: Transition, second: Transition) -> Ratio:
    """Return the ratio; the errors of both are taken as independent, in the logarithm."""
    ends = (first.interval, second.interval)
    if ends[0] is None or ends[1] is None or not first.critical_batch_size or not second.critical_batch_size:
        return Ratio()
    # Half the width of a 90% interval is the same multiple of every standard error.
    spread = math.exp(math.hypot(*(math.log(upper / lower) / 2 for lower, upper in (ends[0], ends[1]))))
    value = second.critical_batch_size / first.critical_batch_size
    return Ratio(value, value / spread, value * spread)
