"""The runs of a table: all of its rows, or those that share a value of the column that tells runs apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Rule
from losslake_ingest.run_log import LoggedRows, RunLog, Scalar
from losslake_ingest.study import LARGEST_EXACT_INTEGER
from losslake_ingest.tables.csv_rows import is_number
from losslake_ingest.tables.table import CHANGING_TEXT, Codes, Numbers, Table, Words, shown
from losslake_schema.reached import Floats, Integers

LONGEST_RUN_NAME = 200
_LARGEST_BATCH = 1 << 20
_LONGEST_INTEGER = 18
_NO_NUMBER = "no column of it holds a number"


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
    """The runs of a table in order of their first row. The table is used up."""
    if not run_column:
        yield from _Runs(table, file, np.zeros(1, np.int64), None).all()
        return
    runs = table.words.pop(run_column)
    without = int((runs.codes < 0).sum())
    if without:
        message = f"{without:,} rows have no {shown(run_column)}, which tells the runs apart: they belong to no run"
        yield file.quarantined(Rule.MISSING_FACT, message)
    if without == table.n_rows:
        return
    starts, names = _sort_by_run(table, runs)
    yield from _Runs(table, file, starts, (run_column, names)).all()


def _sort_by_run(table: Table, runs: Words) -> tuple[Integers, list[str]]:
    """Bring the rows of each run together and drop those of none; returns where each run starts, and its name."""
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
    """Makes runs of rows that lie together; facts about the columns are computed for many runs at once."""

    def __init__(
        self, table: Table, file: TableFile, starts: Integers, named: tuple[str, Sequence[str]] | None
    ) -> None:
        self._table = table
        self._file = file
        self._starts = starts
        self._stops = np.append(starts[1:], table.n_rows)
        self._named = named
        self._files = {file.path: file.sha256}
        self._numbers = list(table.numbers.items())
        self._words = list(table.words.items())

    def all(self) -> Iterator[RunLog | Quarantined]:
        remarks = self._table.remarks
        batch = max(1, _LARGEST_BATCH // (1 + len(self._numbers) + len(self._words)))
        for first in range(0, len(self._starts), batch):
            yield from self._batch(first, min(first + batch, len(self._starts)), remarks)
            remarks = {}

    def _batch(self, first: int, last: int, remarks: dict[str, int]) -> Iterator[RunLog | Quarantined]:
        starts, stop = self._starts[first:last], int(self._stops[last - 1])
        counts = np.empty((len(starts), len(self._numbers)), np.int64)
        constants = np.empty((len(starts), len(self._numbers)), np.float64)
        for at, (_, column) in enumerate(self._numbers):
            counts[:, at], constants[:, at] = _number_facts(column, starts, stop)
        lowest = np.empty((len(starts), len(self._words)), np.int32)
        highest = np.empty((len(starts), len(self._words)), np.int32)
        for at, (_, words) in enumerate(self._words):
            lowest[:, at], highest[:, at] = _word_facts(words.codes, starts, stop)
        for at in range(len(starts)):
            run = first + at
            fields = self._number_fields(constants[at])
            changing = self._add_word_fields(fields, lowest[at], highest[at])
            yield self._run(run, counts[at], fields, remarks | changing)
            remarks = {}

    def _number_fields(self, constants: Floats) -> dict[str, Scalar]:
        constant = np.flatnonzero(np.isfinite(constants)).tolist()
        return {self._numbers[at][0]: _scalar(float(constants[at])) for at in constant}

    def _add_word_fields(self, fields: dict[str, Scalar], lowest: Codes, highest: Codes) -> dict[str, int]:
        """Add the words that are the same all over the run; returns remarks on those that are not."""
        remarks = {}
        for at in np.flatnonzero(highest >= 0).tolist():
            name, column = self._words[at]
            if lowest[at] == highest[at]:
                fields[name] = column.words[int(highest[at])]
            else:
                remarks[CHANGING_TEXT.format(name=shown(name))] = 1
        return remarks

    def _run(
        self, run: int, counts: Integers, fields: dict[str, Scalar], remarks: dict[str, int]
    ) -> RunLog | Quarantined:
        start, stop = int(self._starts[run]), int(self._stops[run])
        name = None
        if self._named is not None:
            name = self._named[1][run]
            if len(name) > LONGEST_RUN_NAME:
                message = (
                    f"{shown(self._named[0])} is {len(name):,} characters long; at most {LONGEST_RUN_NAME} name a run"
                )
                return self._file.quarantined(Rule.BAD_NAME, message, name=shown(name))
            fields = {self._named[0]: _run_value(name)} | fields
        columns, missing = {}, {}
        for at in np.flatnonzero(counts).tolist():
            column_name, column = self._numbers[at]
            columns[column_name] = column.values[start:stop]
            if column.missing is not None and counts[at] < stop - start:
                missing[column_name] = column.missing[start:stop]
        if not columns:
            return self._file.quarantined(Rule.NO_MEASUREMENTS, _NO_NUMBER, name=name)
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
    within, own = starts - begin, codes[begin:stop]
    unsigned: npt.NDArray[np.uint32] = own.view(np.uint32)  # An empty word, -1, becomes the largest.
    return np.minimum.reduceat(unsigned, within).view(np.int32), np.maximum.reduceat(own, within)


def _scalar(value: float) -> Scalar:
    """An int for a whole number that float64 holds exactly, since tables with empty cells often write 128 as 128.0."""
    return int(value) if value.is_integer() and abs(value) <= LARGEST_EXACT_INTEGER else value


def _run_value(name: str) -> Scalar:
    """What names a run, as a number if it is written as one."""
    digits = name.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_INTEGER:
        return int(name)
    return float(name) if is_number(name) else name
