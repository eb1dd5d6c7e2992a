"""Whether large batch sizes cost solution quality: by how much the largest falls short of the best, with numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from losslake.analysis.quality import Budget, Shortfall, shortfall
from losslake.questions.search import Search, at
from losslake_schema.reached import NEVER, Floats, Integers


@dataclass(frozen=True)
class Conclusion:
    """What a workload says about the largest batch sizes within one budget. sign: 1 to minimize, -1 to maximize."""

    workload: str
    budget: Budget
    sign: float
    found: Shortfall

    def as_fact(self) -> dict[str, Any]:
        """The same as a fact of an answer: values in the metric's own direction, and a sentence."""
        fact = {"workload": self.workload, "budget_kind": self.budget.kind, "budget": self.budget.amount}
        numbers = asdict(self.found)
        best, largest = numbers.pop("best_loss") * self.sign, numbers.pop("largest_loss") * self.sign
        by_chance = {"shortfall_by_chance": numbers.pop("by_chance")}
        return {
            **fact,
            "best_value": best,
            "largest_value": largest,
            **numbers,
            **by_chance,
            "in_words": self.in_words(),
        }

    def in_words(self) -> str:
        """One sentence with the numbers."""
        found = self.found
        value = found.best_loss * self.sign
        best = f"{self.workload}, {self.budget.in_words}: the best value {value:.5g} is at batch size"
        if found.best_batch_size == found.largest_batch_size:
            return f"{best} {found.best_batch_size:,}, the largest: nothing is lost"
        if not found.shortfall:
            return f"{best} {found.best_batch_size:,}, and the largest, {found.largest_batch_size:,}, has the same"
        share = "" if found.relative is None else f" ({found.relative:.1%})"
        by_chance = (
            ""
            if found.by_chance is None
            else f"; half as many trials there would fall {found.by_chance:.2g} short on average"
        )
        return (
            f"{best} {found.best_batch_size:,}{by_chance}; the largest, {found.largest_batch_size:,}, has "
            f"{found.largest_loss * self.sign:.5g} and falls {found.shortfall:.2g}{share} short"
        )


def conclusion(found: Search, budget: Budget, limits: Integers, records: Integers) -> Conclusion | None:
    """Compare the batch sizes that have a best record; None for fewer than two.

    limits: last step by study. records: by study, the record that is best; NEVER for one that doesn't count.
    """
    losses = np.where(records != NEVER, at(found.records.value, records) * found.sign, np.inf)
    compared = shortfall(found.facts.batch_sizes, losses, _trial_losses(found, limits))
    return None if compared is None else Conclusion(str(found.facts.workload), budget, found.sign, compared)


def _trial_losses(found: Search, limits: Integers) -> list[Floats]:
    """By study, the best loss of each admitted trial within the limits, inf for none."""
    facts, records = found.facts, found.records
    of_trials = np.full(len(found.admitted), np.inf)
    if len(records.step):
        limit = np.repeat(limits[facts.study_of_trial[found.rows]], np.diff(records.offsets))
        losses = np.where(records.step <= limit, records.value * found.sign, np.inf)
        of_trials[found.rows] = np.minimum.reduceat(losses, records.offsets[:-1])
    by_study = (facts.rows_of(study) for study in range(len(facts.batch_sizes)))
    return [of_trials[rows][found.admitted[rows]] for rows in by_study]
