"""What changes from one workload of a pair to the other: critical batch size, and steps at equal tuning budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from losslake.cli.reports.markdown import NOTHING, interval, number, table
from losslake.cli.reports.subject import Pair, Question
from losslake.cli.reports.transitions import Ratio, Transition, ratio
from losslake.questions.analysis.compare import compare
from losslake.questions.release_view import ReleaseView
from losslake_schema.names import Workload

SMALL, LARGE = 8, 128
"""Batch sizes up to the first and from the second on are averaged."""


@dataclass(frozen=True)
class Change:
    """From the first workload of a pair to the second, at one goal.

    critical_batch_size: second over first. steps_at_small, steps_at_large: geometric mean of the second's steps over
    the first's, over the small and the large batch sizes; None where no batch size has both.
    """

    pair: Pair
    question: Question
    critical_batch_size: Ratio
    steps_at_small: float | None
    steps_at_large: float | None


def changes(view: ReleaseView, pairs: Sequence[Pair], question: Question, found: Sequence[Transition]) -> list[Change]:
    """One for each pair whose workloads the release has; found: the transitions of these at that goal."""
    by_workload: Mapping[Workload, Transition] = {each.workload: each for each in found}
    return [
        _change(view, pair, question, by_workload)
        for pair in pairs
        if pair.first in by_workload and pair.second in by_workload
    ]


def _change(view: ReleaseView, pair: Pair, question: Question, found: Mapping[Workload, Transition]) -> Change:
    rows = compare(view, question.selection(pair.first, pair.second), question.goal).table().to_pylist()
    ratios = {
        row["batch_size"]: row["steps_ratio"]
        for row in rows
        if row["workload"] == str(pair.second) and row["steps_ratio"] is not None
    }
    return Change(
        pair=pair,
        question=question,
        critical_batch_size=ratio(found[pair.first], found[pair.second]),
        steps_at_small=_geometric_mean([own for size, own in ratios.items() if size <= SMALL]),
        steps_at_large=_geometric_mean([own for size, own in ratios.items() if size >= LARGE]),
    )


def _geometric_mean(values: Sequence[float]) -> float | None:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def change_table(found: Sequence[Change]) -> str:
    """The changes as Markdown."""
    headings = [
        "from, to", "goal", "B_c times", "90% interval", f"steps times, B ≤ {SMALL}", f"steps times, B ≥ {LARGE}",
    ]  # fmt: skip
    return table(headings, (_row(each) for each in found))


def _row(found: Change) -> list[str]:
    own = found.critical_batch_size
    return [
        found.pair.of,
        str(found.question),
        number(own.value),
        NOTHING if own.value is None else interval(own.lower, own.upper),
        number(found.steps_at_small),
        number(found.steps_at_large),
    ]


def grows(found: Sequence[Change]) -> tuple[int, int, int]:
    """How many critical batch sizes grow beyond their interval, how many shrink beyond it, and how many are known."""
    ratios = [each.critical_batch_size for each in found]
    known = [own for own in ratios if own.value is not None]
    return sum(own.is_above_1 for own in known), sum(own.is_below_1 for own in known), len(known)
