"""A log as a table: columns of numbers and columns of words over the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from losslake_ingest.rules import Rule
from losslake_schema.reached import Flags, Floats

LARGEST_COLUMNS = 10_000
LARGEST_CELLS = 2**26
LARGEST_WORDS = 2**22
CHANGING_TEXT = "a column of text that changes is left out: {name}"
_LONGEST_SHOWN = 80

Codes = npt.NDArray[np.int32]


class BadTable(Exception):
    """A file of which nothing can be stored: the rule it breaks, why, and at which line (from 1)."""

    def __init__(self, rule: Rule, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.line = line


@dataclass(frozen=True)
class Numbers:
    """A float64 for each row; missing flags the empty cells, None where the column is full."""

    values: Floats
    missing: Flags | None = None


@dataclass(frozen=True)
class Words:
    """A word for each row, as its place in `words`; -1 for an empty cell."""

    codes: Codes
    words: Sequence[str | bool]


@dataclass
class Table:
    """The rows of a file in the order in which they were written; remarks as in a RunLog."""

    n_rows: int
    numbers: dict[str, Numbers]
    words: dict[str, Words]
    remarks: dict[str, int] = field(default_factory=dict)


def check_size(n_rows: int, n_columns: int) -> None:
    """Raise BadTable for a table that would not fit in memory."""
    if n_rows * n_columns > LARGEST_CELLS:
        size = f"{n_rows:,} rows of {n_columns:,} columns"
        raise BadTable(Rule.FILE_TOO_LARGE, f"{size}; at most {LARGEST_CELLS:,} cells are read: split the file")


def missing_run_column(run_column: str, known: Mapping[str, object] | Sequence[str]) -> BadTable:
    """The fault of a table without the column that shall tell its runs apart."""
    columns = ", ".join(shown(name) for name in list(known)[:12]) + (", …" if len(known) > 12 else "")
    message = f"there is no column {shown(run_column)}, by which the mapping tells runs apart; there are {columns}"
    return BadTable(Rule.MISSING_FACT, message)


def shown(name: str) -> str:
    """A name from a log, short enough and free of control characters."""
    return repr(name if len(name) <= _LONGEST_SHOWN else name[:_LONGEST_SHOWN] + "…")
