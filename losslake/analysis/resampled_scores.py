"""Scores of submissions with intervals and verdicts, by resampling the studies of each submission and workload.

Source of the interval: Efron 1979, the bootstrap, percentiles of the draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from losslake_schema.reached import Flags, Floats

DRAWS, SEED = 10_000, 0
LEVEL, ERROR = 0.9, 0.05
# Draws that are scored at once, which bounds memory.
_AT_ONCE = 1_000

# The times of each study by submission and workload; an empty one stands for no data.
StudyTimes = Sequence[Sequence[Floats]]


def median_times(studies: StudyTimes) -> Floats:
    """Return the median time of the studies, (submissions, workloads).

    studies: seconds, inf for a study that never reached the target; inf takes part in the median. NaN: no studies.
    """
    return np.array([[np.median(times) if len(times) else np.nan for times in row] for row in studies], np.float64)


def resampled_scores(
    studies: StudyTimes, score: Callable[[Floats], Floats], n_draws: int = DRAWS, seed: int = SEED
) -> Floats:
    """Return the scores of draws of the studies, (draws, submissions); the same for the same seed.

    A draw takes as many studies as there are, with replacement, of each submission and workload by itself, and scores
    all submissions together, since a score depends on the best of the others.

    score: of median times (draws, submissions, workloads).
    """
    generator = np.random.default_rng(seed)
    shape = len(studies), len(studies[0]) if studies else 0
    counts = np.array([[len(times) for times in row] for row in studies], np.int64).reshape(shape)
    draws = []
    for start in range(0, n_draws, _AT_ONCE):
        n = min(_AT_ONCE, n_draws - start)
        medians = np.full((n, *shape), np.nan)
        for count in np.unique(counts[counts > 0]).tolist():
            cells = np.argwhere(counts == count)
            times = np.sort([studies[i][j] for i, j in cells.tolist()], axis=1)
            chosen = generator.integers(count, size=(n, len(cells), count))
            chosen.partition((count - 1) // 2, axis=2) if count % 2 else chosen.sort(axis=2)
            low, high = chosen[..., (count - 1) // 2], chosen[..., count // 2]
            rows = np.arange(len(cells))
            medians[:, cells[:, 0], cells[:, 1]] = (times[rows, low] + times[rows, high]) / 2
        draws.append(score(medians))
    return np.concatenate(draws) if draws else np.zeros((0, shape[0]))


def intervals(draws: Floats, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Return the lower and the upper end of the percentile interval of each column of draws."""
    lower, upper = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return lower, upper


@dataclass(frozen=True)
class Pairs:
    """All pairs of submissions, each once; arrays of shape (pairs,).

    first, second: indices. lower, upper: of the interval of the difference, first minus second. p_value: twice the
    share of draws in which the difference doesn't have the sign of its median, at most 1. is_clear: by Holm's method.
    """

    first: np.ndarray[tuple[int], np.dtype[np.int64]]
    second: np.ndarray[tuple[int], np.dtype[np.int64]]
    lower: Floats
    upper: Floats
    p_value: Floats
    is_clear: Flags


def compared_pairs(draws: Floats, level: float = LEVEL, error: float = ERROR) -> Pairs:
    """Return the differences of all pairs, and which are clear.

    A p-value counts one more draw than there is, so it is never 0. error: the chance that any of the verdicts is wrong
    if no submissions differ (Holm 1979).
    """
    first, second = np.triu_indices(draws.shape[1], 1)
    differences = draws[:, first] - draws[:, second]
    lower, upper = intervals(differences, level) if len(first) else (np.zeros(0), np.zeros(0))
    above, below = (differences > 0).sum(axis=0), (differences < 0).sum(axis=0)
    against = len(draws) - np.maximum(above, below)
    p_value = np.minimum(1.0, 2 * (against + 1) / (len(draws) + 1))
    return Pairs(first, second, lower, upper, p_value, _holm(p_value, error))


def _holm(p_values: Floats, error: float) -> Flags:
    """Return which p-values are significant by Holm's step-down method."""
    order = np.argsort(p_values, kind="stable")
    passes = p_values[order] * np.arange(len(order), 0, -1) <= error
    n = int(np.argmin(passes)) if not passes.all() else len(passes)
    clear = np.zeros(len(order), np.bool_)
    clear[order[:n]] = True
    return clear
