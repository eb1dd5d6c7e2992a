"""A log as a table: columns of numbers and columns of words over the same rows, and the runs in it.

A run is all of the rows, or those that share a value of the column that tells runs apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Refusal, Rule, shown
from losslake_ingest.run_log import LoggedRows, RunLog, Scalar
from losslake_ingest.study import LARGEST_EXACT_INTEGER
from losslake_schema.reached import Flags, Floats, Integers

LARGEST_COLUMNS = 10_000
LARGEST_CELLS = 2**26
LARGEST_WORDS = 2**22
LONGEST_RUN_NAME = 200
CHANGING_TEXT = "a column of text that changes is left out: {name}"
_NUMBER = re.compile(
    r"[ \t]*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf|infinity)[ \t]*", re.ASCII | re.IGNORECASE
)
_LARGEST_BATCH = 1 << 20
_LONGEST_INTEGER = 18

Codes = npt.NDArray[np.int32]


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
    """Raise Refusal for a table that would not fit in memory."""
    if n_rows * n_columns > LARGEST_CELLS:
        size = f"{n_rows:,} rows of {n_columns:,} columns"
        raise Refusal(Rule.FILE_TOO_LARGE, f"{size}; at most {LARGEST_CELLS:,} cells are read: split the file")


def check_run_column(run_column: str | None, known: Mapping[str, object] | Sequence[str]) -> None:
    """Raise Refusal for a table without the column that shall tell its runs apart."""
    if run_column and run_column not in known:
        columns = ", ".join(shown(name) for name in list(known)[:12]) + (", …" if len(known) > 12 else "")
        message = f"there is no column {shown(run_column)}, by which the mapping tells runs apart; there are {columns}"
        raise Refusal(Rule.MISSING_FACT, message)


def is_number(cell: str) -> bool:
    """Return True if a cell says a float64, with spaces around it or not."""
    return _NUMBER.fullmatch(cell) is not None


@dataclass(frozen=True)
class TableFile:
    """Where a table comes from."""

    source: str
    path: str
    sha256: str

    def quarantined(self, rule: Rule, message: str, line: int | None = None, name: str | None = None) -> Quarantined:
        """Something of this file, or one run of it, that can't be stored."""
        path = self.path if name is None else f"{self.path}#{name}"
        return Quarantined(self.source, path, rule, message, line, sha256=self.sha256)


def runs_of(table: Table, file: TableFile, run_column: str | None) -> Iterator[RunLog | Quarantined]:
    """Yield the runs of a table in order of their first row. The table is used up."""
    if not run_column:
        yield from _Runs(table, file, np.zeros(1, np.int64), None).all()
        return
    runs = table.words.pop(run_column)
    without = int((runs.codes < 0).sum())
    if without:
        message = f"{without:,} rows have no {shown(run_column)}, which tells the runs apart: they belong to no run"
        yield file.quarantined(Rule.MISSING_FACT, message)
    if without < table.n_rows:
        starts, names = _sort_by_run(table, runs)
        yield from _Runs(table, file, starts, (run_column, names)).all()


def _sort_by_run(table: Table, runs: Words) -> tuple[Integers, list[str]]:
    """Bring the rows of each run together and drop those of none; return where each run starts, and its name."""
    present, first = np.unique(runs.codes, return_index=True)
    if present[0] < 0:
        present, first = present[1:], first[1:]
    by_appearance = np.argsort(first)
    rank = np.full(len(runs.words) + 1, len(present), np.int32)
    rank[present[by_appearance]] = np.arange(len(present), dtype=np.int32)
    ranks = rank[runs.codes]
    order = np.argsort(ranks, kind="stable")[: int((ranks < len(present)).sum())]
    table.n_rows = len(order)
    for name, column in table.numbers.items():
        missing = column.missing[order] if column.missing is not None else None
        table.numbers[name] = Numbers(column.values[order], missing)
    for name, texts in table.words.items():
        table.words[name] = Words(texts.codes[order], texts.words)
    starts = np.searchsorted(ranks[order], np.arange(len(present)))
    return starts.astype(np.int64), [str(runs.words[code]) for code in present[by_appearance].tolist()]


class _Runs:
    """Makes runs of rows that lie together; facts about the columns are computed for many runs at once.

    named: the column that tells the runs apart, and its value in each.
    """

    def __init__(
        self, table: Table, file: TableFile, starts: Integers, named: tuple[str, Sequence[str]] | None
    ) -> None:
        self._table = table
        self._file = file
        self._bounds = np.append(starts, table.n_rows)
        self._named = named
        self._files = {file.path: file.sha256}
        self._numbers = list(table.numbers.items())
        self._words = list(table.words.items())

    def all(self) -> Iterator[RunLog | Quarantined]:
        n_runs = len(self._bounds) - 1
        batch = max(1, _LARGEST_BATCH // (1 + len(self._numbers) + len(self._words)))
        for first in range(0, n_runs, batch):
            yield from self._batch(first, self._bounds[first : min(first + batch, n_runs) + 1])

    def _batch(self, first: int, bounds: Integers) -> Iterator[RunLog | Quarantined]:
        """Some runs, from the run `first` on, whose rows lie between these bounds."""
        starts, stop = bounds[:-1], int(bounds[-1])
        counts = np.empty((len(starts), len(self._numbers)), np.int64)
        constants = np.empty((len(starts), len(self._numbers)), np.float64)
        for at, (_, column) in enumerate(self._numbers):
            counts[:, at], constants[:, at] = _number_facts(column, starts, stop)
        lowest = np.empty((len(starts), len(self._words)), np.int32)
        highest = np.empty((len(starts), len(self._words)), np.int32)
        for at, (_, words) in enumerate(self._words):
            lowest[:, at], highest[:, at] = _word_facts(words.codes, starts, stop)
        for at in range(len(starts)):
            constant = np.flatnonzero(np.isfinite(constants[at])).tolist()
            fields: dict[str, Scalar] = {self._numbers[c][0]: _scalar(float(constants[at, c])) for c in constant}
            changing = self._add_word_fields(fields, lowest[at], highest[at])
            remarks = self._table.remarks | changing if first + at == 0 else changing
            yield self._run(first + at, slice(*bounds[at : at + 2].tolist()), counts[at], fields, remarks)

    def _add_word_fields(self, fields: dict[str, Scalar], lowest: Codes, highest: Codes) -> dict[str, int]:
        """Add the words that are the same all over the run; return remarks on those that are not."""
        remarks = {}
        for at in np.flatnonzero(highest >= 0).tolist():
            name, column = self._words[at]
            if lowest[at] == highest[at]:
                fields[name] = column.words[int(highest[at])]
            else:
                remarks[CHANGING_TEXT.format(name=shown(name))] = 1
        return remarks

    def _run(
        self, run: int, rows: slice, counts: Integers, fields: dict[str, Scalar], remarks: dict[str, int]
    ) -> RunLog | Quarantined:
        name = None
        if self._named is not None:
            run_column, name = self._named[0], self._named[1][run]
            if len(name) > LONGEST_RUN_NAME:
                length = f"{len(name):,} characters long; at most {LONGEST_RUN_NAME} name a run"
                return self._file.quarantined(Rule.BAD_NAME, f"{shown(run_column)} is {length}", name=shown(name))
            fields = {run_column: _run_value(name)} | fields
        columns, missing = {}, {}
        for at in np.flatnonzero(counts).tolist():
            column_name, column = self._numbers[at]
            columns[column_name] = column.values[rows]
            if column.missing is not None and counts[at] < rows.stop - rows.start:
                missing[column_name] = column.missing[rows]
        if not columns:
            return self._file.quarantined(Rule.NO_MEASUREMENTS, "no column of it holds a number", name=name)
        path = self._file.path if name is None else f"{self._file.path}#{name}"
        return RunLog(path, self._files, [LoggedRows(columns, missing)], fields, remarks=remarks)


def _number_facts(column: Numbers, starts: Integers, stop: int) -> tuple[Integers, Floats]:
    """How many cells of each run are not empty, and their value where it is the same in all of them, else NaN."""
    begin = int(starts[0])
    within, values = starts - begin, column.values[begin:stop]
    lowest = highest = values
    counts = np.diff(np.append(within, stop - begin))
    if column.missing is not None:
        missing = column.missing[begin:stop]
        counts = np.add.reduceat(~missing, within, dtype=np.int64)
        lowest, highest = np.where(missing, np.inf, values), np.where(missing, -np.inf, values)
    low, high = np.minimum.reduceat(lowest, within), np.maximum.reduceat(highest, within)
    return counts, np.where(low == high, low, np.nan)


def _word_facts(codes: Codes, starts: Integers, stop: int) -> tuple[Codes, Codes]:
    """The lowest and highest code of each run's words; -1 as the highest where all are empty."""
    begin = int(starts[0])
    within, here = starts - begin, codes[begin:stop]
    unsigned: npt.NDArray[np.uint32] = here.view(np.uint32)  # An empty word, -1, becomes the largest.
    return np.minimum.reduceat(unsigned, within).view(np.int32), np.maximum.reduceat(here, within)


def _scalar(value: float) -> Scalar:
    """An int for a whole number that float64 holds exactly, since tables with empty cells often write 128 as 128.0."""
    return int(value) if value.is_integer() and abs(value) <= LARGEST_EXACT_INTEGER else value


def _run_value(name: str) -> Scalar:
    """What names a run, as a number if it is written as one."""
    digits = name.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_INTEGER:
        return int(name)
    return float(name) if is_number(name) else name
