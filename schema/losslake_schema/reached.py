"""The definition of reaching a target: the predicate, the constants for "never", and the array types.

Source: METHODS 1.1 (strict: the scripts of Shallue et al. 2019) and 1.2 (inclusive: AlgoPerf).
"""

from __future__ import annotations

from typing import Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

Comparator = Literal["strict", "inclusive"]
COMPARATORS: tuple[Comparator, ...] = get_args(Comparator)
DEFAULT_COMPARATOR: Comparator = "strict"
Target = TypeVar("Target", float, Floats)
NEVER = -1  # stands for an index or a step: the target is never reached
NO_STEP = -1  # stands for a step: there is no earlier evaluation


def comparator_named(word: object) -> Comparator | None:
    """Return the comparator that a run's goal states, the default one without a word; None for an unknown word."""
    return DEFAULT_COMPARATOR if word is None else next((each for each in COMPARATORS if each == word), None)


def sign_of(direction: str) -> float:
    """Return 1 to minimize, -1 to maximize. A value times this sign is a loss: less is better."""
    return 1.0 if direction == "minimize" else -1.0


def comparison_sign(direction: str, comparator: str) -> str:
    """Return the sign between a value that reaches a target and the target, in ASCII: <, <=, > or >=."""
    strict = "<" if direction == "minimize" else ">"
    return f"{strict}=" if comparator == "inclusive" else strict


def goal_text(
    metric: str, direction: str, target: float, comparator: str = DEFAULT_COMPARATOR, *, is_for_terminal: bool = False
) -> str:
    """Return a goal as a formula: val/classification_error < 0.05.

    is_for_terminal: in ASCII, with all digits of the target; else with six.
    """
    sign = comparison_sign(direction, comparator)
    if is_for_terminal:
        return f"{metric} {sign} {target!r}"
    shown = sign.replace("<=", "\u2264").replace(">=", "\u2265")
    return f"{metric} {shown} {target:g}"


def strict_bound(target: Target, comparator: Comparator) -> Target:
    """Return the loss to be beaten strictly: the target, or the next float64 above it if equality counts."""
    if comparator == "strict":
        return target
    with np.errstate(over="ignore"):  # above the largest float64 is infinity, which every finite loss beats
        bound: Target = np.nextafter(target, np.inf)
    return bound


def best_before(losses: Floats) -> Floats:
    """Return the least loss before each one; inf before the first. NaN is undefined: give inf instead."""
    before = np.full(len(losses), np.inf)
    np.minimum.accumulate(losses[:-1], out=before[1:])
    return before


def hits(losses: Floats, target: float, comparator: Comparator = DEFAULT_COMPARATOR) -> Flags:
    """Return a mask of the losses that reach the target: loss < target, or <= target when inclusive.

    NaN and infinities never reach it. Raises ValueError for a target that is not finite.
    """
    if not np.isfinite(target):
        raise ValueError(f"target {target} is not finite: give a number")
    return (losses < strict_bound(target, comparator)) & np.isfinite(losses)
