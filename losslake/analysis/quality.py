"""Solution quality: the best loss by batch size within budgets of steps or of examples, and what it falls short by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from losslake.analysis.best_of_n import expected_best
from losslake.analysis.envelope import Envelope
from losslake.analysis.log_curves import median_of
from losslake_schema.reached import NEVER, Floats, Integers

BudgetKind = Literal["steps", "examples", "unlimited"]
NO_LIMIT = 2**63 - 1
# A best value in the last 5% of a run says that the run was still getting better.
SATURATED = 0.95
LAST_FEW = 5


@dataclass(frozen=True)
class Budget:
    """What a trial may use: so many steps, or so many examples (step times batch size), both inclusive; or anything.

    Raises ValueError for an amount below 0, or where an unlimited budget has one and another has none.
    """

    kind: BudgetKind
    amount: int | None = None

    def __post_init__(self) -> None:
        if (self.amount is None) != (self.kind == "unlimited"):
            raise ValueError(f"a budget of kind '{self.kind}' with amount {self.amount}: give an amount, or no limit")
        if self.amount is not None and not 0 <= self.amount <= NO_LIMIT:
            raise ValueError(f"a budget of {self.amount}: give 0 or more, up to 2^63 - 1")

    @property
    def in_words(self) -> str:
        """As a text says it."""
        return "without a limit" if self.amount is None else f"within {self.amount:,} {self.kind}"

    def steps(self, batch_sizes: Sequence[int]) -> Integers:
        """By batch size, the last step within the budget: s, or floor(examples / B). A batch size of 0 uses none."""
        if self.amount is None or self.kind == "steps":
            return np.full(len(batch_sizes), NO_LIMIT if self.amount is None else self.amount, np.int64)
        return np.array([self.amount // size if size else NO_LIMIT for size in batch_sizes], np.int64)


def best_within(envelopes: Sequence[Envelope], limits: Integers) -> Integers:
    """Q(B): of each study's envelope the entry with the best loss within these steps; NEVER for none.

    limits: last step by study, shape (m,), or by budget and study, (n, m); the answer has its shape. The best is the
    last record within the budget, so nothing but records is needed (METHODS 4, 6.1).
    """
    found = np.full(limits.shape, NEVER, np.int64)
    for study, envelope in enumerate(envelopes):
        found[..., study] = envelope.best_within(limits[..., study])
    return found


def is_within_training(budget: Budget, batch_sizes: Sequence[int], train_steps: Sequence[int]) -> list[bool | None]:
    """By study, whether its trials had to run at least that far: train_steps >= s, or >= examples / B.

    The paper keeps only such batch sizes in its Figure 11. None for no limit, and for studies with train_steps 0, which
    ran for a time. Compared as integers: train_steps * B >= examples.
    """
    if budget.amount is None:
        return [None] * len(batch_sizes)
    needed = [
        budget.amount if budget.kind == "steps" else -(-budget.amount // size) if size else 0 for size in batch_sizes
    ]
    return [steps >= least if steps > 0 else None for steps, least in zip(train_steps, needed, strict=True)]


def shared_budgets(batch_sizes: Sequence[int], last_steps: Sequence[int]) -> list[Budget]:
    """Budgets that compare all batch sizes: the most steps, and the most examples, that every one ran to; and no limit.

    last_steps: by study, the last step that any of its trials ran to; studies with none (below 1) are left out.
    """
    ran = [(size, steps) for size, steps in zip(batch_sizes, last_steps, strict=True) if steps > 0]
    if not ran:
        return [Budget("unlimited")]
    steps = min(steps for _, steps in ran)
    examples = min(size * steps for size, steps in ran)
    return [Budget("steps", steps), Budget("examples", min(examples, NO_LIMIT)), Budget("unlimited")]


def share_of_run(step: Floats, last_step: Floats) -> Floats:
    """At which share of its run a trial was best, in [0, 1]; NaN for a run that ended at step 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(last_step > 0, step / last_step, np.nan)


@dataclass(frozen=True)
class Shortfall:
    """By how much the best loss at the largest batch size falls short of the best at any.

    shortfall: loss there minus best loss, at least 0, in the unit of the loss. relative: by the size of the best loss;
    None where that is 0. by_chance: by how much the best of half as many trials falls short of the best of all, at the
    best batch size, on average: a shortfall of about that size is what a smaller search gives (None for one trial).
    """

    best_batch_size: int
    best_loss: float
    largest_batch_size: int
    largest_loss: float
    shortfall: float
    relative: float | None
    by_chance: float | None


def shortfall(batch_sizes: Sequence[int], losses: Floats, trial_losses: Sequence[Floats]) -> Shortfall | None:
    """Compare the largest batch size that has a loss with the best one; None where fewer than two have any.

    Also None where losses are so far apart that no float tells how far.

    losses: best by study, not finite for none; of equal ones the smallest batch size counts. trial_losses: by study,
    the best of each of its trials.
    """
    there = np.flatnonzero(np.isfinite(losses))
    if len(there) < 2:
        return None
    best, largest = int(there[losses[there].argmin()]), int(there[-1])
    best_loss = float(losses[best])
    missing = float(losses[largest]) - best_loss
    if not math.isfinite(missing):
        return None
    return Shortfall(
        best_batch_size=batch_sizes[best],
        best_loss=best_loss,
        largest_batch_size=batch_sizes[largest],
        largest_loss=float(losses[largest]),
        shortfall=missing,
        relative=_finite(missing / abs(best_loss)) if best_loss else None,
        by_chance=loss_of_half_the_search(trial_losses[best]),
    )


def loss_of_half_the_search(losses: Floats) -> float | None:
    """E[min of n] - min, for n = floor(N/2) of N trials drawn without replacement; None for fewer than two trials.

    Trials whose loss isn't finite count as the worst of the others. Source: METHODS 3.1, as of expected_best.
    """
    finite = losses[np.isfinite(losses)]
    if len(losses) < 2 or not len(finite):
        return None
    (expected,) = expected_best(np.where(np.isfinite(losses), losses, finite.max()), np.array([len(losses) // 2]))
    return None if expected is None else _finite(max(expected - float(finite.min()), 0.0))


def _finite(value: float) -> float | None:
    """The value; None if it is too large for a float."""
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Ending:
    """How a curve ended. last: its last value, None unless finite. median: of its last five finite values."""

    last: float | None
    median: float | None


def ending(value: Floats) -> Ending:
    """The end of a curve, by ascending step: the best over evaluations is optimistic, this is not (METHODS 4)."""
    finite = np.sort(value[np.isfinite(value)][-LAST_FEW:])
    last = float(value[-1]) if len(value) and np.isfinite(value[-1]) else None
    return Ending(last, float(median_of(finite, len(finite))) if len(finite) else None)
