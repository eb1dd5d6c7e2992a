"""Reader of a run's history, one row for each `log()`: JSON lines, Parquet, or rows of JSON objects.

A row has `_step`, `_timestamp` (Unix seconds), `_runtime` (seconds) and what was logged. Nested objects are flattened
with `.`; everything but numbers is dropped and counted. Parquet files come from history artifacts.
Source: https://docs.wandb.ai/ref/python/public-api/runs (`scan_history`, history exports).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from losslake.record.numbers import NUMBER_WORDS
from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import NOT_ENDED, Damage, LoggedRows, check_size
from losslake_ingest.readers.plain_text import line_blocks
from losslake_ingest.readers.private import private_text
from losslake_ingest.readers.repeated_keys import check_lines, nested_twin
from losslake_ingest.readers.safe_parsing import clean_text, number_column, read_python_json
from losslake_schema.reached import Flags, Floats

MOST_COLUMNS = 10_000
DEEPEST = 32
_LONGEST_NAME = 1000
_SPARSEST = 4
_SMALL = 1 << 12
_CHUNK = 1 << 20
_MOST_BAD_LINES = 10_000
_SEEN_AHEAD = 1 << 16
_BATCH = 1 << 16

_NONE = type(None)
_PLAIN = {float, int, _NONE}
_INTERNAL = "_wandb"
BAD_LINE = Damage("a line that isn't a JSON object: left out")
MEDIA = "a media object, table or histogram: left out"
DEEP = f"a value nested more than {DEEPEST} levels deep or under a very long name: left out"
TOO_MANY = f"a column beyond the first {MOST_COLUMNS:,} or with a very long name, in one batch of rows: left out"
_LEFT_OUT = {
    str: "a text among the",
    bool: "a boolean among the",
    list: "a list among the",
}

HistoryRow = dict[str, Any]
Part = tuple[int, dict[str, tuple[Floats, Flags | None]]]


@dataclass
class History:
    """The content of a history file."""

    rows: list[LoggedRows]
    private: set[str] = field(default_factory=set)
    remarks: Counter[str] = field(default_factory=Counter)


def read_json_lines(data: bytes) -> History | None:
    """Parse a history in JSON lines; return None if its beginning has no `_step`."""
    if b'"_step"' not in data[:_SEEN_AHEAD]:
        return None
    table = HistoryTable()
    for first, block in line_blocks(data, _CHUNK, "a row for each log()"):
        table.add(_parsed(first, block, table.remarks))
    if not data.endswith(b"\n") and not table.remarks[BAD_LINE]:
        table.remarks[NOT_ENDED] += 1
    return History(table.rows(), table.private, +table.remarks)


def _parsed(first: int, block: bytes, remarks: Counter[str]) -> list[dict[str, Any]]:
    """Return the rows of a block of lines. first: the number of its first line. Raises Refusal."""
    numbers, lines = [], []
    for number, line in enumerate(block.split(b"\n"), first):
        if line.strip():
            numbers.append(number)
            lines.append(line)
    try:
        values = list(map(orjson.loads, lines))
    except orjson.JSONDecodeError:
        values = [_value(line, remarks) for line in lines]
    check_lines(block, numbers, lines, values)
    rows = [value for value in values if type(value) is dict]
    remarks[BAD_LINE] += len(values) - len(rows)
    return rows


def _value(line: bytes, remarks: Counter[str]) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return read_python_json(line) if remarks[BAD_LINE] < _MOST_BAD_LINES else None


def read_parquet(data: bytes) -> History | None:
    """Parse a history in Parquet; return None if it has no column `_step`. Raises Refusal."""
    try:
        return _read_columns(pq.ParquetFile(pa.BufferReader(data)))
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        message = f"the Parquet file is damaged or cut short ({reason}): export it again"
        raise Refusal(Rule.UNREADABLE_LOG, message) from None


def _read_columns(file: pq.ParquetFile) -> History | None:
    history = History([])
    if len(set(file.schema_arrow.names)) < len(file.schema_arrow.names):
        raise Refusal(Rule.BAD_HEADER, "two of its columns have one name: export the history again")
    names = _numeric(file.schema_arrow, history)
    if "_step" not in names:
        if "_step" not in file.schema_arrow.names:
            return None
        raise Refusal(Rule.NOT_A_NUMBER, "the column _step holds no numbers: export the history again")
    stated = file.metadata.num_rows
    check_size(stated, len(names))
    batches: list[pa.RecordBatch] = []
    for batch in file.iter_batches(_BATCH, columns=names, use_threads=False):
        batches.append(batch)
        if sum(map(len, batches)) > stated:
            raise ValueError("it has more rows than its metadata states")
    table = pa.Table.from_batches(batches, None if batches else pa.schema([]))
    while any(pa.types.is_struct(kind) for kind in table.schema.types):
        table = table.flatten()
    columns: dict[str, tuple[Floats, Flags]] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in names and column.null_count < len(column):
            columns[name] = floats_of(column.cast(pa.float64(), safe=False))
    history.rows = [LoggedRows.of(columns)] if columns else []
    return history


def _numeric(schema: pa.Schema, history: History) -> list[str]:
    """Return the names of numeric columns, nested ones joined with `.`; count all others."""
    names: list[str] = []
    for name, kind in _leaf_columns([(column.name, column.type) for column in schema], 0, history.remarks):
        private = private_text(name)
        if private:
            history.private.add(private)
        elif name == "_wandb" or name.startswith("_wandb."):
            continue
        elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            history.remarks["a column without numbers: left out"] += 1
        elif len(names) >= MOST_COLUMNS:
            history.remarks[TOO_MANY] += 1
        elif name not in names[-1:]:
            names.append(name)
    return list(dict.fromkeys(names))


def _leaf_columns(columns: list[tuple[str, Any]], depth: int, remarks: Counter[str]) -> Iterator[tuple[str, Any]]:
    for name, kind in columns:
        if not pa.types.is_struct(kind):
            yield name, kind
        elif any(inner.name == "_type" for inner in kind):
            remarks[MEDIA] += 1
        elif depth >= DEEPEST:
            remarks[DEEP] += 1
        else:
            yield from _leaf_columns([(f"{name}.{inner.name}", inner.type) for inner in kind], depth + 1, remarks)


def floats_of(column: pa.Array | pa.ChunkedArray) -> tuple[Floats, Flags]:
    """Return a float64 column as an array, and flags of empty cells."""
    holes = np.asarray(column.is_null().to_numpy(zero_copy_only=False), np.bool_)
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64), holes


@dataclass
class HistoryTable:
    """The columns of rows that come in batches, in the order written.

    Memory is proportional to the values: rows that share too few columns are stored in several parts.
    """

    private: set[str] = field(default_factory=set)
    remarks: Counter[str] = field(default_factory=Counter)
    _names: set[str] = field(default_factory=set)
    _parts: list[Part] = field(default_factory=list)
    _is_nested: bool = False
    _n_rows: int = 0
    _n_cells: int = 0

    def add(self, rows: list[HistoryRow]) -> None:
        """Add rows. Consumes them. Raises Refusal."""
        if self._is_nested:
            for row in rows:
                self._flatten(row)
        names = self._wanted(dict.fromkeys(chain.from_iterable(rows)))
        if len(rows) > 1 and len(rows) * len(names) > _SPARSEST * sum(map(len, rows)) + _SMALL:
            middle = len(rows) // 2
            self.add(rows[:middle])
            self.add(rows[middle:])
            return
        columns = {name: [row.get(name) for row in rows] for name in names}
        kinds = {name: set(map(type, column)) for name, column in columns.items()}
        if any(dict in types for types in kinds.values()):
            self._is_nested = True
            self.add(rows)
            return
        part: dict[str, tuple[Floats, Flags | None]] = {}
        for name, column in columns.items():
            numbers = self._numbers(column, kinds[name])
            if numbers is not None and self._accepts(name):
                part[clean_text(name)] = numbers
        if part:
            self._parts.append((len(rows), part))
            self._n_rows += len(rows)
            self._n_cells += len(rows) * len(part)
            check_size(self._n_rows, -(-self._n_cells // self._n_rows))

    def rows(self) -> list[LoggedRows]:
        """Return all rows: in one piece, unless that would be mostly empty cells."""
        total = sum(length for length, _ in self._parts)
        names = dict.fromkeys(chain.from_iterable(part for _, part in self._parts))
        filled = sum(length * len(part) for length, part in self._parts)
        if total * len(names) > _SPARSEST * filled + _SMALL:
            return [_concatenate([part], list(part[1])) for part in self._parts]
        return [_concatenate(self._parts, list(names))] if self._parts else []

    def _wanted(self, names: dict[str, None]) -> list[str]:
        """Return the names that can still become columns."""
        if len(self._names) < MOST_COLUMNS:
            return [name for name in names if name != _INTERNAL]
        wanted = [name for name in names if name in self._names]
        self.remarks[TOO_MANY] += len(names) - len(wanted)
        return wanted

    def _flatten(self, row: HistoryRow) -> None:
        """Replace nested objects by their leaves. Raises Refusal if a flat name has another value already."""
        nested = [name for name, value in row.items() if type(value) is dict]
        for name, value in [(name, row.pop(name)) for name in nested]:
            for leaf_name, leaf in self._leaves(name, value, 1):
                earlier = row.get(leaf_name)
                if earlier is None:
                    row[leaf_name] = leaf
                elif leaf is not None and repr(earlier) != repr(leaf):
                    raise nested_twin(leaf_name)

    def _leaves(self, name: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
        if not isinstance(value, dict):
            yield name, value
        elif "_type" in value:
            self.remarks[MEDIA] += 1
        elif depth > DEEPEST or len(name) > _LONGEST_NAME:
            self.remarks[DEEP] += 1
        else:
            for key, inner in value.items():
                if key != _INTERNAL:
                    yield from self._leaves(f"{name}.{key}", inner, depth + 1)

    def _numbers(self, column: list[Any], kinds: set[type]) -> tuple[Floats, Flags | None] | None:
        """Convert a column to numbers and flags of empty cells; return None if it has no numbers."""
        if kinds <= {_NONE}:
            return None
        if not kinds <= _PLAIN:
            column = [NUMBER_WORDS.get(value, value) if type(value) is str else value for value in column]
            counts = Counter(map(type, column))
            is_damaged = bool(counts[float] or counts[int])
            remarks = {
                Damage(f"{what} numbers: left out") if is_damaged else f"{what} logged values: left out": counts[kind]
                for kind, what in _LEFT_OUT.items()
            }
            self.remarks.update({remark: count for remark, count in remarks.items() if count})
            column = [value if type(value) in _PLAIN else None for value in column]
            if not is_damaged:
                return None
            kinds = {_NONE}
        return number_column(column, _NONE in kinds)

    def _accepts(self, name: str) -> bool:
        if name in self._names:
            return True
        if name.startswith(f"{_INTERNAL}."):
            return False
        if len(self._names) >= MOST_COLUMNS or len(name) > _LONGEST_NAME:
            self.remarks[TOO_MANY] += 1
            return False
        kind = private_text(name)
        if kind:
            self.private.add(kind)
            return False
        self._names.add(name)
        return True


def _concatenate(parts: list[Part], names: list[str]) -> LoggedRows:
    tables = [
        pa.table({name: pa.array(values, mask=holes) for name, (values, holes) in part.items()}) for _, part in parts
    ]
    table = pa.concat_tables(tables, promote_options="default")
    return LoggedRows.of({name: floats_of(table[name]) for name in names})
