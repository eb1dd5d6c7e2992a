"""The share of steps that each doubling of the batch size saves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from losslake_schema.reached import Floats


@dataclass(frozen=True)
class Doublings:
    """The savings by batch size, arrays of shape (m,); NaN where the target wasn't reached, and at the first that did.

    since: the next smaller batch size that reached the target. saved: the share of steps that each doubling since then
    saved: 0.5 for perfect scaling, 0 for no gain, below 0 where steps rise. lower, upper: bounds of the share, since a
    crossing lies between the previous evaluation and its own.
    """

    since: Floats
    saved: Floats
    lower: Floats
    upper: Floats


def doublings(batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, previous_steps: npt.ArrayLike) -> Doublings:
    """Return the share of steps that each doubling saved: 1 - (S_j / S_i)^(1 / log2(B_j / B_i)).

    i < j are neighbours among the batch sizes that reached the target.

    Args:
        batch_sizes: shape (m,), ascending, above 0.
        steps: shape (m,), above 0; inf where the target wasn't reached.
        previous_steps: shape (m,), steps of the evaluation before; NaN or 0 where there is none.

    Source: perfect scaling halves the steps at twice the batch size (Shallue et al. 2019, section 4.1).
    """
    sizes, counts = np.asarray(batch_sizes, np.float64), np.asarray(steps, np.float64)
    before = np.asarray(previous_steps, np.float64)
    reached = np.flatnonzero(np.isfinite(counts))
    first, second = reached[:-1], reached[1:]
    power = 1 / np.log2(sizes[second] / sizes[first])
    result = Doublings(*(np.full(len(sizes), np.nan) for _ in range(4)))
    result.since[second] = sizes[first]
    with np.errstate(divide="ignore", over="ignore"):
        result.saved[second] = 1 - (counts[second] / counts[first]) ** power
        result.lower[second] = 1 - (counts[second] / np.nan_to_num(before[first])) ** power
        result.upper[second] = 1 - (np.nan_to_num(before[second]) / counts[first]) ** power
    return result
