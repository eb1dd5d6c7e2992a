"""What a trial has to reach: a target, and whether to equal it is to reach it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from losslake.questions.errors import BadParameter
from losslake_schema.reached import COMPARATORS, Comparator


@dataclass(frozen=True)
class Goal:
    """A target of a metric. comparator: strict, better than the target; inclusive, at least as good.

    Raises BadParameter for a target that is not finite.
    """

    target: float
    comparator: Comparator = "strict"

    def __post_init__(self) -> None:
        if not math.isfinite(self.target):
            raise BadParameter("target", f"target {self.target} is not finite: give a number to be beaten")
        if self.comparator not in COMPARATORS:
            why = f"comparator '{self.comparator}' is unknown: give {' or '.join(COMPARATORS)}"
            raise BadParameter("comparator", why)

    def facts(self) -> dict[str, Any]:
        """What an answer says of it."""
        return asdict(self)

    def in_words(self, metric: str, direction: str) -> str:
        """As it is written: val/classification_error < 0.05."""
        strict, inclusive = ("<", "\u2264") if direction == "minimize" else (">", "\u2265")
        return f"{metric} {inclusive if self.comparator == 'inclusive' else strict} {self.target:g}"
