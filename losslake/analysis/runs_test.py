"""The runs test: whether residuals along the batch sizes keep one sign longer than chance lets them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt


def runs_test(residuals: npt.ArrayLike) -> float | None:
    """The probability of so few runs of equal sign, or fewer (Wald and Wolfowitz 1940), exactly.

    residuals: (m,), in the order of the batch sizes; zeros and what isn't finite are passed over. Small: the curve is
    bent in a way that the fit isn't. None if all are of one sign.
    """
    values = np.asarray(residuals, np.float64)
    signs = values[np.isfinite(values) & (values != 0)] > 0
    above, below = int(signs.sum()), int((~signs).sum())
    if not above or not below:
        return None
    runs = 1 + int((np.diff(signs.astype(np.int64)) != 0).sum())
    ways = sum(_ways(above, below, count) for count in range(2, runs + 1))
    return ways / math.comb(above + below, above)


def _ways(above: int, below: int, runs: int) -> int:
    """In how many orders so many signs make so many runs."""
    half = runs // 2
    if runs % 2 == 0:
        return 2 * math.comb(above - 1, half - 1) * math.comb(below - 1, half - 1)
    one = math.comb(above - 1, half) * math.comb(below - 1, half - 1)
    return one + math.comb(above - 1, half - 1) * math.comb(below - 1, half)
