"""Where perfect scaling ends and where more examples at once save no more steps, read off the curve without a model.

Many curves over the same batch sizes at once, one for each target for example.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
NONE = -1
PERFECT_WITHIN = 0.2
USEFUL_WITHIN = 0.1


@dataclass(frozen=True)
class BreakPoints:
    """One break point for each of n curves; all arrays (n,).

    index: into the batch sizes; NONE for a curve with fewer than two studies that reached its target. is_at_start,
    is_at_end: it is the smallest, or largest, batch size that reached the target, so that the true one may lie below,
    or above. Otherwise it lies between the batch size found and its neighbour: of perfect_end the next larger one,
    of max_useful the next smaller one.
    """

    index: Integers
    is_at_start: Flags
    is_at_end: Flags


def perfect_end(batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, tau: float = PERFECT_WITHIN) -> BreakPoints:
    """The largest B up to which every B' has E(B') <= (1 + tau) min over B'' <= B' of E(B''), with E = B S.

    batch_sizes: (m,) ascending. steps: (n, m) or (m,); inf where a study never reached the target, NaN where there is
    none. A study that never reached it ends perfect scaling, unless no smaller one did either. Raises ValueError for a
    negative tau. Source: METHODS 2.3.
    """
    counts = _checked(steps, tau)
    examples = counts * np.asarray(batch_sizes, np.float64)
    is_there, is_reached = ~np.isnan(counts), np.isfinite(counts)
    least = np.minimum.accumulate(np.where(is_there, examples, np.inf), axis=1)
    has_begun = np.logical_or.accumulate(is_reached, axis=1)
    fails = has_begun & is_there & ~(examples <= (1 + tau) * least)
    is_perfect = is_reached & ~np.logical_or.accumulate(fails, axis=1)
    index = counts.shape[1] - 1 - np.argmax(is_perfect[:, ::-1], axis=1) if counts.shape[1] else np.empty(0)
    return _found(index.astype(np.int64), is_reached)


def max_useful(steps: npt.ArrayLike, tau: float = USEFUL_WITHIN) -> BreakPoints:
    """The smallest B with S(B) <= (1 + tau) min over B' >= B of S(B'): no larger one measured saves more than tau.

    Of ascending batch sizes; shapes, errors and source as perfect_end. With times instead of steps: beyond which batch size time falls no more.
    """
    counts = _checked(steps, tau)
    is_reached = np.isfinite(counts)
    later = np.minimum.accumulate(np.where(is_reached, counts, np.inf)[:, ::-1], axis=1)[:, ::-1]
    is_enough = is_reached & (counts <= (1 + tau) * later)
    index = np.argmax(is_enough, axis=1) if counts.shape[1] else np.empty(0)
    return _found(index.astype(np.int64), is_reached)


def _checked(steps: npt.ArrayLike, tau: float) -> Floats:
    if not tau >= 0:
        raise ValueError(f"tau={tau}: give 0 or more")
    return np.atleast_2d(np.asarray(steps, np.float64))


def _found(index: Integers, is_reached: Flags) -> BreakPoints:
    counts = is_reached.sum(axis=1)
    width = is_reached.shape[1]
    if not width:
        nothing = np.zeros(len(is_reached), np.bool_)
        return BreakPoints(np.full(len(is_reached), NONE, np.int64), nothing, nothing)
    is_known = counts >= 2
    first, last = is_reached.argmax(axis=1), width - 1 - is_reached[:, ::-1].argmax(axis=1)
    return BreakPoints(np.where(is_known, index, NONE), is_known & (index == first), is_known & (index == last))
