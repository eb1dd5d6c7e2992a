"""Where the regimes of scaling begin and end, from the measured steps alone: no curve is fitted.

A study that never reached its target in c steps is known to need more than B c examples; no more is known of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from service.analysis.log_curves import Floats, checked_batch_sizes, checked_steps

Censoring = Literal["none", "left", "right"]
Anchor = Literal["running minimum", "median of 3"]
PERFECT_TAU = 0.2
USEFUL_TAU = 0.1


@dataclass(frozen=True)
class BreakPoint:
    """A batch size at which a regime ends, as far as the sampled batch sizes tell.

    batch_size: a sampled one; None if the target was never reached. lower, upper: between these the true end lies;
    None where the sampled batch sizes set no bound. censoring: left or right if the true end may lie below the
    smallest or above the largest of them.
    """

    batch_size: float | None
    lower: float | None
    upper: float | None
    censoring: Censoring


NO_BREAK_POINT = BreakPoint(None, None, None, "none")


def perfect_scaling_end(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    tau: float = PERFECT_TAU,
    censored_at: npt.ArrayLike | None = None,
    anchor: Anchor = "running minimum",
) -> BreakPoint:
    """The largest B up to which every batch size needs at most 1 + tau times the fewest examples so far (METHODS 2.3).

    E(B) = B S(B). Every B' <= B has E(B') <= (1 + tau) min E(B'') over B'' <= B'; with anchor "median of 3", at most
    (1 + tau) times the median E of the three smallest batch sizes, as E at the smallest is one noisy number. The true
    end lies in [B, next B). Left-censored if already the second batch size fails; right-censored if none fails, or
    if the next never reached the target in too few steps to tell.
    batch_sizes: (m,) ascending. steps: (m,), inf: never reached, NaN: no study. censored_at: (m,), steps that
    never-reached studies ran to. Those below the smallest batch size with a result are passed over. Raises ValueError.
    """
    sizes, counts, limits = _checked(batch_sizes, steps, tau, censored_at)
    examples, at_least = sizes * counts, sizes * limits
    reached = np.flatnonzero(np.isfinite(examples))
    if not len(reached):
        return NO_BREAK_POINT
    fixed = float(np.median(examples[reached[:3]])) if anchor == "median of 3" else None
    first = end = int(reached[0])
    fewest = float(examples[first])
    for index in range(first + 1, len(sizes)):
        fewest = min(fewest, float(examples[index]))
        most = (1.0 + tau) * (fewest if fixed is None else fixed)
        known = float(examples[index]) if np.isfinite(examples[index]) else float(at_least[index])
        if known > most:
            return BreakPoint(
                float(sizes[end]), float(sizes[end]), float(sizes[index]), "none" if end > first else "left"
            )
        if not np.isfinite(examples[index]):
            break
        end = index
    return BreakPoint(float(sizes[end]), float(sizes[end]), None, "right")


def max_useful_batch_size(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    tau: float = USEFUL_TAU,
    censored_at: npt.ArrayLike | None = None,
) -> BreakPoint:
    """The smallest B whose steps no larger batch size betters by more than tau (METHODS 2.3).

    S(B) <= (1 + tau) min S(B') over B' >= B. The true one lies in (B before, B]. Right-censored if B is the largest
    batch size with a result, for a larger one may still gain; left-censored if it is the smallest.
    Arguments as of perfect_scaling_end; a never-reached study betters nothing. Raises ValueError.
    """
    sizes, counts, _ = _checked(batch_sizes, steps, tau, censored_at)
    reached = np.flatnonzero(np.isfinite(counts))
    if not len(reached):
        return NO_BREAK_POINT
    sizes, counts = sizes[reached], counts[reached]
    fewest = np.minimum.accumulate(counts[::-1])[::-1]
    index = int(np.argmax(counts <= (1.0 + tau) * fewest))
    before = float(sizes[index - 1]) if index else None
    if index == len(sizes) - 1:
        return BreakPoint(float(sizes[index]), before, None, "right")
    return BreakPoint(float(sizes[index]), before, float(sizes[index]), "none" if index else "left")


def _checked(
    batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, tau: float, censored_at: npt.ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    """Batch sizes, steps (absent studies left out), and up to where never-reached ones ran, 0 where nobody knows."""
    sizes = checked_batch_sizes(batch_sizes)
    counts = checked_steps(steps, len(sizes))
    if counts.ndim != 1:
        raise ValueError(f"steps: give those of one curve, not shape {counts.shape}")
    if not 0 <= tau < np.inf:
        raise ValueError(f"tau {tau}: give a finite number, 0 or more")
    limits = np.broadcast_to(np.asarray(0.0 if censored_at is None else censored_at, np.float64), counts.shape)
    there = ~np.isnan(counts)
    return sizes[there], counts[there], np.where(np.isfinite(limits), limits, 0.0)[there]
