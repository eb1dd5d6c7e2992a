"""The runs in a table: all rows, or those with the same value in the run column."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import LARGEST_CELLS, Damage, LoggedRows, RunLog, Scalar, TextCell
from losslake_ingest.contracts.study import LARGEST_EXACT_INTEGER
from losslake_ingest.mapping.mapping import LongTable
from losslake_ingest.mapping.row_keys import RowKey, named_key, row_key
from losslake_ingest.readers.tables.carried import carry
from losslake_ingest.readers.tables.cells import is_number
from losslake_ingest.readers.tables.row_words import joined, rows_by_words, whole_numbers
from losslake_ingest.readers.tables.table import (
    Codes,
    Numbers,
    Table,
    TableFile,
    Words,
    check_run_column,
    text_left_out,
)
from losslake_schema.reached import Floats, Integers

LONGEST_RUN_NAME = 200
NO_METRIC = Damage("a row without the name of a metric: left out")
_LARGEST_BATCH = 1 << 20
_LONGEST_INTEGER = 18


@dataclass(frozen=True)
class RowRules:
    """The rules of a mapping for the rows of a table.

    long: the columns that make it a long table, if it has them. omitted: columns that tell no rows apart, whatever
    their names; None: only words do. carried: conditions on the rows whose number of a column holds for those below.
    within: columns that tell the runs with one value of the run column apart.
    """

    long: LongTable | None = None
    omitted: Collection[str] | None = None
    carried: Mapping[str, Mapping[str, Scalar | list[Scalar]]] = field(default_factory=dict)
    within: Sequence[str] = ()


def runs_of(
    table: Table, file: TableFile, run_column: str | None, rules: RowRules | None = None
) -> Iterator[RunLog | Quarantined]:
    """Yield the runs of a table in order of their first row. Consumes the table."""
    rules = rules or RowRules()
    if rules.long is not None and not (rules.long.name in table.words and rules.long.value in table.numbers):
        rules = replace(rules, long=None)
    if not run_column:
        yield from _Runs(table, file, np.zeros(1, np.int64), None, rules).all()
        return
    named = table.words.pop(run_column)
    runs = _split_within(table, named, rules.within)
    if rules.within:  # the column is a field of each run, as others that are constant in it
        table.words[run_column] = Words(named.codes, [_run_value(str(word)) for word in named.words])
    without = int((runs.codes < 0).sum())
    if without:
        columns = " or ".join(shown(name) for name in (run_column, *rules.within))
        message = f"{without:,} rows have no {columns}, the run column: they belong to no run"
        yield file.quarantined(Rule.MISSING_FACT, message)
    if without < table.n_rows:
        starts, names = _sort_by_run(table, runs)
        yield from _Runs(table, file, starts, (run_column, names), rules).all()


def _split_within(table: Table, runs: Words, columns: Sequence[str]) -> Words:
    """Return the runs by their values in further columns as well: `a,100` of the run a. Raises Refusal."""
    for name in columns:
        check_run_column(name, [*table.numbers, *table.words])
        numbers = table.numbers.get(name)
        values = joined(table.words.get(name), None if numbers is None else whole_numbers(numbers))
        if values is None:
            message = f"{shown(name)} tells runs apart, and not all of its numbers are whole: choose another column"
            raise Refusal(Rule.MISSING_FACT, message)
        both = runs.codes * np.int64(len(values.words)) + values.codes
        both[(runs.codes < 0) | (values.codes < 0)] = -1
        pairs, codes = np.unique(both, return_inverse=True)
        named = [divmod(pair, len(values.words)) for pair in pairs[pairs >= 0].tolist()]
        words = [f"{runs.words[first]},{values.words[second]}" for first, second in named]
        runs = Words((codes - np.count_nonzero(pairs < 0)).astype(np.int32), words)
    return runs


def _sort_by_run(table: Table, runs: Words) -> tuple[Integers, list[str]]:
    """Sort the rows by run, dropping rows without one; return the start and the name of each run."""
    present, first = np.unique(runs.codes, return_index=True)
    if present[0] < 0:
        present, first = present[1:], first[1:]
    by_appearance = np.argsort(first)
    rank = np.full(len(runs.words) + 1, len(present), np.int32)
    rank[present[by_appearance]] = np.arange(len(present), dtype=np.int32)
    ranks = rank[runs.codes]
    order = np.argsort(ranks, kind="stable")[: int((ranks < len(present)).sum())]
    table.n_rows, table.order = len(order), order
    for name, column in table.numbers.items():
        table.numbers[name] = column.at(order)
    for name, texts in table.words.items():
        table.words[name] = texts.at(order)
    starts = np.searchsorted(ranks[order], np.arange(len(present)))
    return starts.astype(np.int64), [str(runs.words[code]) for code in present[by_appearance].tolist()]


class _Runs:
    """A builder of runs from rows sorted by run; column statistics are computed for many runs at once.

    named: the run column, and its value in each run. rules: of the mapping.
    """

    def __init__(
        self, table: Table, file: TableFile, starts: Integers, named: tuple[str, Sequence[str]] | None, rules: RowRules
    ) -> None:
        for column, condition in rules.carried.items():
            carry(table, starts, column, condition)
        long, omitted = rules.long, rules.omitted
        self._table = table
        self._file = file
        self._bounds = np.append(starts, table.n_rows)
        self._named = named
        self._long = long
        self._files = {file.path: file.sha256}
        self._numbers = list(table.numbers.items())
        self._words = [item for item in table.words.items() if long is None or item[0] != long.name]
        self._remarks: dict[int, dict[str, int]] = {}  # on the file, by the number of the run that they belong to
        for text, count in table.remarks.items():
            self._remarks.setdefault(self._last_run() if text == table.end else 0, {})[text] = count
        self._omitted = omitted or ()
        self._keys: dict[str, RowKey] = {}
        for name in [*table.numbers, *table.words, *table.first_texts] if omitted is not None else ():
            key = named_key(name)
            if key is not None and name not in (*self._omitted, *((long.name, long.value) if long else ())):
                self._keys[name] = key

    def all(self) -> Iterator[RunLog | Quarantined]:
        """Yield all runs."""
        n_runs = len(self._bounds) - 1
        batch = max(1, _LARGEST_BATCH // (1 + len(self._numbers) + len(self._words)))
        for first in range(0, n_runs, batch):
            yield from self._batch(first, self._bounds[first : min(first + batch, n_runs) + 1])

    def _batch(self, first: int, bounds: Integers) -> Iterator[RunLog | Quarantined]:
        """Yield the runs from number `first` on, whose rows lie between these bounds."""
        starts, stop = bounds[:-1], int(bounds[-1])
        counts = np.empty((len(starts), len(self._numbers)), np.int64)
        constants = np.empty((len(starts), len(self._numbers)), np.float64)
        for at, (_, column) in enumerate(self._numbers):
            counts[:, at], constants[:, at] = _number_statistics(column, starts, stop)
        lowest = np.empty((len(starts), len(self._words)), np.int32)
        highest = np.empty((len(starts), len(self._words)), np.int32)
        for at, (_, words) in enumerate(self._words):
            lowest[:, at], highest[:, at] = _word_range(words.codes, starts, stop)
        for at in range(len(starts)):
            rows = slice(*bounds[at : at + 2].tolist())
            yield self._run(first + at, rows, counts[at], constants[at], lowest[at], highest[at])

    def _last_run(self) -> int:
        """Return the number of the run that ends the file."""
        table = self._table
        names = self._named[1] if self._named is not None else []
        if table.end_run in names:
            return names.index(table.end_run)
        last = table.n_rows - 1 if table.order is None else int(np.argmax(table.order))
        return int(np.searchsorted(self._bounds, last, side="right")) - 1

    def _texts(self, rows: slice, counts: Integers, highest: Codes) -> dict[str, TextCell]:
        """Return the first text of each column with text in the run, and an empty one of each empty column."""
        table = self._table
        texts = {self._numbers[at][0]: table.text_cell(rows.start, "") for at in np.flatnonzero(counts == 0).tolist()}
        if self._named is None:
            texts |= {name: table.text_cell(*cell) for name, cell in table.first_texts.items()}
        for at in np.flatnonzero(highest >= 0).tolist():
            name, column = self._words[at]
            row = rows.start + int(np.argmax(column.codes[rows] >= 0))
            texts[name] = table.text_cell(row, str(column.words[int(column.codes[row])]))
        return texts

    def _add_word_fields(
        self, fields: dict[str, Scalar], lowest: Codes, highest: Codes, rows: slice
    ) -> tuple[dict[str, int], list[str]]:
        """Add the words that are constant in the run; return remarks on those among numbers, and the other columns.

        A split that only some rows name is one of these.
        """
        remarks, changing = {}, []
        for at in np.flatnonzero(highest >= 0).tolist():
            name, column = self._words[at]
            word = column.words[int(highest[at])]
            if name in self._table.numbers:
                if name not in self._keys:
                    remarks[text_left_out(name, is_among_numbers=True)] = 1
            elif lowest[at] != highest[at] or ((column.codes[rows] < 0).any() and self._names_split(name, word)):
                changing.append(name)
            else:
                fields[name] = word
        return remarks, changing

    def _names_split(self, name: str, word: Scalar) -> bool:
        return name not in self._omitted and row_key(name, [word]) in (RowKey.SPLIT, RowKey.PHASE)

    def _key_columns(self, rows: slice, fields: dict[str, Scalar]) -> Iterator[tuple[str, Words]]:
        """Yield the columns whose names say that they tell rows apart, if they do; a missing value is one."""
        for name in self._keys:
            words, numbers = self._table.words.get(name), self._table.numbers.get(name)
            if name in fields and not self._has_gaps(name, rows):
                continue
            whole = None if numbers is None else whole_numbers(numbers.at(rows))
            column = joined(None if words is None else words.at(rows), whole)
            if column is None:
                continue
            present = np.unique(column.codes).tolist()
            values = [column.words[code] for code in present if code >= 0]
            key = row_key(name, values)
            if values and len(present) > 1 and key is not None:
                if key not in (RowKey.RUN, RowKey.RANK):
                    fields.pop(name, None)
                yield name, column

    def _has_gaps(self, name: str, rows: slice) -> bool:
        words, numbers = self._table.words.get(name), self._table.numbers.get(name)
        if words is not None:
            return bool((words.codes[rows] < 0).any())
        return numbers is not None and numbers.missing is not None and bool(numbers.missing[rows].any())

    def _beyond_words(
        self, too_many: Collection[str], columns: Mapping[str, Words], rows: slice
    ) -> dict[str, int | None]:
        """Return the columns of runs, ranks and splits with too many values, and the line of the second one."""
        dropped = [name for name in self._table.first_texts if name in self._keys and self._named is None]
        lines: dict[str, int | None] = dict.fromkeys(dropped)
        for name in too_many:
            key = self._keys.get(name)
            if key in (RowKey.RUN, RowKey.RANK) or (key is RowKey.SPLIT and name in self._table.words):
                codes = columns[name].codes
                lines[name] = self._line_in(rows.start, int(np.argmax(codes != codes[0])))
        return lines

    def _run(
        self, run: int, rows: slice, counts: Integers, constants: Floats, lowest: Codes, highest: Codes
    ) -> RunLog | Quarantined:
        """Return a run, from its rows and the statistics of its columns."""
        texts = self._texts(rows, counts, highest)
        constant = [(self._numbers[at][0], at) for at in np.flatnonzero(np.isfinite(constants)).tolist()]
        fields = {column: _scalar(float(constants[at])) for column, at in constant if column not in texts}
        remarks, changing = self._add_word_fields(fields, lowest, highest, rows)
        name = None
        if self._named is not None:
            run_column, name = self._named[0], self._named[1][run]
            if len(name) > LONGEST_RUN_NAME:
                length = f"{len(name):,} characters long; a run's name has at most {LONGEST_RUN_NAME}"
                return self._file.quarantined(Rule.BAD_NAME, f"{shown(run_column)} is {length}", name=shown(name))
            fields = {run_column: _run_value(name)} | fields
        columns, missing = {}, {}
        for at in np.flatnonzero(counts).tolist():
            column_name, column = self._numbers[at]
            columns[column_name] = column.values[rows]
            if column.missing is not None and counts[at] < rows.stop - rows.start:
                missing[column_name] = column.missing[rows]
        if not columns:
            return self._file.quarantined(Rule.NO_MEASUREMENTS, "none of its columns holds numbers", name=name)
        path = self._file.path if name is None else f"{self._file.path}#{name}"
        in_run = dict(self._key_columns(rows, fields))
        words = [column for column in changing if column not in (*in_run, *self._omitted)]
        in_run |= {column: self._table.words[column].at(rows) for column in words}
        line_of = partial(self._line_in, rows.start)
        logged = LoggedRows(columns, missing, texts, thousands=self._table.thousands, line_of=line_of)
        parts, too_many = rows_by_words(logged, in_run)
        beyond = self._beyond_words(too_many, in_run, rows)
        left_out = [text_left_out(column) for column in too_many if column in self._table.words]
        remarks = {**self._remarks.get(run, {}), **remarks, **dict.fromkeys(left_out, 1)}
        log = RunLog(path, self._files, [part for _, part in parts], fields, remarks=remarks, beyond_words=beyond)
        return log if self._long is None else self._long_run(log, self._long, rows, [at for at, _ in parts], name)

    def _line_in(self, start: int, row: int) -> int | None:
        return self._table.text_cell(start + row, "").line

    def _long_run(
        self, run: RunLog, long: LongTable, rows: slice, parts: Sequence[Integers], name: str | None
    ) -> RunLog | Quarantined:
        """Return the run with the rows of each metric. parts: the positions of its rows in the run."""
        split: list[LoggedRows] = []
        try:
            for at, logged in zip(parts, run.rows, strict=True):
                split += self._rows_by_metric(long, logged, at + rows.start)
        except Refusal as refusal:
            return self._file.quarantined(refusal.rule, refusal.message, name=name)
        n_nameless = int((self._table.words[long.name].codes[rows] < 0).sum())
        remarks = {**run.remarks, NO_METRIC: n_nameless} if n_nameless else run.remarks
        fields = {field: value for field, value in run.fields.items() if field != long.value}
        return replace(run, rows=split, fields=fields, remarks=remarks)

    def _rows_by_metric(self, long: LongTable, logged: LoggedRows, places: Integers) -> Iterator[LoggedRows]:
        """Yield the rows of each metric, whose values are a column with its name. Raises Refusal.

        places: of the rows in the table.
        """
        names, values = self._table.words[long.name], self._table.words.get(long.value)
        codes = names.codes[places]
        present, counts = np.unique(codes, return_counts=True)
        if len(present) * len(logged.columns) > LARGEST_CELLS:
            most = f"{len(logged.columns):,} columns; at most {LARGEST_CELLS:,} cells are read"
            raise Refusal(Rule.FILE_TOO_LARGE, f"{len(present):,} metrics in {most}")
        order = np.argsort(codes, kind="stable")
        for code, at in zip(present.tolist(), np.split(order, np.cumsum(counts)[:-1]), strict=True):
            if code >= 0:
                name = str(names.words[code])
                texts = {column: cell for column, cell in logged.texts.items() if column != long.value}
                if values is not None and len(with_text := places[at][values.codes[places[at]] >= 0]):
                    row = int(with_text[0])
                    texts[name] = self._table.text_cell(row, str(values.words[int(values.codes[row])]))
                yield replace(logged.at(at).renamed(long.value, name), texts=texts)


def _number_statistics(column: Numbers, starts: Integers, stop: int) -> tuple[Integers, Floats]:
    """Return the number of filled cells of each run, and their value if it is constant, else NaN."""
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


def _word_range(codes: Codes, starts: Integers, stop: int) -> tuple[Codes, Codes]:
    """Return the lowest and highest code of each run's words; the highest is -1 if all are empty."""
    begin = int(starts[0])
    within, selected = starts - begin, codes[begin:stop]
    unsigned: npt.NDArray[np.uint32] = selected.view(np.uint32)  # An empty word, -1, becomes the largest.
    return np.minimum.reduceat(unsigned, within).view(np.int32), np.maximum.reduceat(selected, within)


def _scalar(value: float) -> Scalar:
    """Convert an exact whole number to int, since tables with empty cells often write 128 as 128.0."""
    return int(value) if value.is_integer() and abs(value) <= LARGEST_EXACT_INTEGER else value


def _run_value(name: str) -> Scalar:
    """Convert a run's name to a number if it is one."""
    digits = name.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_INTEGER:
        return int(name)
    return float(name) if is_number(name) else name
