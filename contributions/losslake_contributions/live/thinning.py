"""Thinning of a curve to the points that a picture needs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from losslake_schema.reached import Floats, Integers


def thinned(values: Floats, most: int, *kept: int) -> Integers:
    """Return the indices, ascending, of at most `most` values that give the picture of all of them.

    Among them are the first and the last value, the first of the least and of the greatest finite ones, and `kept`. Of
    each stretch of about as many values there are the least and the greatest finite one, and one that isn't finite, so
    that a line breaks there. values: by step. most: at least 10, beside those kept.
    """
    n = len(values)
    if n <= most:
        return np.arange(n)
    is_finite = np.isfinite(values)
    lows, highs = np.where(is_finite, values, np.inf), np.where(is_finite, values, -np.inf)
    chosen = {0, n - 1, *kept}
    if is_finite.any():
        chosen |= {int(lows.argmin()), int(highs.argmax())}
    n_stretches = (most - len(chosen)) // (2 if is_finite.all() else 3)
    bounds = np.linspace(0, n, n_stretches + 1).astype(np.int64).tolist()
    for start, end in pairwise(bounds):
        if is_finite[start:end].any():
            chosen |= {start + int(lows[start:end].argmin()), start + int(highs[start:end].argmax())}
        if not is_finite[start:end].all():
            chosen.add(start + int(is_finite[start:end].argmin()))
    return np.array(sorted(chosen), np.int64)
