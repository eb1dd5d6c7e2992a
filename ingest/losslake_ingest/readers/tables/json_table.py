"""Parser of JSON lines as a table: nested objects are flattened, `{"a": {"b": 1}}` to a column `a.b`.

Lines are read in blocks. In a block, objects with the same keys are transposed by_key, so that the work in Python is
per line and not per value.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import orjson

from losslake.record.numbers import NUMBER_WORDS
from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import CUT_SHORT, NOT_ENDED, NOT_UTF8, Damage, check_size, is_utf8
from losslake_ingest.contracts.study import LARGEST_EXACT_INTEGER
from losslake_ingest.readers.plain_text import LONGEST_LINE, UTF8_MARK, check_nuls, in_utf8, line_blocks
from losslake_ingest.readers.repeated_keys import check_lines, nested_twin
from losslake_ingest.readers.safe_parsing import clean_text, nearest_float, number_column, printable
from losslake_ingest.readers.tables.cells import EMPTY_WORDS, ENOUGH_WORDS, LARGEST_COLUMNS, LARGEST_WORDS
from losslake_ingest.readers.tables.table import Codes, Numbers, Table, Words, check_run_column, text_left_out
from losslake_schema.reached import Flags, Floats

_BLOCK = 1 << 18
_DEEPEST = 16
_ENOUGH_OTHER_LINES = 100_000
_LIST = "a column of lists left out: {name}"
_DAMAGED_LINE = Damage("a line with a damaged JSON object: skipped")
NOT_AN_OBJECT = Damage("entry that isn't an object: left out")
_EMPTY = frozenset(EMPTY_WORDS)
_SKIPPED = object()

_Value = TypeVar("_Value")
_Cells = TypeVar("_Cells", Floats, Codes)
Object = Mapping[str, Any]
Nested = tuple[Sequence[int], Sequence[Object]]


def read_json_lines(data: bytes, run_column: str | None = None) -> Table:
    """Parse lines of JSON objects. The run column is kept as words. Raises Refusal."""
    data = in_utf8(data)
    check_nuls(data)
    if not data or data.isspace():
        raise Refusal(Rule.EMPTY_FILE, "the file is empty", 1)
    return _Reader(data.removeprefix(UTF8_MARK), run_column).read()


def read_json_entries(blocks: Iterable[Sequence[Any]], run_column: str | None = None) -> Table:
    """Return the table of parsed objects, a row each. Raises Refusal."""
    remarks: Counter[str] = Counter()
    columns = _Columns(run_column, remarks)
    for entries in blocks:
        objects = [entry for entry in entries if isinstance(entry, dict)]
        remarks[NOT_AN_OBJECT] += len(entries) - len(objects)
        columns.add_objects(objects)
        check_size(columns.n_rows, 1)
    table = columns.table()
    table.lines = ()
    return table


def starts_with_objects(data: bytes, lines: int) -> bool:
    """Return True if the first line is a JSON object and, for lines=2, the next one begins like one."""
    first, _, rest = in_utf8(data[:LONGEST_LINE]).removeprefix(UTF8_MARK).lstrip().partition(b"\n")
    return parse_line(first) is not None and (lines < 2 or rest.lstrip().startswith(b"{"))


def parse_line(line: bytes) -> Object | None:
    """Parse a line as a JSON object, allowing NaN, Infinity and invalid UTF-8; return None if it isn't one."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        if not line.rstrip().endswith(b"}"):
            return None
        try:
            value = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def list_column(values: Sequence[Any]) -> tuple[tuple[Floats, Flags | None] | None, str | None]:
    """Return the numbers of a list with flags of empty ones, if it has any, and its first value that isn't a number."""
    kinds = set(map(type, values))
    if kinds <= {float, int}:
        return number_column(values, False), None
    cells: list[Any] = [NUMBER_WORDS.get(value, value) if isinstance(value, str) else value for value in values]
    numbers: list[float | None] = [value if type(value) in (float, int) else None for value in cells]
    others = (value for value in cells if type(value) not in (float, int) and value not in (None, *EMPTY_WORDS))
    text = next((printable(value) if isinstance(value, str) else shown(value) for value in others), None)
    if all(number is None for number in numbers):
        return None, text or ""
    return number_column(numbers, True), text


class _Reader:
    """Reads the lines of one file into columns."""

    def __init__(self, data: bytes, run_column: str | None) -> None:
        self._data = data
        self._remarks: Counter[str] = Counter()
        self._columns = _Columns(run_column, self._remarks)
        self._n_other_lines = 0
        self._end = NOT_ENDED

    def read(self) -> Table:
        """Return the table. Raises Refusal."""
        for first, block in line_blocks(self._data, _BLOCK, "a row per evaluation"):
            self._read_block(first, block.replace(b"\r\n", b"\n").removesuffix(b"\n"))
            if self._n_other_lines > _ENOUGH_OTHER_LINES and self._n_other_lines > 9 * self._columns.n_rows:
                break
            check_size(self._columns.n_rows, 1)
        n_objects, n_lines = self._columns.n_rows, self._columns.n_rows + self._n_other_lines
        if self._n_other_lines > n_objects:
            message = f"only {n_objects:,} of {n_lines:,} lines are JSON objects: is it JSON lines?"
            raise Refusal(Rule.UNREADABLE_LOG, message)
        if not self._data.endswith(b"\n"):
            self._remarks[self._end] = 1
        if self._n_other_lines:
            self._remarks["a line that isn't a JSON object: skipped"] = self._n_other_lines
        table = self._columns.table()
        table.end = self._end
        return table

    def _read_block(self, first: int, block: bytes) -> None:
        """Add the rows of a block of lines. first: the number of its first line."""
        lines = block.split(b"\n")
        numbers: Sequence[int] = range(first, first + len(lines))
        if b"" in lines:
            numbers = [number for number, line in zip(numbers, lines, strict=True) if line]
            lines = list(filter(None, lines))
        try:
            objects = list(map(orjson.loads, lines))
        except orjson.JSONDecodeError:
            objects = list(self._one_by_one(lines))
        check_lines(block, numbers, lines, objects)
        if not set(map(type, objects)) <= {dict}:
            self._n_other_lines += sum(type(value) is not dict and value is not _SKIPPED for value in objects)
            numbers = [number for number, value in zip(numbers, objects, strict=True) if type(value) is dict]
            objects = [value for value in objects if type(value) is dict]
        self._columns.add_lines(numbers)
        self._columns.add_objects(objects)

    def _one_by_one(self, lines: list[bytes]) -> Iterator[Any]:
        """Yield the values of a block with invalid lines, _SKIPPED for other lines, which are counted."""
        for line in lines:
            try:
                yield orjson.loads(line)
            except orjson.JSONDecodeError:
                is_begun = line.lstrip().startswith(b"{")
                value = parse_line(line) if is_begun else None
                yield _SKIPPED if value is None else value
                if value is not None:
                    self._remarks[NOT_UTF8] += not is_utf8(line)
                    continue
                if is_begun and not self._data.endswith(b"\n") and self._data.endswith(line):
                    self._end = Damage(CUT_SHORT, self._data.count(b"\n") + 1)
                elif line.strip():
                    self._n_other_lines += 1
                    self._remarks[_DAMAGED_LINE] += is_begun


def _by_key(rows: Sequence[int], objects: Sequence[Object]) -> Iterator[tuple[str, Sequence[int], Sequence[Any]]]:
    """Yield each key of the objects, the rows that have it, and its values; objects with equal keys are grouped."""
    shapes = dict.fromkeys(map(tuple, objects))
    if len(shapes) == 1:
        yield from ((key, rows, values) for key, values in _transposed(next(iter(shapes)), objects))
        return
    groups: dict[tuple[str, ...], tuple[list[int], list[Object]]] = {shape: ([], []) for shape in shapes}
    for row, each in zip(rows, objects, strict=True):
        group = groups[tuple(each)]
        group[0].append(row)
        group[1].append(each)
    by_key: dict[str, tuple[list[int], list[Any]]] = {}
    for keys, (group_rows, group_objects) in groups.items():
        for key, values in _transposed(keys, group_objects):
            at, cells = by_key.setdefault(key, ([], []))
            at.extend(group_rows)
            cells.extend(values)
    yield from ((key, at, cells) for key, (at, cells) in by_key.items())


def _transposed(keys: tuple[str, ...], objects: Sequence[Object]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    return zip(keys, zip(*[each.values() for each in objects], strict=True), strict=True)


class _Column:
    """The cells of one column by row: numbers and words separately, in pieces as they came.

    has_changed: it has too many different words, so none of them is kept. first: the row and text of its first word.
    """

    def __init__(self) -> None:
        self.numbers: list[tuple[Codes, Floats]] = []
        self.words: list[tuple[Codes, Codes]] = []
        self.distinct: dict[str | bool, int] = {}
        self.has_changed = False
        self.first: tuple[int, str] | None = None


class _Columns:
    """A collector of the cells of a table, block by block. n_rows: of the finished blocks."""

    def __init__(self, run_column: str | None, remarks: Counter[str]) -> None:
        self.n_rows = 0
        self._run_column = run_column
        self._remarks = remarks
        self._columns: dict[str, _Column] = {}
        self._room = LARGEST_WORDS
        self._places_of: dict[int, tuple[Sequence[int], Codes]] = {}
        self._lines = [(0, 1)]

    def _add(self, name: str, rows: Sequence[int], values: Sequence[Any]) -> Nested | None:
        """Add cells of a block. Return the objects among them with their rows, if any."""
        if not name:
            self._remarks["a value without a name: left out"] += len(values)
            return None
        name, kinds = clean_text(name), set(map(type, values))
        if name == self._run_column:
            self._add_words(name, rows, [_run_name(value) for value in values])
        elif kinds <= {float, int}:
            self._add_numbers(name, rows, values, int in kinds)
        elif kinds == {dict}:
            return rows, values
        elif kinds == {str} and NUMBER_WORDS.keys().isdisjoint(values):
            self._add_words(name, rows, values)
        else:
            return self._add_mixed(name, rows, values)
        return None

    def add_lines(self, numbers: Sequence[int]) -> None:
        """Note the lines of the block's rows."""
        row, line = self._lines[-1]
        if not numbers or (numbers[0] - line == self.n_rows - row and numbers[-1] - numbers[0] == len(numbers) - 1):
            return
        for at, number in enumerate(numbers, self.n_rows):
            row, line = self._lines[-1]
            if number - line != at - row:
                self._lines.append((at, number))

    def add_objects(self, objects: Sequence[Object]) -> None:
        """Add a block of rows, one column at a time."""
        pending: list[tuple[str, Sequence[int], Sequence[Object], int]] = [("", range(len(objects)), objects, 1)]
        while pending:
            prefix, rows, nested_objects, depth = pending.pop()
            if depth > _DEEPEST:
                self._remarks[f"an object nested deeper than {_DEEPEST} levels: left out"] += len(nested_objects)
                continue
            for name, at, values in _by_key(rows, nested_objects):
                nested = self._add(prefix + name, at, values)
                if nested is not None:
                    pending.append((f"{prefix}{name}.", *nested, depth + 1))
        self.n_rows += len(objects)
        self._places_of.clear()

    def table(self) -> Table:
        """Return the table of all rows. Raises Refusal."""
        check_run_column(self._run_column, self._columns)
        check_size(self.n_rows, len(self._columns))
        table = Table(self.n_rows, {}, {}, lines=self._lines)
        for name in list(self._columns):
            self._finish(table, name, self._columns.pop(name))
        table.remarks = dict(+self._remarks)
        return table

    def _finish(self, table: Table, name: str, column: _Column) -> None:
        """Concatenate the pieces of a column."""
        if column.numbers:
            values, missing = np.zeros(self.n_rows), np.ones(self.n_rows, np.bool_)
            for rows, piece in column.numbers:
                values[rows], missing[rows] = piece, False
            _check_cells(table, name, column.numbers, values)
            table.numbers[name] = Numbers(values, missing if missing.any() else None)
        if column.has_changed:
            self._remarks[text_left_out(name, bool(column.numbers))] = 1
        elif column.words:
            codes: Codes = np.full(self.n_rows, -1, np.int32)
            for rows, piece_codes in column.words:
                codes[rows] = piece_codes
            _check_cells(table, name, column.words, codes)
            table.words[name] = Words(codes, list(column.distinct))
        if column.first is not None and name not in table.words:
            table.first_texts[name] = column.first

    def _column(self, name: str) -> _Column:
        column = self._columns.get(name)
        if column is None:
            if len(self._columns) >= LARGEST_COLUMNS:
                message = f"there are more than {LARGEST_COLUMNS:,} different keys: is there a row per evaluation?"
                raise Refusal(Rule.UNREADABLE_LOG, message)
            column = self._columns[name] = _Column()
        return column

    def _places(self, rows: Sequence[int]) -> Codes:
        """Convert rows of the block to rows of the file. Columns of a block often share their rows."""
        cached = self._places_of.get(id(rows))
        if cached is None:
            places: Codes = np.fromiter(rows, np.int32, len(rows)) + np.int32(self.n_rows)
            cached = self._places_of[id(rows)] = (rows, places)
        return cached[1]

    def _add_numbers(self, name: str, rows: Sequence[int], values: Sequence[float], with_integers: bool) -> None:
        try:
            cells: Floats = np.fromiter(values, np.float64, len(values))
        except OverflowError:
            cells = np.fromiter(map(nearest_float, values), np.float64, len(values))
        if with_integers and (np.abs(cells) > LARGEST_EXACT_INTEGER).any():
            inexact = sum(type(value) is int and value != nearest_float(value) for value in values)
            self._remarks += Counter({"an integer beyond 2^53 is rounded to float64": inexact})
        self._column(name).numbers.append((self._places(rows), cells))

    def _add_words(self, name: str, rows: Sequence[int], values: Sequence[str | bool]) -> None:
        """Add words as indices of the distinct ones; an empty word is an empty cell.

        If there are too many, they are dropped: without a run column, they are constants and names of metrics.
        """
        column, is_run = self._column(name), name == self._run_column
        if column.first is None:
            cells = ((row, value) for row, value in zip(rows, values, strict=True) if value not in _EMPTY)
            first = min(cells, default=None)
            column.first = None if first is None else (first[0] + self.n_rows, str(_clean(first[1])))
        if column.has_changed:
            return
        distinct, empty = column.distinct, ("",) if is_run else _EMPTY
        n_before = len(distinct)
        codes = [-1 if value in empty else distinct.setdefault(_clean(value), len(distinct)) for value in values]
        self._room -= len(distinct) - n_before
        column.words.append((self._places(rows), np.array(codes, np.int32)))
        if is_run and self._room < 0:
            message = f"{shown(name)} has more than {len(distinct):,} runs: split the file"
            raise Refusal(Rule.FILE_TOO_LARGE, message)
        most = ENOUGH_WORDS if self._run_column is None else self._room + len(distinct)
        if not is_run and len(distinct) > most:
            self._room += len(distinct)
            column.has_changed, column.words, column.distinct = True, [], {}

    def _add_mixed(self, name: str, rows: Sequence[int], values: Sequence[Any]) -> Nested | None:
        """Add cells of mixed types one by one; null is an empty cell."""
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
                column = self._column(name)
                column.first = column.first or (row + self.n_rows, "[…]")
        if numbers:
            self._add_numbers(name, *_unzip(numbers), True)
        if words:
            self._add_words(name, *_unzip(words))
        return _unzip(objects) if objects else None


def _check_cells(table: Table, name: str, pieces: Sequence[tuple[Codes, _Cells]], column: _Cells) -> None:
    """Raise Refusal if a row has two different cells of a column: a key `a.b`, and `b` in an object `a`."""
    filled = np.zeros(table.n_rows, np.bool_)
    for rows, _ in pieces:
        filled[rows] = True
    if sum(len(rows) for rows, _ in pieces) == np.count_nonzero(filled):
        return
    for rows, piece in pieces:
        other = ~((piece == column[rows]) | ((piece != piece) & (column[rows] != column[rows])))
        if other.any():
            raise nested_twin(name, table.text_cell(int(rows[other.argmax()]), "").line)


def _unzip(cells: Sequence[tuple[int, _Value]]) -> tuple[list[int], list[_Value]]:
    return [row for row, _ in cells], [value for _, value in cells]


def _clean(word: str | bool) -> str | bool:
    return clean_text(word) if isinstance(word, str) else word


def _run_name(value: object) -> str:
    """Return a run's name as JSON writes it; empty if it can't name a run."""
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, (bool, int, float)) else ""
