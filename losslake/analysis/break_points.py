"""Where the regimes of scaling begin and end, from the measured steps alone: no curve is fitted.

A study that never reached its target in c steps is known to need more than B c examples; no more is known of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from losslake.analysis.break_points_of_curves import PERFECT_WITHIN, USEFUL_WITHIN, Anchor, max_useful, perfect_ends
from losslake.analysis.log_curves import checked_batch_sizes, checked_steps
from losslake_schema.reached import Floats

Censoring = Literal["none", "left", "right"]


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
    tau: float = PERFECT_WITHIN,
    censored_at: npt.ArrayLike | None = None,
    anchor: Anchor = "running minimum",
) -> BreakPoint:
    """The largest B up to which every batch size needs at most 1 + tau times the fewest examples so far (METHODS 2.3).

    E(B) = B S(B). Every B' <= B has E(B') <= (1 + tau) min E(B'') over B'' <= B'; with anchor "median of 3", at most
    (1 + tau) times the median E of the three smallest batch sizes, as E at the smallest is one noisy number. The true
    end lies in [B, next B). Left-censored if already the second batch size fails; right-censored if none fails, or
    if the next never reached the target in too few steps to tell. If B is the smallest, nothing bounds it from below.
    batch_sizes: (m,) ascending. steps: (m,), inf: never reached, NaN: no study. censored_at: (m,), steps that
    never-reached studies ran to. Those below the smallest batch size with a result are passed over. Raises ValueError.
    """
    sizes, counts, limits = _checked(batch_sizes, steps, tau, censored_at)
    if not np.isfinite(counts).any():
        return NO_BREAK_POINT
    found = perfect_ends(sizes, counts, tau, limits, anchor)
    index = int(found.index[0])
    lower = None if index == int(np.isfinite(counts).argmax()) else float(sizes[index])
    if found.is_right_censored[0]:
        return BreakPoint(float(sizes[index]), lower, None, "right")
    censoring: Censoring = "left" if found.is_left_censored[0] else "none"
    return BreakPoint(float(sizes[index]), lower, float(sizes[index + 1]), censoring)


def max_useful_batch_size(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    tau: float = USEFUL_WITHIN,
    censored_at: npt.ArrayLike | None = None,
) -> BreakPoint:
    """The smallest B whose steps no larger batch size betters by more than tau (METHODS 2.3).

    S(B) <= (1 + tau) min S(B') over B' >= B. The true one lies in (B before, B]. Right-censored if B is the largest
    batch size with a result, for a larger one may still gain; left-censored if it is the smallest.
    Arguments as of perfect_scaling_end; a never-reached study betters nothing. Raises ValueError.
    """
    sizes, counts, _ = _checked(batch_sizes, steps, tau, censored_at)
    reached = np.isfinite(counts)
    if not reached.any():
        return NO_BREAK_POINT
    sizes = sizes[reached]
    found = max_useful(counts[reached], tau)
    index = int(found.index[0])
    before = float(sizes[index - 1]) if index else None
    if found.is_right_censored[0]:
        return BreakPoint(float(sizes[index]), before, None, "right")
    censoring: Censoring = "left" if found.is_left_censored[0] else "none"
    return BreakPoint(float(sizes[index]), before, float(sizes[index]), censoring)


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
