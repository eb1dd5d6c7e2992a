"""The words for numbers that JSON lacks: NaN and the infinities. All of LossLake reads and writes these."""

from __future__ import annotations

import math

NUMBER_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def json_number(value: float) -> float | str:
    """Return a number for JSON: NaN, Infinity and -Infinity as strings."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
