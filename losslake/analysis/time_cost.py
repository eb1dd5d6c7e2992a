"""Time to target against what it costs, by batch size: their front, throughput and goodput.

Cost is examples processed, steps times batch size. Time is wall-clock seconds, or steps where nobody measured any: the
time of a machine whose steps take equally long at every batch size.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from losslake_schema.reached import Flags, Floats


def is_on_front(time: npt.ArrayLike, cost: npt.ArrayLike) -> Flags:
    """Which points no other beats: none is at most as large in both and smaller in one (the Pareto front).

    time, cost: shape (m,), less is better; points that aren't finite in both are never on it. Equal points all are.
    """
    times, costs = np.asarray(time, np.float64), np.asarray(cost, np.float64)
    there = np.flatnonzero(np.isfinite(times) & np.isfinite(costs))
    on_front = np.zeros(len(times), np.bool_)
    order = there[np.lexsort((costs[there], times[there]))]
    ordered = costs[order]
    least_before = np.concatenate([[np.inf], np.minimum.accumulate(ordered)[:-1]]) if len(order) else ordered
    on_front[order] = ordered < least_before
    for first, other in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        # The sort puts equal points side by side, after the first of which none is cheaper.
        on_front[other] |= on_front[first] and times[first] == times[other] and costs[first] == costs[other]
    return on_front


def throughput(batch_sizes: npt.ArrayLike, steps: npt.ArrayLike, elapsed_s: npt.ArrayLike) -> Floats:
    """Examples per second, B * steps / elapsed_s; NaN where there is no time, or none has passed. Any common shape."""
    sizes, counts, seconds = (np.asarray(values, np.float64) for values in (batch_sizes, steps, elapsed_s))
    is_timed = np.isfinite(counts) & np.isfinite(seconds) & (seconds > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate: Floats = np.where(is_timed, sizes * counts / seconds, np.nan)
    return rate


def statistical_efficiency(batch_sizes: npt.ArrayLike, critical_batch_size: float) -> Floats:
    """(B_c + B_0) / (B_c + B): the examples that the smallest batch size B_0 takes, by those that B takes.

    It is E(B_0)/E(B) of the hyperbola (METHODS 2.1). Source: Pollux (Qiao et al. 2021), section 2.
    """
    sizes = np.asarray(batch_sizes, np.float64)
    efficiency: Floats = (critical_batch_size + sizes.min(initial=np.inf)) / (critical_batch_size + sizes)
    return efficiency


def goodput(batch_sizes: npt.ArrayLike, examples_per_second: npt.ArrayLike, critical_batch_size: float) -> Floats:
    """Examples per second, each worth what one is worth at the smallest batch size: throughput times efficiency.

    Source: Pollux (Qiao et al. 2021), equation 3. Shapes (m,); NaN where there is no throughput.
    """
    rate = np.asarray(examples_per_second, np.float64)
    good: Floats = rate * statistical_efficiency(batch_sizes, critical_batch_size)
    return good
