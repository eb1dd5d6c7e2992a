"""What changes from one workload of a pair to the other: critical batch size, and steps at equal tuning budget.

How the best effective learning rate grows with the batch size, and whether a rule of thumb would have found it.
What large batch sizes cost in solution quality: the shortfall of the largest, held against chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from losslake.cli.reports.subject import NOTHING, Pair, Question, interval, number, share, table
from losslake.cli.reports.transitions import Ratio, Transition, ratio
from losslake.questions.analysis.compare import compare
from losslake.questions.analysis.metaparameters import metaparameter_optima
from losslake.questions.analysis.quality import quality
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
    return table(headings, (_change_row(each) for each in found))


def _change_row(found: Change) -> list[str]:
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


LINEAR, SQUARE_ROOT = 1.0, 0.5


@dataclass(frozen=True)
class Growth:
    """Of one workload: exponent of the best effective learning rate against batch size, with its 90% interval."""

    workload: Workload
    exponent: float | None
    lower: float | None
    upper: float | None
    n_at_the_edge: int
    n_optima: int

    def holds(self, exponent: float) -> bool:
        """Whether the interval has that exponent in it."""
        return self.lower is not None and self.upper is not None and self.lower <= exponent <= self.upper


def growths(view: ReleaseView, workloads: Sequence[Workload], question: Question) -> list[Growth]:
    """One for each workload."""
    answer = metaparameter_optima(view, question.selection(*workloads), question.goal)
    exponents = {row["workload"]: row for row in answer.facts["exponents"]}
    optima = [row for row in answer.table().to_pylist() if row["trial_id"] is not None]
    found = []
    for workload in workloads:
        own = exponents[str(workload)]
        at_edge = [bool(row["at_boundary"]) for row in optima if row["workload"] == str(workload)]
        found.append(Growth(workload, own["exponent"], own["lower"], own["upper"], sum(at_edge), len(at_edge)))
    return found


def growth_table(found: Sequence[Growth]) -> str:
    """The exponents as Markdown."""
    headings = ["workload", "exponent", "90% interval", "square root", "linear", "optima at the edge of the search"]
    return table(headings, (_growth_row(each) for each in found))


def _growth_row(found: Growth) -> list[str]:
    return [
        f"{found.workload.model} {found.workload.optimizer}",
        number(found.exponent, 2),
        interval(found.lower, found.upper),
        "possible" if found.holds(SQUARE_ROOT) else "no",
        "possible" if found.holds(LINEAR) else "no",
        share(found.n_at_the_edge, found.n_optima),
    ]


_BUDGETS = {"steps": "equal steps", "examples": "equal examples", "unlimited": "all of each run"}


@dataclass(frozen=True)
class Loss:
    """What a workload's largest batch size falls short of its best value, within one kind of budget.

    chance: by how much half as many trials would fall short at the best batch size, on average.
    """

    workload: Workload
    budget_kind: str
    row: dict[str, Any]

    @property
    def is_beyond_chance(self) -> bool:
        chance = self.row["shortfall_by_chance"]
        return bool(self.row["shortfall"] > (chance or 0.0))


def losses(view: ReleaseView, workloads: Sequence[Workload], question: Question) -> list[Loss]:
    """By workload and kind of budget; the budgets are those that every batch size was trained for."""
    found = quality(view, question.selection(*workloads)).facts["conclusions"]
    return [Loss(Workload.parse(row["workload"]), row["budget_kind"], row) for row in found]


def loss_table(found: Sequence[Loss]) -> str:
    """The losses as Markdown."""
    headings = [
        "workload", "budget", "best value", "at B", "value at the largest B", "short by", "by chance",
    ]  # fmt: skip
    return table(headings, (_loss_row(each) for each in found))


def _loss_row(found: Loss) -> list[str]:
    row = found.row
    amount = "" if row["budget"] is None else f" ({row['budget']:,})"
    return [
        f"{found.workload.model} {found.workload.optimizer}",
        _BUDGETS[found.budget_kind] + amount,
        number(row["best_value"]),
        f"{row['best_batch_size']:,}",
        number(row["largest_value"]),
        number(row["shortfall"]),
        NOTHING if row["shortfall_by_chance"] is None else number(row["shortfall_by_chance"]),
    ]


def beyond_chance(found: Sequence[Loss], budget_kind: str) -> tuple[int, int]:
    """In how many workloads the loss is more than chance, and in how many it is known."""
    own = [each for each in found if each.budget_kind == budget_kind]
    return sum(each.is_beyond_chance for each in own), len(own)
