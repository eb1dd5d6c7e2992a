"""A log as a table: columns of numbers and of words over the same rows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import Scalar, TextCell
from losslake_schema.reached import Flags, Floats, Integers

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Numbers:
    """A float64 per row. missing: flags of empty cells, None if there are none."""

    values: Floats
    missing: Flags | None = None

    def at(self, rows: slice | Integers) -> Numbers:
        """Return the numbers of some rows."""
        return Numbers(self.values[rows], None if self.missing is None else self.missing[rows])


@dataclass(frozen=True)
class Words:
    """A word per row, as its index in `words`; -1 for an empty cell."""

    codes: Codes
    words: Sequence[Scalar]

    def at(self, rows: slice | Integers) -> Words:
        """Return the words of some rows."""
        return Words(self.codes[rows], self.words)


@dataclass
class Table:
    """The rows of a file in the order written. remarks: as in a RunLog.

    A column of numbers with text among them is in both numbers and words. first_texts: the row and text of the first
    cell of a column whose words were dropped. lines: rows and their lines, ascending; the rows that follow each have
    consecutive lines; none if lines are unknown. order: the rows as written, where they are sorted by run. end: the
    remark on an unfinished last line, which is of one run only: `end_run`, or that of the last row. thousands: as in
    LoggedRows.
    """

    n_rows: int
    numbers: dict[str, Numbers]
    words: dict[str, Words]
    remarks: dict[str, int] = field(default_factory=dict)
    first_texts: dict[str, tuple[int, str]] = field(default_factory=dict)
    lines: Sequence[tuple[int, int]] = ((0, 1),)
    order: Integers | None = None
    end: str | None = None
    end_run: str | None = None
    thousands: frozenset[str] = frozenset()

    def first_text(self, name: str) -> TextCell | None:
        """Return the first cell of a column with text other than a word for a missing value, None if it has none."""
        words = self.words.get(name)
        if words is None or not (words.codes >= 0).any():
            return self.text_cell(*self.first_texts[name]) if name in self.first_texts else None
        row = int(np.argmax(words.codes >= 0))
        return self.text_cell(row, str(words.words[int(words.codes[row])]))

    def text_cell(self, row: int, text: str) -> TextCell:
        """Return a cell of a row with its line."""
        if not self.lines:
            return TextCell(text, None)
        written = row if self.order is None else int(self.order[row])
        first, line = self.lines[bisect_right(self.lines, written, key=lambda pair: pair[0]) - 1]
        return TextCell(text, line + written - first)


def text_left_out(name: str, is_among_numbers: bool = False) -> str:
    """Return the remark that text of a column is left out."""
    what = "text in a column of numbers" if is_among_numbers else "a column of changing text"
    return f"{what} left out: {shown(name)}"


def check_run_column(run_column: str | None, names: Mapping[str, object] | Sequence[str]) -> None:
    """Raise Refusal for a table without the run column."""
    if run_column and run_column not in names:
        columns = ", ".join(shown(name) for name in list(names)[:12]) + (", …" if len(names) > 12 else "")
        message = f"there is no column {shown(run_column)}, the mapping's run column; the columns are {columns}"
        raise Refusal(Rule.MISSING_FACT, message)


@dataclass(frozen=True)
class TableFile:
    """The file of a table."""

    source: str
    path: str
    sha256: str

    def quarantined(self, rule: Rule, message: str, line: int | None = None, name: str | None = None) -> Quarantined:
        """Return a quarantine entry for this file, or for one run of it."""
        path = self.path if name is None else f"{self.path}#{name}"
        return Quarantined(self.source, path, rule, message, line, sha256=self.sha256)
