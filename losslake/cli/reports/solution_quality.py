"""What large batch sizes cost in solution quality: the shortfall of the largest, held against chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from losslake.cli.reports.markdown import NOTHING, number, table
from losslake.cli.reports.subject import Question
from losslake.questions.analysis.quality import quality
from losslake.questions.release_view import ReleaseView
from losslake_schema.names import Workload

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
    return table(headings, (_row(each) for each in found))


def _row(found: Loss) -> list[str]:
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
