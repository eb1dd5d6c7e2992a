"""Medians of sorted values of which some may be infinite: steps of trials that never reached a target."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from losslake_schema.reached import Floats


def median_of(values: Floats, counts: npt.ArrayLike) -> Floats:
    """Medians along the last axis of its first `counts` values; the values are sorted, those left out last.

    Of an even number the mean of the two in the middle, so inf if either is; halves are added, for sums may overflow.
    """
    numbers, most = np.asarray(counts), values.shape[-1] - 1
    low = np.clip((numbers - 1) // 2, 0, most).astype(np.intp)
    high = np.clip(numbers // 2, 0, most).astype(np.intp)
    middle: Floats = (
        0.5 * np.take_along_axis(values, low[..., None], -1) + 0.5 * np.take_along_axis(values, high[..., None], -1)
    )[..., 0]
    return middle
