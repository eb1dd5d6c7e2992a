"""The time to target against its cost, by batch size: the Pareto front, throughput and goodput.

Cost is examples processed, steps times batch size. Time is wall-clock seconds, or steps if no times were logged, which
assumes that a step takes equally long at every batch size.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from losslake_schema.reached import Flags, Floats, best_before

_MOST_SORTED = 10_000


def is_on_front(time: npt.ArrayLike, cost: npt.ArrayLike) -> Flags:
    """Return flags of the points on the Pareto front: no other point is as small in both and smaller in one.

    time, cost: shape (m,), less is better. Points that aren't finite in both are never on it; equal points share it.
    """
    times, costs = np.asarray(time, np.float64), np.asarray(cost, np.float64)
    finite = np.flatnonzero(np.isfinite(times) & np.isfinite(costs))
    on_front = np.zeros(len(times), np.bool_)
    if len(finite) > _MOST_SORTED:
        # Sorting many takes most of the time, and a sample beats most of them.
        sample = finite[:: len(finite) // _MOST_SORTED + 1]
        beating = sample[is_on_front(times[sample], costs[sample])]
        beating = beating[np.argsort(times[beating])]
        least = np.append(np.inf, costs[beating])[np.searchsorted(times[beating], times[finite], side="right")]
        finite = finite[costs[finite] <= least]
    order = finite[np.lexsort((costs[finite], times[finite]))]
    ordered = costs[order]
    # Equal points are adjacent, and share the flag of the first.
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (times[order][1:] != times[order][:-1]) | (ordered[1:] != ordered[:-1])
    flags = (ordered < best_before(ordered))[is_first]
    on_front[order] = flags[np.cumsum(is_first) - 1]
    return on_front


def throughput(batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, elapsed_s: npt.ArrayLike) -> Floats:
    """Return examples per second, B * steps / elapsed_s; NaN unless elapsed_s is finite and above 0.

    Arguments of one shape.
    """
    sizes, counts, seconds = (np.asarray(values, np.float64) for values in (batch_sizes, steps, elapsed_s))
    is_timed = np.isfinite(counts) & np.isfinite(seconds) & (seconds > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate: Floats = np.where(is_timed, sizes * counts / seconds, np.nan)
    return rate


def statistical_efficiency(batch_sizes: npt.ArrayLike, critical_batch_size: float) -> Floats:
    """Return (B_c + B_0) / (B_c + B), the statistical efficiency relative to the smallest batch size B_0.

    It is E(B_0) / E(B) of the hyperbola, the ratio of examples to target. batch_sizes: (m,).
    Source: Pollux (Qiao et al. 2021), section 2.
    """
    sizes = np.asarray(batch_sizes, np.float64)
    efficiency: Floats = (critical_batch_size + sizes.min(initial=np.inf)) / (critical_batch_size + sizes)
    return efficiency


def goodput(batch_sizes: npt.ArrayLike, examples_per_second: npt.ArrayLike, critical_batch_size: float) -> Floats:
    """Return throughput times statistical efficiency, in examples per second of the smallest batch size.

    Shapes (m,); NaN where there is no throughput. Source: Pollux (Qiao et al. 2021), equation 3.
    """
    rate = np.asarray(examples_per_second, np.float64)
    return rate * statistical_efficiency(batch_sizes, critical_batch_size)
