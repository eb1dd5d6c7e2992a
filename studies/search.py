"""Quasi-random metaparameter search: scrambled Sobol points, uniform in the logarithm of each range."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

SIGNIFICANT_DIGITS = 6


@dataclass(frozen=True)
class Range:
    """Closed range of one metaparameter: LOG_SCALE is uniform in log(value), REVERSE_LOG_SCALE in log(1 - value)."""

    min_value: float
    max_value: float
    scale: str

    def at(self, position: float) -> float:
        """Return the value at `position` (0 to 1) of the range, rounded to what the archive prints."""
        if self.scale == "LOG_SCALE":
            value = float(f"{log_between(self.min_value, self.max_value, position):.{SIGNIFICANT_DIGITS}g}")
        elif self.scale == "REVERSE_LOG_SCALE":
            remainder = log_between(1 - self.min_value, 1 - self.max_value, position)
            value = round(1 - float(f"{remainder:.{SIGNIFICANT_DIGITS}g}"), 12)
        else:
            raise ValueError(f"unknown scale {self.scale!r}")
        return min(max(value, self.min_value), self.max_value)


def log_between(first: float, last: float, position: float) -> float:
    """Return the point at `position` (0 to 1) between `first` and `last` on a logarithmic axis."""
    return float(first * (last / first) ** position)


def sobol_points(ranges: Mapping[str, Range], count: int, seed: np.random.SeedSequence) -> list[dict[str, float]]:
    """`count` (best a power of two) points of one scrambled Sobol sequence, each a value per metaparameter."""
    from scipy.stats import qmc  # takes a second

    sampler = qmc.Sobol(len(ranges), scramble=True, rng=np.random.default_rng(seed))
    positions = sampler.random(count)
    return [
        {name: values.at(position) for (name, values), position in zip(ranges.items(), row, strict=True)}
        for row in positions
    ]
