"""The transitions between regimes: break points, and critical batch sizes with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from losslake.analysis.measured_levels import stated
from losslake.questions import critical_batch_size, regimes
from losslake.questions.release.known_names import display_name
from losslake.questions.release.view import ReleaseView
from losslake_schema.names import Workload
from studies.reports.markdown import NOTHING, interval, number, table


@dataclass(frozen=True)
class Transition:
    """The transitions of one workload at one goal.

    rows, perfect_end, max_useful: batch sizes and break points, of /v1/analysis/regimes. fit: the row of
    /v1/analysis/critical-batch-size. why_not: its first warning.
    """

    workload: Workload
    rows: Sequence[Mapping[str, Any]]
    perfect_end: Mapping[str, Any]
    max_useful: Mapping[str, Any]
    fit: Mapping[str, Any]
    why_not: str | None

    @property
    def critical_batch_size(self) -> float | None:
        """The critical batch size; None if the data support none."""
        value: float | None = self.fit["critical_batch_size"]
        return value

    @property
    def rms(self) -> float | None:
        """The scatter of log steps around the curve."""
        value: float | None = self.fit["rms_log_residual"]
        return value

    @property
    def has_three_regimes(self) -> bool:
        """True if each regime has a batch size."""
        return {regimes.PERFECT, regimes.DIMINISHING, regimes.MAXIMAL} <= {row["regime"] for row in self.rows}

    @property
    def is_useful_inside(self) -> bool:
        """True if the largest useful batch size lies between two that reached the target."""
        return self.max_useful["batch_size"] is not None and self.max_useful["censoring"] is None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of the critical batch size, or None."""
        lower, upper = self.fit["lower"], self.fit["upper"]
        return None if self.critical_batch_size is None or not lower or not upper else (lower, upper)


def transitions(view: ReleaseView, workloads: Sequence[Workload], about: Mapping[str, Any]) -> list[Transition]:
    """Return the transitions of each workload. about: the parameters of a question about them and a goal."""
    answer = regimes.QUESTION.answer(view, regimes.RegimesParameters(**about))
    fitted = critical_batch_size.QUESTION.answer(view, critical_batch_size.CriticalBatchSizeParameters(**about))
    ends = {
        (row["workload"], row["break_point"]): row
        for row in answer.facts["break_points"]
        if row["variant"] == regimes.AS_DEFINED
    }
    rows = answer.table().to_pylist()
    fits = {row["workload"]: row for row in fitted.table().to_pylist() if row["definition"] == "mccandlish2018"}
    return [
        Transition(
            workload=workload,
            rows=[row for row in rows if row["workload"] == str(workload)],
            perfect_end=ends[str(workload), "perfect_scaling_end"],
            max_useful=ends[str(workload), "max_useful_batch_size"],
            fit=fits[str(workload)],
            why_not=next((text for text in fitted.facts["warnings"] if text.startswith(f"{workload}: ")), None),
        )
        for workload in workloads
    ]


def transition_table(cases: Sequence[Transition]) -> str:
    """Return a Markdown table of transitions."""
    level = stated("critical-batch-size interval")
    headings = ["workload", "perfect scaling until", "useful until", "B_c", f"{level} interval", "rms log residual"]
    rows = (
        [
            f"{each.workload.model} {display_name('optimizer', each.workload)}",
            break_point(each.perfect_end),
            break_point(each.max_useful),
            number(each.critical_batch_size),
            interval(each.fit["lower"], each.fit["upper"]),
            NOTHING if each.rms is None else f"{each.rms:.2f}",
        ]
        for each in cases
    )
    return table(headings, rows)


def break_point(row: Mapping[str, Any]) -> str:
    """Return the batch size of a break point, or the bound that it is."""
    if row["batch_size"] is None:
        return NOTHING
    sign = {"left": "≤ ", "right": "≥ "}.get(row["censoring"], "")
    return f"{sign}{row['batch_size']:,}"


def disjoint_pairs(cases: Sequence[Transition]) -> tuple[int, int]:
    """Return the number of pairs of workloads with disjoint intervals, and of pairs with intervals."""
    pairs = list(combinations([ends for each in cases if (ends := each.interval) is not None], 2))
    return sum(first[1] < second[0] or second[1] < first[0] for first, second in pairs), len(pairs)


@dataclass(frozen=True)
class Ratio:
    """Critical batch size of the second workload over that of the first, with its interval; None if unknown."""

    value: float | None = None
    lower: float | None = None
    upper: float | None = None

    @property
    def is_above_1(self) -> bool:
        """True if the whole interval is above 1."""
        return self.lower is not None and self.lower > 1

    @property
    def is_below_1(self) -> bool:
        """True if the whole interval is below 1."""
        return self.upper is not None and self.upper < 1


def ratio(first: Transition, second: Transition) -> Ratio:
    """Return the ratio of critical batch sizes. Errors of their logarithms are assumed to be independent."""
    ends = (first.interval, second.interval)
    if ends[0] is None or ends[1] is None or not first.critical_batch_size or not second.critical_batch_size:
        return Ratio()
    # Half the width of an interval is the same multiple of every standard error.
    spread = math.exp(math.hypot(*(math.log(upper / lower) / 2 for lower, upper in (ends[0], ends[1]))))
    value = second.critical_batch_size / first.critical_batch_size
    return Ratio(value, value / spread, value * spread)
