"""JSON lines as a table: nested objects are flattened, `{"a": {"b": 1}}` to a column `a.b`.

Lines are taken in blocks. In a block, objects with the same keys are turned into columns together, so that Python's
own work is by line and not by value.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from losslake_ingest.rules import Rule
from losslake_ingest.tables.json_columns import JsonColumns
from losslake_ingest.tables.table import BadTable, Table, check_size

LONGEST_LINE = 1 << 24
_BLOCK = 1 << 18
_DEEPEST = 16
_UTF8_MARK = b"\xef\xbb\xbf"
_ENOUGH_OTHERS = 100_000
_CUT_SHORT = "the last line is cut short: left out"
_NO_OBJECT = "a line that is no JSON object is passed over"
_TOO_DEEP = f"an object nested deeper than {_DEEPEST} levels is left out"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")

Object = Mapping[str, Any]


def read_json_lines(data: bytes, run_column: str | None = None) -> Table:
    """The table that lines of JSON objects are; raises BadTable. The run column is kept as words."""
    if data.startswith(_UTF16_MARKS):
        raise BadTable(Rule.UNREADABLE_LOG, "the file is UTF-16: save it as UTF-8", 1)
    if not data or data.isspace():
        raise BadTable(Rule.EMPTY_FILE, "there is no line in it", 1)
    reader = _Reader(data.removeprefix(_UTF8_MARK), run_column)
    return reader.read()


def starts_with_objects(data: bytes, lines: int) -> bool:
    """Whether the first line is a whole JSON object and, of two, the next begins as one."""
    first, _, rest = data[:LONGEST_LINE].removeprefix(_UTF8_MARK).lstrip().partition(b"\n")
    return parse_line(first) is not None and (lines < 2 or rest.lstrip().startswith(b"{"))


def parse_line(line: bytes) -> Object | None:
    """The JSON object that a line is, also with NaN, Infinity and stray bytes; None if it is none."""
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
        self._columns = JsonColumns(run_column)
        self._others = 0
        self._remarks: Counter[str] = Counter()

    def read(self) -> Table:
        for lines in self._blocks():
            self._take(lines)
            if self._others > _ENOUGH_OTHERS and self._others > 9 * self._columns.n_rows:
                break
            check_size(self._columns.n_rows, 1)
        n_objects = self._columns.n_rows
        if self._others > n_objects:
            message = f"only {n_objects:,} of {n_objects + self._others:,} lines are JSON objects: is it JSON lines?"
            raise BadTable(Rule.UNREADABLE_LOG, message)
        if self._others:
            self._remarks[_NO_OBJECT] = self._others
        return self._columns.table(self._remarks)

    def _blocks(self) -> Iterator[list[bytes]]:
        """The non-empty lines of the file, some at a time."""
        start = 0
        while start < len(self._data):
            end = self._data.rfind(b"\n", start, start + _BLOCK) + 1
            if not end:
                end = self._data.find(b"\n", start, start + LONGEST_LINE) + 1
            if not end:
                self._check_last_line(start)
                end = len(self._data)
            block = self._data[start:end]
            if b"\r\n" in block:
                block = block.replace(b"\r\n", b"\n")
            yield list(filter(None, block.split(b"\n")))
            start = end

    def _check_last_line(self, start: int) -> None:
        if len(self._data) - start > LONGEST_LINE:
            message = f"the line is longer than {LONGEST_LINE:,} bytes: is there a row per evaluation?"
            raise BadTable(Rule.UNREADABLE_LOG, message, self._data.count(b"\n", 0, start) + 1)

    def _take(self, lines: list[bytes]) -> None:
        try:
            objects = list(map(orjson.loads, lines))
        except orjson.JSONDecodeError:
            objects = self._one_by_one(lines)
        if not set(map(type, objects)) <= {dict}:
            n_values = len(objects)
            objects = [found for found in objects if type(found) is dict]
            self._others += n_values - len(objects)
        self._flatten(objects)
        self._columns.end_block(len(objects))

    def _one_by_one(self, lines: list[bytes]) -> list[Any]:
        """The values of a block in which some lines are no strict JSON."""
        found = []
        for line in lines:
            try:
                found.append(orjson.loads(line))
            except orjson.JSONDecodeError:
                value = self._look_closer(line)
                if value is not None:
                    found.append(value)
        return found

    def _look_closer(self, line: bytes) -> Object | None:
        """A line that is no strict JSON: an object all the same, or counted and passed over."""
        found = parse_line(line) if line.lstrip().startswith(b"{") else None
        if found is None and line.strip():
            is_last = not self._data.endswith(b"\n") and self._data.endswith(line)
            if is_last and line.lstrip().startswith(b"{"):
                self._remarks[_CUT_SHORT] = 1
            else:
                self._others += 1
        return found

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
        yield from ((key, rows, values) for key, values in _columns(next(iter(shapes)), objects))
        return
    groups: dict[tuple[str, ...], tuple[list[int], list[Object]]] = {shape: ([], []) for shape in shapes}
    for row, found in zip(rows, objects, strict=True):
        own_rows, own_objects = groups[tuple(found)]
        own_rows.append(row)
        own_objects.append(found)
    together: dict[str, tuple[list[int], list[Any]]] = {}
    for keys, (own_rows, own_objects) in groups.items():
        for key, values in _columns(keys, own_objects):
            at, cells = together.setdefault(key, ([], []))
            at.extend(own_rows)
            cells.extend(values)
    yield from ((key, at, cells) for key, (at, cells) in together.items())


def _columns(keys: tuple[str, ...], objects: Sequence[Object]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    return zip(keys, zip(*[found.values() for found in objects], strict=True), strict=True)
