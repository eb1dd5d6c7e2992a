"""The words for numbers that JSON lacks, NaN and the infinities: written by the recorder, and by all answers."""

from __future__ import annotations

import math

NUMBER_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def json_number(value: float) -> float | str:
    """Return a number for JSON: NaN, Infinity and -Infinity as strings."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def number(cell: object) -> float | None:
    """Return the number that a cell of JSON holds, words for NaN and infinities included; None for anything else."""
    if isinstance(cell, str):
        return NUMBER_WORDS.get(cell)
    return float(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else None
