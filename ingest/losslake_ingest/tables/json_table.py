"""JSON lines as a table: nested objects are flattened, `{"a": {"b": 1}}` to a column `a.b`.

Lines are read in blocks. In a block, objects with the same keys are turned into columns together, so that Python's own
work is by line and not by value.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import orjson

from losslake_ingest.documents import NUMBER_WORDS, nearest_float
from losslake_ingest.rules import Refusal, Rule, shown
from losslake_ingest.study import LARGEST_EXACT_INTEGER
from losslake_ingest.tables.table import (
    CHANGING_TEXT,
    LARGEST_COLUMNS,
    LARGEST_WORDS,
    Codes,
    Numbers,
    Table,
    Words,
    check_run_column,
    check_size,
)
from losslake_schema.reached import Floats

LONGEST_LINE = 1 << 24
_BLOCK = 1 << 18
_DEEPEST = 16
_UTF8_MARK = b"\xef\xbb\xbf"
_ENOUGH_OTHERS = 100_000
_CUT_SHORT = "the last line is cut short: left out"
_NO_OBJECT = "a line that is no JSON object is passed over"
_TOO_DEEP = f"an object nested deeper than {_DEEPEST} levels is left out"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_NO_NAME = "a value without a name is left out"
_INEXACT = "an integer beyond 2^53 is rounded to float64"
_LIST = "a column of lists is left out: {name}"
_TEXT_AMONG_NUMBERS = "text in a column of numbers is left out: {name}"

_Value = TypeVar("_Value")
_Word = TypeVar("_Word", str, str | bool)
Object = Mapping[str, Any]
Nested = tuple[Sequence[int], Sequence[Object]]


def read_json_lines(data: bytes, run_column: str | None = None) -> Table:
    """Return the table that lines of JSON objects are; raises Refusal. The run column is kept as words."""
    if data.startswith(_UTF16_MARKS):
        raise Refusal(Rule.UNREADABLE_LOG, "the file is UTF-16: save it as UTF-8", 1)
    if not data or data.isspace():
        raise Refusal(Rule.EMPTY_FILE, "there is no line in it", 1)
    return _Reader(data.removeprefix(_UTF8_MARK), run_column).read()


def starts_with_objects(data: bytes, lines: int) -> bool:
    """Return True if the first line is a whole JSON object and, of two, the next begins as one."""
    first, _, rest = data[:LONGEST_LINE].removeprefix(_UTF8_MARK).lstrip().partition(b"\n")
    return parse_line(first) is not None and (lines < 2 or rest.lstrip().startswith(b"{"))


def parse_line(line: bytes) -> Object | None:
    """Return the JSON object that a line is, also with NaN, Infinity and stray bytes; None if it is none."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        if not line.rstrip().endswith(b"}"):
            return None
        try:
            found = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return found if isinstance(found, dict) else None


class _Reader:
    def __init__(self, data: bytes, run_column: str | None) -> None:
        self._data = data
        self._remarks: Counter[str] = Counter()
        self._columns = _Columns(run_column, self._remarks)
        self._others = 0

    def read(self) -> Table:
        for lines in self._blocks():
            self._read_block(lines)
            if self._others > _ENOUGH_OTHERS and self._others > 9 * self._columns.n_rows:
                break
            check_size(self._columns.n_rows, 1)
        n_objects = self._columns.n_rows
        if self._others > n_objects:
            message = f"only {n_objects:,} of {n_objects + self._others:,} lines are JSON objects: is it JSON lines?"
            raise Refusal(Rule.UNREADABLE_LOG, message)
        if self._others:
            self._remarks[_NO_OBJECT] = self._others
        return self._columns.table()

    def _blocks(self) -> Iterator[list[bytes]]:
        """The non-empty lines of the file, some at a time."""
        start = 0
        while start < len(self._data):
            end = self._data.rfind(b"\n", start, start + _BLOCK) + 1
            if not end:
                end = self._data.find(b"\n", start, start + LONGEST_LINE) + 1
            if not end and len(self._data) - start > LONGEST_LINE:
                message = f"the line is longer than {LONGEST_LINE:,} bytes: is there a row per evaluation?"
                raise Refusal(Rule.UNREADABLE_LOG, message, self._data.count(b"\n", 0, start) + 1)
            end = end or len(self._data)
            block = self._data[start:end]
            if b"\r\n" in block:
                block = block.replace(b"\r\n", b"\n")
            yield list(filter(None, block.split(b"\n")))
            start = end

    def _read_block(self, lines: list[bytes]) -> None:
        try:
            objects = list(map(orjson.loads, lines))
        except orjson.JSONDecodeError:
            objects = list(self._one_by_one(lines))
        if not set(map(type, objects)) <= {dict}:
            self._others += sum(type(value) is not dict for value in objects)
            objects = [value for value in objects if type(value) is dict]
        self._flatten(objects)
        self._columns.end_block(len(objects))

    def _one_by_one(self, lines: list[bytes]) -> Iterator[Any]:
        """The values of a block in which some lines are no strict JSON; other lines are counted and passed over."""
        for line in lines:
            try:
                yield orjson.loads(line)
            except orjson.JSONDecodeError:
                is_begun = line.lstrip().startswith(b"{")
                value = parse_line(line) if is_begun else None
                if value is not None:
                    yield value
                elif is_begun and not self._data.endswith(b"\n") and self._data.endswith(line):
                    self._remarks[_CUT_SHORT] = 1
                elif line.strip():
                    self._others += 1

    def _flatten(self, objects: Sequence[Object]) -> None:
        """Hand the values of a block on, column by column."""
        pending: list[tuple[str, Sequence[int], Sequence[Object], int]] = [("", range(len(objects)), objects, 1)]
        while pending:
            prefix, rows, found, depth = pending.pop()
            if depth > _DEEPEST:
                self._remarks[_TOO_DEEP] += len(found)
                continue
            for name, at, values in _by_key(rows, found):
                nested = self._columns.add(prefix + name, at, values)
                if nested is not None:
                    pending.append((f"{prefix}{name}.", *nested, depth + 1))


def _by_key(rows: Sequence[int], objects: Sequence[Object]) -> Iterator[tuple[str, Sequence[int], Sequence[Any]]]:
    """Each key of some objects, the rows that have it and its values there; objects of equal keys go together."""
    shapes = dict.fromkeys(map(tuple, objects))
    if len(shapes) == 1:
        yield from ((key, rows, values) for key, values in _transposed(next(iter(shapes)), objects))
        return
    groups: dict[tuple[str, ...], tuple[list[int], list[Object]]] = {shape: ([], []) for shape in shapes}
    for row, each in zip(rows, objects, strict=True):
        group = groups[tuple(each)]
        group[0].append(row)
        group[1].append(each)
    together: dict[str, tuple[list[int], list[Any]]] = {}
    for keys, (rows_alike, alike) in groups.items():
        for key, values in _transposed(keys, alike):
            at, cells = together.setdefault(key, ([], []))
            at.extend(rows_alike)
            cells.extend(values)
    yield from ((key, at, cells) for key, (at, cells) in together.items())


def _transposed(keys: tuple[str, ...], objects: Sequence[Object]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    return zip(keys, zip(*[found.values() for found in objects], strict=True), strict=True)


class _Column:
    """Cells of one column, by row: numbers and words apart, each in the pieces in which they came.

    has_changed: it holds so many different words that none of them is kept.
    """

    def __init__(self) -> None:
        self.numbers: list[tuple[Codes, Floats]] = []
        self.words: list[tuple[Codes, Codes]] = []
        self.n_words = 0
        self.distinct: dict[str | bool, int] = {}
        self.has_changed = False


class _Columns:
    """Takes the cells of a table block by block. n_rows: of the blocks that have ended."""

    def __init__(self, run_column: str | None, remarks: Counter[str]) -> None:
        self.n_rows = 0
        self._run_column = run_column
        self._remarks = remarks
        self._columns: dict[str, _Column] = {}
        self._room = LARGEST_WORDS
        self._places_of: dict[int, tuple[Sequence[int], Codes]] = {}

    def add(self, name: str, rows: Sequence[int], values: Sequence[Any]) -> Nested | None:
        """Add cells of a block; returns the objects among them with their rows, if there are any."""
        if not name:
            self._remarks[_NO_NAME] += len(values)
            return None
        name = name if name.isascii() else _clean(name)
        if name == self._run_column:
            self._add_words(name, rows, [_run_name(value) for value in values])
            return None
        kinds = set(map(type, values))
        if kinds <= {float, int}:
            self._add_numbers(name, rows, values, int in kinds)
            return None
        if kinds == {dict}:
            return rows, values
        if kinds == {str} and NUMBER_WORDS.keys().isdisjoint(values):
            self._add_words(name, rows, values)
            return None
        return self._add_mixed(name, rows, values)

    def end_block(self, n_rows: int) -> None:
        """The cells added since the last call are in these many rows."""
        self.n_rows += n_rows
        self._places_of.clear()

    def table(self) -> Table:
        """All rows; raises Refusal."""
        check_run_column(self._run_column, self._columns)
        check_size(self.n_rows, len(self._columns))
        table = Table(self.n_rows, {}, {})
        for name in list(self._columns):
            self._finish(table, name, self._columns.pop(name))
        table.remarks = dict(self._remarks)
        return table

    def _finish(self, table: Table, name: str, column: _Column) -> None:
        """Put the pieces of a column together."""
        if column.numbers:
            values, missing = np.zeros(self.n_rows), np.ones(self.n_rows, np.bool_)
            for rows, piece in column.numbers:
                values[rows], missing[rows] = piece, False
            table.numbers[name] = Numbers(values, missing if missing.any() else None)
            if column.n_words:
                self._remarks[_TEXT_AMONG_NUMBERS.format(name=shown(name))] = column.n_words
        elif column.has_changed:
            self._remarks[CHANGING_TEXT.format(name=shown(name))] = 1
        elif column.words:
            codes: Codes = np.full(self.n_rows, -1, np.int32)
            for rows, own in column.words:
                codes[rows] = own
            table.words[name] = Words(codes, list(column.distinct))

    def _column(self, name: str) -> _Column:
        column = self._columns.get(name)
        if column is None:
            if len(self._columns) >= LARGEST_COLUMNS:
                message = f"there are more than {LARGEST_COLUMNS:,} different keys: is there a row per evaluation?"
                raise Refusal(Rule.UNREADABLE_LOG, message)
            column = self._columns[name] = _Column()
        return column

    def _places(self, rows: Sequence[int]) -> Codes:
        """Rows of the block as rows of the file; columns of one block often share theirs."""
        known = self._places_of.get(id(rows))
        if known is None:
            places: Codes = np.fromiter(rows, np.int32, len(rows)) + np.int32(self.n_rows)
            known = self._places_of[id(rows)] = (rows, places)
        return known[1]

    def _add_numbers(self, name: str, rows: Sequence[int], values: Sequence[float], with_integers: bool) -> None:
        try:
            cells: Floats = np.fromiter(values, np.float64, len(values))
        except OverflowError:
            cells = np.fromiter(map(nearest_float, values), np.float64, len(values))
        if with_integers and (np.abs(cells) > LARGEST_EXACT_INTEGER).any():
            inexact = sum(type(value) is int and value != nearest_float(value) for value in values)
            self._remarks += Counter({_INEXACT: inexact})
        self._column(name).numbers.append((self._places(rows), cells))

    def _add_words(self, name: str, rows: Sequence[int], values: Sequence[str | bool]) -> None:
        """Add words by their place among the distinct ones; an empty one is an empty cell."""
        column = self._column(name)
        column.n_words += len(values)
        if column.has_changed:
            return
        distinct = column.distinct
        known = len(distinct)
        codes = [-1 if value == "" else distinct.setdefault(_clean(value), len(distinct)) for value in values]
        self._room -= len(distinct) - known
        column.words.append((self._places(rows), np.array(codes, np.int32)))
        self._give_up_words(name, column)

    def _give_up_words(self, name: str, column: _Column) -> None:
        """Free the words that no field can come of: without a run column, only a single one can be constant."""
        is_run = name == self._run_column
        if is_run and self._room < 0:
            message = f"{shown(name)} tells more than {len(column.distinct):,} runs apart: split the file"
            raise Refusal(Rule.FILE_TOO_LARGE, message)
        if not is_run and len(column.distinct) > (1 if self._run_column is None else self._room + len(column.distinct)):
            self._room += len(column.distinct)
            column.has_changed, column.words, column.distinct = True, [], {}

    def _add_mixed(self, name: str, rows: Sequence[int], values: Sequence[Any]) -> Nested | None:
        """Add cells of different kinds one by one; null is an empty cell."""
        numbers: list[tuple[int, float]] = []
        words: list[tuple[int, str | bool]] = []
        objects: list[tuple[int, Object]] = []
        for row, value in zip(rows, values, strict=True):
            if isinstance(value, (bool, str)):
                if value in NUMBER_WORDS:
                    numbers.append((row, NUMBER_WORDS[str(value)]))
                else:
                    words.append((row, value))
            elif isinstance(value, (float, int)):
                numbers.append((row, value))
            elif isinstance(value, dict):
                objects.append((row, value))
            elif isinstance(value, list):
                self._remarks[_LIST.format(name=shown(name))] = 1
        if numbers:
            self._add_numbers(name, *_apart(numbers), True)
        if words:
            self._add_words(name, *_apart(words))
        return _apart(objects) if objects else None


def _apart(cells: Sequence[tuple[int, _Value]]) -> tuple[list[int], list[_Value]]:
    return [row for row, _ in cells], [value for _, value in cells]


def _clean(word: _Word) -> _Word:
    """A word without lone surrogates, which no UTF-8 can hold."""
    if isinstance(word, str) and not word.isascii():
        return word.encode("utf-8", "replace").decode()
    return word


def _run_name(value: object) -> str:
    """What names a run, as JSON writes it; empty for what can't."""
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, (bool, int, float)) else ""
