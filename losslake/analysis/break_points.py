"""Where the regimes of scaling begin and end, from the measured steps alone: no curve is fitted.

Perfect scaling ends, and larger batches save no more steps: for many curves at once, one for each target, or for one
curve with the bounds that the sampled batch sizes set. A study that never reached its target within c steps is known to
need more than B c examples, and no more is known of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from losslake.analysis.log_curves import checked_batch_sizes, checked_steps, median_of
from losslake_schema.reached import NEVER, Flags, Floats, Integers

Anchor = Literal["running minimum", "median of 3"]
Censoring = Literal["none", "left", "right"]
PERFECT_WITHIN = 0.2
USEFUL_WITHIN = 0.1


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
    ends = perfect_ends(sizes, counts, tau, limits, anchor)
    index = int(ends.index[0])
    lower = None if index == int(np.isfinite(counts).argmax()) else float(sizes[index])
    after = None if ends.is_right_censored[0] else float(sizes[index + 1])
    return BreakPoint(float(sizes[index]), lower, after, ends.censoring(0))


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
    ends = max_useful(counts[reached], tau)
    index = int(ends.index[0])
    before = float(sizes[index - 1]) if index else None
    own = None if ends.is_right_censored[0] else float(sizes[index])
    return BreakPoint(float(sizes[index]), before, own, ends.censoring(0))


@dataclass(frozen=True)
class BreakPoints:
    """One break point for each of n curves; all arrays (n,).

    index: into the batch sizes; NEVER for a curve without a study that reached its target. is_left_censored,
    is_right_censored: the true one may lie below the smallest, or above the largest, batch size with a result.
    """

    index: Integers
    is_left_censored: Flags
    is_right_censored: Flags

    def censoring(self, curve: int) -> Censoring:
        """Return how the break point of one curve is censored."""
        return "right" if self.is_right_censored[curve] else "left" if self.is_left_censored[curve] else "none"


def perfect_ends(
    batch_sizes: npt.ArrayLike,
    steps: npt.ArrayLike,
    tau: float = PERFECT_WITHIN,
    censored_at: npt.ArrayLike | None = None,
    anchor: Anchor = "running minimum",
) -> BreakPoints:
    """By curve, the largest B up to which every B' has E(B') <= (1 + tau) min over B'' <= B' of E(B''), E = B S.

    With anchor "median of 3" the smallest B with a result passes, and the others have E at most (1 + tau) times the
    median E of the three smallest with one: E at the smallest is one noisy number.
    Left-censored if the next batch size fails already; right-censored if none fails, or if the first that never reached
    the target ran for too few steps to tell. batch_sizes: (m,) ascending. steps: (n, m) or (m,); inf where a study
    never reached the target, NaN where there is none. censored_at: (m,), steps that never-reached studies ran to.
    Raises ValueError for a tau that isn't 0 or more. Source: METHODS 2.3.
    """
    counts, sizes = _curves(steps, tau), np.asarray(batch_sizes, np.float64)
    is_there, is_reached = ~np.isnan(counts), np.isfinite(counts)
    at_least = sizes * np.where(is_reached, counts, _limits(censored_at, counts))
    fewest = _fewest_examples(np.where(is_reached, at_least, np.inf), anchor)
    has_begun = is_there & np.logical_or.accumulate(is_reached, axis=1)
    fails = has_begun & (at_least > (1 + tau) * fewest) & (np.cumsum(is_reached, axis=1) + ~is_reached > 1)
    stops = fails | (has_begun & ~is_reached)
    is_perfect = is_reached & ~np.logical_or.accumulate(stops, axis=1)
    index = _last(is_perfect)
    has_failed = np.take_along_axis(fails, np.maximum(_first(stops), 0)[:, None], axis=1)[:, 0]
    is_known = index != NEVER
    return BreakPoints(index, is_known & has_failed & (index == _first(is_reached)), is_known & ~has_failed)


def max_useful(steps: npt.ArrayLike, tau: float = USEFUL_WITHIN) -> BreakPoints:
    """By curve, the smallest B with S(B) <= (1 + tau) min over B' >= B of S(B'): no larger one saves more than tau.

    Right-censored if it is the largest with a result, else left-censored if it is the smallest. steps: of ascending
    batch sizes; shapes, errors and source as of perfect_ends. With times instead of steps: beyond which batch size time
    falls no more.
    """
    counts = _curves(steps, tau)
    is_reached = np.isfinite(counts)
    later = np.minimum.accumulate(np.where(is_reached, counts, np.inf)[:, ::-1], axis=1)[:, ::-1]
    index = _first(is_reached & (counts <= (1 + tau) * later))
    is_known = index != NEVER
    is_last = is_known & (index == _last(is_reached))
    return BreakPoints(index, is_known & ~is_last & (index == _first(is_reached)), is_last)


def _fewest_examples(examples: Floats, anchor: Anchor) -> Floats:
    """What examples are compared to, (n, m) or (n, 1); inf where the target was never reached."""
    if anchor == "running minimum":
        return np.minimum.accumulate(examples, axis=1)
    is_first = np.isfinite(examples) & (np.cumsum(np.isfinite(examples), axis=1) <= 3)
    ordered = np.sort(np.where(is_first, examples, np.inf), axis=1)
    return median_of(ordered, is_first.sum(axis=1))[:, None]


def _curves(steps: npt.ArrayLike, tau: float) -> Floats:
    _check_tau(tau)
    counts = np.atleast_2d(np.asarray(steps, np.float64))
    if not counts.shape[1]:
        raise ValueError("steps: give those of at least one batch size")
    return counts


def _checked(
    batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, tau: float, censored_at: npt.ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    """Batch sizes and steps of the studies of one curve, and up to where never-reached ones ran."""
    _check_tau(tau)
    sizes = checked_batch_sizes(batch_sizes)
    counts = checked_steps(steps, len(sizes))
    if counts.ndim != 1:
        raise ValueError(f"steps: give those of one curve, not shape {counts.shape}")
    there = ~np.isnan(counts)
    return sizes[there], counts[there], _limits(censored_at, counts)[there]


def _check_tau(tau: float) -> None:
    if not 0 <= tau < np.inf:
        raise ValueError(f"tau={tau}: give a finite number, 0 or more")


def _limits(censored_at: npt.ArrayLike | None, counts: Floats) -> Floats:
    """The steps that never-reached studies ran to, in the shape of the curves; 0 where nobody knows."""
    limits = np.broadcast_to(np.asarray(0.0 if censored_at is None else censored_at, np.float64), counts.shape)
    return np.where(np.isfinite(limits), limits, 0.0)


def _first(flags: Flags) -> Integers:
    """By row, the first index that is set; NEVER for none."""
    return np.where(flags.any(axis=1), flags.argmax(axis=1), NEVER)


def _last(flags: Flags) -> Integers:
    """By row, the last index that is set; NEVER for none."""
    return np.where(flags.any(axis=1), flags.shape[1] - 1 - flags[:, ::-1].argmax(axis=1), NEVER)
