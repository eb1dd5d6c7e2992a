"""The cells of a table: which texts are numbers, which are empty, and how many columns and words are read."""

from __future__ import annotations

import re

LARGEST_COLUMNS = 10_002  # 10,000 metrics beside the step and the time
LARGEST_WORDS = 2**22
ENOUGH_WORDS = 1_000  # of a column of words: more are no names of metrics
# What pandas (but for NaN, which is a value), R, Keras, Python, JSON and Excel write for a missing value,
# and the dash of tables.
EMPTY_WORDS = ("", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "None", "null", "NULL", "-")
NUMBER = re.compile(
    r"[ \t]*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf|infinity)[ \t]*", re.ASCII | re.IGNORECASE
)


def is_number(cell: str) -> bool:
    """Return True if a cell is a float64, with or without spaces around it."""
    return NUMBER.fullmatch(cell) is not None
