"""Where the regimes of scaling begin and end, from the measured steps alone: no curve is fitted.

A study that never reached its target in c steps is known to need more than B c examples; no more is known of it.

Where perfect scaling ends and where larger batches save no more steps, for many curves at once: one for each target.

A study that never reached its target within c steps is known to need more than B c examples, and no more is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from losslake.analysis.log_curves import checked_batch_sizes, checked_steps, median_of
from losslake_schema.reached import Flags, Floats, Integers

Anchor = Literal["running minimum", "median of 3"]
NONE = -1
PERFECT_WITHIN = 0.2
USEFUL_WITHIN = 0.1


@dataclass(frozen=True)
class BreakPoints:
    """One break point for each of n curves; all arrays (n,).

    index: into the batch sizes; NONE for a curve without a study that reached its target. is_left_censored,
    is_right_censored: the true one may lie below the smallest, or above the largest, batch size with a result.
    """

    index: Integers
    is_left_censored: Flags
    is_right_censored: Flags


def perfect_ends(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    tau: float = PERFECT_WITHIN,
    censored_at: npt.ArrayLike | None = None,
    anchor: Anchor = "running minimum",
) -> BreakPoints:
    """The largest B up to which every B' has E(B') <= (1 + tau) min over B'' <= B' of E(B''), with E = B S.

    With anchor "median of 3" the smallest B with a result passes, and the others have E at most (1 + tau) times the
    median E of the three smallest with one: E at the smallest is one noisy number.
    Left-censored if the next batch size fails already; right-censored if none fails, or if the first that never reached
    the target ran for too few steps to tell. batch_sizes: (m,) ascending. steps: (n, m) or (m,); inf where a study
    never reached the target, NaN where there is none. censored_at: (m,), steps that never-reached studies ran to.
    Raises ValueError for a tau that isn't 0 or more. Source: METHODS 2.3.
    """
    counts, sizes = _checked_curves(steps, tau), np.asarray(batch_sizes, np.float64)
    is_there, is_reached = ~np.isnan(counts), np.isfinite(counts)
    limits = np.broadcast_to(np.asarray(0.0 if censored_at is None else censored_at, np.float64), counts.shape)
    at_least = sizes * np.where(is_reached, counts, np.where(np.isfinite(limits), limits, 0.0))
    fewest = _fewest_examples(np.where(is_reached, at_least, np.inf), anchor)
    has_begun = is_there & np.logical_or.accumulate(is_reached, axis=1)
    fails = has_begun & (at_least > (1 + tau) * fewest) & (np.cumsum(is_reached, axis=1) + ~is_reached > 1)
    stops = fails | (has_begun & ~is_reached)
    is_perfect = is_reached & ~np.logical_or.accumulate(stops, axis=1)
    index = _last(is_perfect)
    has_failed = np.take_along_axis(fails, np.maximum(_first(stops), 0)[:, None], axis=1)[:, 0]
    is_known = index != NONE
    return BreakPoints(index, is_known & has_failed & (index == _first(is_reached)), is_known & ~has_failed)


def max_useful(steps: npt.ArrayLike, tau: float = USEFUL_WITHIN) -> BreakPoints:
    """The smallest B with S(B) <= (1 + tau) min over B' >= B of S(B'): no larger one measured saves more than tau.

    Right-censored if it is the largest with a result, else left-censored if it is the smallest. steps: of ascending
    batch sizes; shapes, errors and source as of perfect_ends. With times instead of steps: beyond which batch size time
    falls no more.
    """
    counts = _checked_curves(steps, tau)
    is_reached = np.isfinite(counts)
    later = np.minimum.accumulate(np.where(is_reached, counts, np.inf)[:, ::-1], axis=1)[:, ::-1]
    index = _first(is_reached & (counts <= (1 + tau) * later))
    is_last = (index == _last(is_reached)) & (index != NONE)
    return BreakPoints(index, ~is_last & (index == _first(is_reached)) & (index != NONE), is_last)


def _fewest_examples(examples: Floats, anchor: Anchor) -> Floats:
    """What examples are compared to, (n, m) or (n, 1); inf where the target was never reached."""
    if anchor == "running minimum":
        return np.minimum.accumulate(examples, axis=1)
    is_first = np.isfinite(examples) & (np.cumsum(np.isfinite(examples), axis=1) <= 3)
    ordered = np.sort(np.where(is_first, examples, np.inf), axis=1)
    return median_of(ordered, is_first.sum(axis=1))[:, None]


def _checked_curves(steps: npt.ArrayLike, tau: float) -> Floats:
    if not 0 <= tau < np.inf:
        raise ValueError(f"tau={tau}: give a finite number, 0 or more")
    counts = np.atleast_2d(np.asarray(steps, np.float64))
    if not counts.shape[1]:
        raise ValueError("steps: give those of at least one batch size")
    return counts


def _first(flags: Flags) -> Integers:
    """By row, the first index that is set; NONE for none."""
    return np.where(flags.any(axis=1), flags.argmax(axis=1), NONE)


def _last(flags: Flags) -> Integers:
    """By row, the last index that is set; NONE for none."""
    return np.where(flags.any(axis=1), flags.shape[1] - 1 - flags[:, ::-1].argmax(axis=1), NONE)


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
