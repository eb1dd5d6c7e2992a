"""Solution quality: the best loss by batch size within a budget of steps or examples, and shortfalls from the best.

Source: Shallue et al. 2019, Figure 11; METHODS 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from losslake.analysis.log_curves import median_of
from losslake.analysis.permutation_test import ERROR, least_p_value, p_values
from losslake_schema.reached import Floats, Integers

BudgetKind = Literal["steps", "examples", "unlimited"]
NO_LIMIT = 2**63 - 1
# A best value in the last 5% of a run means that the run was still improving.
SATURATED = 0.95
LAST_FEW = 5


@dataclass(frozen=True)
class Budget:
    """The budget of a trial: a number of steps or of examples (step times batch size), both inclusive, or no limit.

    Raises ValueError for a negative amount, for an unlimited budget with an amount, and for another without one.
    """

    kind: BudgetKind
    amount: int | None = None

    def __post_init__(self) -> None:
        if (self.amount is None) != (self.kind == "unlimited"):
            raise ValueError(f"a budget of kind '{self.kind}' has amount {self.amount}: only unlimited has none")
        if self.amount is not None and not 0 <= self.amount <= NO_LIMIT:
            raise ValueError(f"a budget of {self.amount}: give 0 or more, up to 2^63 - 1")

    @property
    def in_words(self) -> str:
        """The budget as a phrase."""
        return "without a limit" if self.amount is None else f"within {self.amount:,} {self.kind}"

    def steps(self, batch_sizes: Sequence[int]) -> Integers:
        """Return the last step within the budget by batch size: s, or floor(examples / B); no limit at batch size 0."""
        if self.amount is None or self.kind == "steps":
            return np.full(len(batch_sizes), NO_LIMIT if self.amount is None else self.amount, np.int64)
        return np.array([self.amount // size if size else NO_LIMIT for size in batch_sizes], np.int64)


def is_within_training(budget: Budget, batch_sizes: Sequence[int], train_steps: Sequence[int]) -> list[bool | None]:
    """Return, per study, True if its trials had to run at least as far as the budget; None if that is undefined.

    That is, train_steps >= s, or train_steps * B >= examples, in exact integers. Undefined without a limit, and for
    studies with train_steps 0, which ran for a given time. Source: the batch sizes of Figure 11 of Shallue et al. 2019.
    """
    if budget.amount is None:
        return [None] * len(batch_sizes)
    needed = [
        budget.amount if budget.kind == "steps" else -(-budget.amount // size) if size else 0 for size in batch_sizes
    ]
    return [steps >= least if steps > 0 else None for steps, least in zip(train_steps, needed, strict=True)]


def shared_budgets(batch_sizes: Sequence[int], last_steps: Sequence[int]) -> list[Budget]:
    """Return budgets for comparing all batch sizes: the most steps and examples that every study ran, and no limit.

    last_steps: by study, the last step of any of its trials; studies with none (below 1) are ignored.
    """
    ran = [(size, steps) for size, steps in zip(batch_sizes, last_steps, strict=True) if steps > 0]
    if not ran:
        return [Budget("unlimited")]
    steps = min(steps for _, steps in ran)
    examples = min(size * steps for size, steps in ran)
    return [Budget("steps", steps), Budget("examples", min(examples, NO_LIMIT)), Budget("unlimited")]


def share_of_run(step: Floats, last_step: Floats) -> Floats:
    """Return step / last_step, the share of its run at which a trial was best; NaN for a run that ended at step 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(last_step > 0, step / last_step, np.nan)


@dataclass(frozen=True)
class Shortfall:
    """The shortfall of the best loss at the largest batch size from the best at any batch size.

    shortfall: loss there minus best loss, at least 0, in the unit of the loss. relative: divided by the absolute best
    loss; None if that is 0. p_value: the chance that equal batch sizes give some other one so much better settings
    than the largest, at most, corrected for their number; None for too few settings to tell at 5%.
    """

    best_batch_size: int
    best_loss: float
    largest_batch_size: int
    largest_loss: float
    shortfall: float
    relative: float | None
    p_value: float | None

    @property
    def is_clear(self) -> bool:
        """True if equal batch sizes would show it in 5% of studies at most."""
        return self.p_value is not None and self.p_value <= ERROR


def shortfall(batch_sizes: Sequence[int], losses: Floats, setting_losses: Sequence[Floats]) -> Shortfall | None:
    """Compare the largest batch size with the best one; None if fewer than two have a loss, or on overflow.

    losses: best loss by study, not finite for none; ties go to the smallest batch size. setting_losses: by study,
    the best loss of each setting, inf for none.
    """
    reached = np.flatnonzero(np.isfinite(losses))
    if len(reached) < 2:
        return None
    best, largest = int(reached[losses[reached].argmin()]), int(reached[-1])
    best_loss = float(losses[best])
    difference = float(losses[largest]) - best_loss
    if not math.isfinite(difference):
        return None
    return Shortfall(
        best_batch_size=batch_sizes[best],
        best_loss=best_loss,
        largest_batch_size=batch_sizes[largest],
        largest_loss=float(losses[largest]),
        shortfall=difference,
        relative=_finite(difference / abs(best_loss)) if best_loss else None,
        p_value=_corrected_p([setting_losses[place] for place in reached.tolist()]),
    )


def _corrected_p(losses: Sequence[Floats]) -> float | None:
    """Return Bonferroni's p-value that settings are better anywhere than at the last; None for too few of them."""
    *others, largest = losses
    if len(others) * min(least_p_value(len(each), len(largest)) for each in others) > ERROR:
        return None
    signed = [float(p_values(each[None], largest[None])[0]) for each in others]
    return min(1.0, len(others) * min((p for p in signed if p > 0), default=1.0))


def _finite(value: float) -> float | None:
    """Return the value, or None if it overflowed."""
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Ending:
    """The end of a curve; last: its last value, None unless finite; median: of its last five finite values."""

    last: float | None
    median: float | None


def ending(value: Floats) -> Ending:
    """Return the end of a curve, which is not optimistic as its best value is; value: by ascending step (METHODS 4)."""
    finite = np.sort(value[np.isfinite(value)][-LAST_FEW:])
    last = float(value[-1]) if len(value) and np.isfinite(value[-1]) else None
    return Ending(last, float(median_of(finite, len(finite))) if len(finite) else None)
