"""The noisy quadratic model (Zhang et al. 2019): a workload whose steps to target are known exactly (METHODS 2.1, 7.6).

Curvatures h_i = 1/i for i <= 10,000, gradient noise of variance h_i/B, start at second moment 1. With step size a the
second moment of coordinate i after k steps is s_i(k) = s* + (1 - a h_i)^(2k) (1 - s*), s* = a^2 (h_i/B)/(1 - (1 - a
h_i)^2), and the loss 1/2 sum h_i s_i(k).
"""

from __future__ import annotations

import numpy as np

CURVATURES = 1.0 / np.arange(1, 10_001)
# Step sizes of the search: 18 a decade, so each is 1.137 times the one before.
STEP_SIZES = 10.0 ** (np.arange(-72, 6) / 18)


def steps_with(batch_size: float, step_size: float, target: float) -> float:
    """The first k with a loss below the target, by bisection; inf if it never is."""
    left = 1.0 - step_size * CURVATURES
    floor = step_size**2 * (CURVATURES / batch_size) / (1.0 - left**2)
    limit = 0.5 * float(CURVATURES @ floor)
    if limit >= target:
        return np.inf
    weights = 0.5 * CURVATURES * (1.0 - floor)
    with np.errstate(divide="ignore"):  # A coordinate may arrive in one step.
        rates = 2.0 * np.log(np.abs(left))

    def is_below(step: int) -> bool:
        return bool(limit + weights @ np.exp(step * rates) < target)

    low, high = 0, 1024
    while not is_below(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_below(middle) else (middle, high)
    return high


def steps_to_target(batch_sizes: list[int], target: float) -> list[float]:
    """The fewest steps over the step sizes, by ascending batch size; the best step size grows with it."""
    found = []
    index = 0
    for batch_size in batch_sizes:
        best = steps_with(batch_size, STEP_SIZES[index], target)
        while index + 1 < len(STEP_SIZES):
            following = steps_with(batch_size, STEP_SIZES[index + 1], target)
            if following > best:
                break
            index, best = index + 1, following
        found.append(best)
    return found
