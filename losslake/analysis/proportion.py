"""How sure a proportion is: Wilson's interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from losslake_schema.reached import Floats

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Proportion:
    """A share with its interval, both from 0 to 1; share is None for nothing out of nothing."""

    share: float | None
    lower: float
    upper: float


def wilson(count: int, total: int, confidence: float = CONFIDENCE) -> Proportion:
    """The share count / total with Wilson's score interval, which is from 0 to 1 if there is nothing to count.

    Raises ValueError unless 0 <= count <= total and 0 < confidence < 1.
    Source: Wilson 1927; for the probability of reaching a target METHODS 3.4.
    """
    if not 0 <= count <= total:
        raise ValueError(f"{count} of {total} is no proportion")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence of {confidence} is out of range: give one between 0 and 1")
    if total == 0:
        return Proportion(None, 0.0, 1.0)
    share = count / total
    lower, upper = wilson_bounds(np.array([share]), np.array([float(total)]), confidence)
    return Proportion(share, float(lower[0]), float(upper[0]))


def wilson_bounds(shares: Floats, totals: Floats, confidence: float = CONFIDENCE) -> tuple[Floats, Floats]:
    """The bounds by share and total, which need not be a whole number; from 0 to 1 where the total is 0."""
    z = float(scipy.stats.norm.ppf((1 + confidence) / 2))
    weight = totals + z * z
    middle = (totals * shares + z * z / 2) / weight
    reach = z * np.sqrt(totals * shares * (1 - shares) + z * z / 4) / weight
    # At the ends the bound is the share itself, but for rounding.
    return (
        np.where(shares <= 0, 0.0, np.clip(middle - reach, 0, 1)),
        np.where(shares >= 1, 1.0, np.clip(middle + reach, 0, 1)),
    )
