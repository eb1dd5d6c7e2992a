"""Arrow columns of numbers of which some are unknown: what is NaN or infinite becomes null."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def finite(values: npt.NDArray[np.float64]) -> pa.Array:
    """The values; null for NaN and infinities."""
    return pa.array(values, mask=~np.isfinite(values))


def whole(values: npt.NDArray[Any]) -> pa.Array:
    """The values as 64-bit integers; null for NaN, infinities and what is too large. Exact up to 2^53."""
    is_known = np.isfinite(values) & (np.abs(values) < 2.0**63)
    return pa.array(np.where(is_known, values, 0).astype(np.int64), mask=~is_known)
