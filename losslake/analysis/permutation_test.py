"""A permutation test of whether the best settings of two searches need differently many steps.

If two searches are equal, each of their settings might as well have been the other's. So the statistic is compared with
its values over the ways to share the settings out again: all of them where they are few, else a fixed sample of them.
Source: exact permutation tests (Lehmann and Romano 2005, 15.2), sampled with the +1 rule of Phipson and Smyth 2010; the
scores are LossLake's, Wilcoxon's for groups of two.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations
from operator import attrgetter
from threading import Lock

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache, cached

from losslake_schema.reached import Flags, Floats

ERROR = 0.05
GROUP = 4
MOST_ENUMERATED = 13_000
N_SAMPLED = 9999
_MOST_ENTRIES = 4_000_000
_MOST_KEPT_BYTES = 64_000_000
_SEED = 20190320
_ROUNDING = 1e-5
# Ways per product: it fits in the processor's cache, and is too small for OpenBLAS to start threads for, which take ten
# times as long as the product itself.
_BLOCK = 512


def p_values(first: Floats, second: Floats) -> Floats:
    """Return the two-sided p-value of each row, signed: negative if the first search needs more steps. Shape (n,).

    first, second: (n, settings), the steps of each setting of a search, inf for never. The statistic is the share of
    groups of 4 settings, drawn from both together, of which the best one is of the first search; ties share. The
    p-value is twice the smaller one-sided, at most 1. Raises ValueError for NaN.
    """
    pooled = np.concatenate([first, second], axis=-1)
    if np.isnan(pooled).any():
        raise ValueError("steps have to be numbers: give inf, not NaN, where the target was not reached")
    n_first, total = first.shape[-1], pooled.shape[-1]
    if not n_first or n_first == total or (pooled == pooled[:, :1]).all():
        return np.ones(len(pooled))
    scores = _scores(pooled)
    statistic = scores[:, :n_first].sum(-1)
    shared, is_sample = _ways(n_first, total)
    weights = scores.T.astype(np.float32)
    blocks = (shared[at : at + _BLOCK].astype(np.float32) @ weights for at in range(0, len(shared), _BLOCK))
    drawn = np.concatenate([*blocks]).astype(np.float64)
    at_least = (drawn >= statistic - _ROUNDING).sum(0) + is_sample
    at_most = (drawn <= statistic + _ROUNDING).sum(0) + is_sample
    p_value = np.minimum(2 * np.minimum(at_least, at_most) / (len(shared) + is_sample), 1.0)
    signed: Floats = np.where(at_least <= at_most, p_value, -p_value)
    return signed


def least_p_value(first: int, second: int) -> float:
    """Return the smallest p-value that searches of so many settings can have; 1 where either has none."""
    return min(1.0, 2 / math.comb(first + second, first))


def _scores(pooled: Floats) -> Floats:
    """Return the chance that each setting is the best of a group; ties share theirs. pooled: (n, settings)."""
    total = pooled.shape[-1]
    beyond = range(total - 1, -1, -1)
    groups = math.comb(total, GROUP)
    up_to = np.cumsum([0.0, *(math.comb(each, GROUP - 1) / groups if groups else each for each in beyond)])
    # Not scipy's rankdata: to import it takes longer than any test, and the start page needs one.
    before, last = np.empty((2, *pooled.shape), np.int64)
    for row, below, up_to_it in zip(pooled, before, last, strict=True):
        ordered = np.sort(row)
        below[:], up_to_it[:] = np.searchsorted(ordered, row, "left"), np.searchsorted(ordered, row, "right")
    scores: Floats = (up_to[last] - up_to[before]) / (last - before)
    return scores


@lru_cache(maxsize=64)
def _all_ways(n_first: int, total: int) -> Flags:
    chosen = np.array(list(combinations(range(total), n_first)))
    ways = np.zeros((len(chosen), total), np.bool_)
    np.put_along_axis(ways, chosen, True, axis=1)
    return ways


@cached(LRUCache(_MOST_KEPT_BYTES, attrgetter("nbytes")), lock=Lock())
def _shuffled(total: int) -> npt.NDArray[np.unsignedinteger]:
    """Return a fixed sample of orders of all settings, whose first ones are chosen: to draw them takes 10 ms.

    NumPy permutes entries of 8 bytes in half the time that smaller ones take.
    """
    n_ways = min(N_SAMPLED, max(999, _MOST_ENTRIES // total))
    orders = np.empty((n_ways, total), np.min_scalar_type(total))
    rng = np.random.default_rng(_SEED)
    for block in np.split(orders, range(_BLOCK, n_ways, _BLOCK)):
        block[:] = rng.permuted(np.tile(np.arange(total, dtype=np.int64), (len(block), 1)), axis=1)
    return orders


def _ways(n_first: int, total: int) -> tuple[Flags, bool]:
    """Return ways to choose the settings of the first search, True where chosen, (ways, total), and whether sampled."""
    if math.comb(total, n_first) <= MOST_ENUMERATED:
        return _all_ways(n_first, total), False
    return _shuffled(total) < n_first, True
