"""One training run as a log format reads it: named columns and named fields, not yet interpreted."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_schema.reached import DEFAULT_COMPARATOR, Comparator, Flags, Floats, Integers
from losslake_schema.registry import Direction

Scalar = str | int | float | bool
Fields = Mapping[str, Scalar]
# Of one log. Its curve needs about 25 bytes for a cell, and 110 for a row while it is converted.
LARGEST_CELLS = 2**23
LARGEST_ROWS = 2**21


def check_size(n_rows: int, n_columns: int) -> None:
    """Raise Refusal for a log that is too large for memory."""
    if n_rows > LARGEST_ROWS or n_rows * n_columns > LARGEST_CELLS:
        most = f"at most {LARGEST_ROWS:,} rows and {LARGEST_CELLS:,} cells are read"
        raise Refusal(Rule.FILE_TOO_LARGE, f"{n_rows:,} rows of {n_columns:,} columns; {most}: split the file")


NOT_UTF8 = "a line isn't UTF-8: its unknown characters are replaced"
NOT_ENDED = "the last line doesn't end in a newline: read as it is"
CUT_SHORT = "the last line is cut short: left out"
CUT_ADVICE = "copy the file again, or end the line if it is whole"


class Damage(str):
    """A remark that says that a part of a log is lost: its run isn't COMPLETE.

    line: of the file, where it is known. advice: what to do about it.
    """

    line: int | None
    advice: str

    def __new__(cls, text: str, line: int | None = None, advice: str = "copy the file again") -> Damage:
        """Return the remark; two with the same text are equal."""
        self = super().__new__(cls, text)
        self.line, self.advice = line, advice
        return self


def remarks_in(remarks: Mapping[str, int], path: str) -> dict[str, int]:
    """Return the remarks on one of several files of a run, with its path in each that tells of a fault of the file."""
    placed: dict[str, int] = {}
    for remark, count in remarks.items():
        text = f"{remark} (in {path})"
        if isinstance(remark, Damage):
            placed[Damage(text, remark.line, remark.advice)] = count
        else:
            placed[text if remark in (NOT_UTF8, NOT_ENDED) else remark] = count
    return placed


def is_utf8(text: bytes) -> bool:
    """Return True if a text is UTF-8."""
    return text.decode("utf-8", "ignore").encode() == text


@dataclass(frozen=True)
class TextCell:
    """A cell that holds text where numbers are expected, and its line, counted from 1; empty in an empty column."""

    text: str
    line: int | None


def no_line(_: int) -> int | None:
    """Return None: the lines of the rows are unknown."""
    return None


@dataclass(frozen=True)
class LoggedRows:
    """Rows of a run's log, in the order written.

    columns: float64 arrays of equal length, by the log's own column names; the mapping decides which are axes (steps,
    epochs, times) and which are metrics. missing: flags of empty cells by column, whose values are undefined; columns
    without empty cells are absent. texts: the first cell that isn't a number by column, whether the column holds other
    numbers or not; such cells are missing. fields: of these rows only, beyond those of the run. thousands: columns of
    which every cell is written as 1.000 or 10.000, which can be 1 and 10, too. line_of: returns the line of a row, None
    if it is unknown.
    """

    columns: Mapping[str, Floats]
    missing: Mapping[str, Flags] = field(default_factory=dict)
    texts: Mapping[str, TextCell] = field(default_factory=dict)
    fields: Fields = field(default_factory=dict)
    thousands: frozenset[str] = frozenset()
    line_of: Callable[[int], int | None] = no_line

    def known(self, column: str) -> Flags:
        """Return flags of the cells of a column that aren't empty."""
        missing = self.missing.get(column)
        return ~missing if missing is not None else np.ones(len(self.columns[column]), np.bool_)

    def at(self, places: Integers) -> LoggedRows:
        """Return some of the rows."""
        columns: dict[str, Floats] = {name: values[places] for name, values in self.columns.items()}
        missing: dict[str, Flags] = {name: flags[places] for name, flags in self.missing.items()}
        line_of = self.line_of
        return replace(self, columns=columns, missing=missing, line_of=lambda row: line_of(int(places[row])))

    def renamed(self, column: str, name: str) -> LoggedRows:
        """Return the rows with another name for a column."""
        names = {each: name if each == column else each for each in (*self.columns, *self.texts)}
        columns = {names[each]: values for each, values in self.columns.items()}
        missing = {names[each]: flags for each, flags in self.missing.items()}
        return replace(self, columns=columns, missing=missing, texts={names[e]: cell for e, cell in self.texts.items()})

    @staticmethod
    def of(columns: Mapping[str, tuple[Floats, Flags | None]]) -> LoggedRows:
        """Return rows from the values of each column and flags of its empty cells, None if it has none."""
        missing = {name: flags for name, (_, flags) in columns.items() if flags is not None and flags.any()}
        return LoggedRows({name: values for name, (values, _) in columns.items()}, missing)


@dataclass(frozen=True)
class LoggedGoal:
    """A target that the log itself states for one of its columns."""

    column: str
    target: float
    source: str
    comparator: Comparator = DEFAULT_COMPARATOR


@dataclass(frozen=True)
class RunLog:
    """One training run as its log describes it.

    run: identifies the run within its source: the path of its file or folder, plus `#name` if a file holds several.
    files: the SHA-256 of every file read for it, by path. rows: in the order written; if a column has several values
    for one step, the last is used. fields: values that a mapping can refer to as `{name}`. parameters: metaparameters
    by the name to store. status: the log's own word for how the run ended, if any. started_at: Unix seconds. private:
    kinds of personal or machine data that were dropped. most_epochs: a higher position probably isn't in epochs.
    remarks: decisions of the reader, by a short sentence, with their counts; a Damage makes the run INCOMPLETE.
    guessed: fields that the log doesn't state, but its writer is known for; a mapping's own values come first.
    doubtful_epochs: columns named as by a writer that counts epochs from 0, which don't begin so. steps: that the run
    took; None: up to its last evaluation. attributes: to be stored as JSON whatever they are, numbers included.
    directions: by column, of metrics that aren't registered. is_extract: rows that the writer made may not be in it.
    apart: how to read several runs of the file apart, as the end of `if these are two runs, …`. beyond_words: columns
    of runs or splits with more values than rows are told apart by, and the line of the second value, if it is known.
    """

    run: str
    files: Mapping[str, str]
    rows: Sequence[LoggedRows]
    fields: Fields = field(default_factory=dict)
    parameters: Fields = field(default_factory=dict)
    status: str | None = None
    started_at: float | None = None
    goals: Sequence[LoggedGoal] = ()
    private: Sequence[str] = ()
    most_epochs: float = math.inf
    remarks: Mapping[str, int] = field(default_factory=dict)
    guessed: Fields = field(default_factory=dict)
    doubtful_epochs: Collection[str] = ()
    steps: int | None = None
    attributes: Mapping[str, object] = field(default_factory=dict)
    directions: Mapping[str, Direction] = field(default_factory=dict)
    is_extract: bool = False
    apart: str = ""
    beyond_words: Mapping[str, int | None] = field(default_factory=dict)
