"""Rows of JSON objects as float64 columns: nested objects flattened with `.`; all but numbers left out and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from losslake_ingest.run_log import LoggedRows
from losslake_ingest.wandb_files.private import clean_text, private_text
from losslake_schema.reached import Flags, Floats

MOST_COLUMNS = 10_000
DEEPEST = 32
_LONGEST_NAME = 1000
_SPARSEST = 4
_SMALL = 1 << 12

# W&B's API and its JSON writer spell these numbers as texts.
_NUMBER_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_NONE = type(None)
_PLAIN = {float, int, _NONE}
_INTERNAL = "_wandb"
MEDIA = "a media object, table or histogram: left out"
DEEP = f"a value nested more than {DEEPEST} deep or under a very long name: left out"
TOO_MANY = f"a column beyond the first {MOST_COLUMNS:,} or with a very long name, in one batch of rows: left out"
_LEFT_OUT = {
    str: "a text among the logged values: left out",
    bool: "a true or false among the logged values: left out",
    list: "a list among the logged values: left out",
}

Row = dict[str, Any]


class HistoryTable:
    """Takes rows in batches, in the order written, and gives them back as columns.

    Memory stays in proportion to the values taken: where rows share too few columns they are kept in several parts.
    """

    def __init__(self) -> None:
        self.remarks: Counter[str] = Counter()
        self.private: set[str] = set()
        self._names: set[str] = set()
        self._is_nested = False
        self._parts: list[tuple[int, dict[str, tuple[Floats, Flags | None]]]] = []

    def add(self, rows: list[Row]) -> None:
        """Take rows; they are used up."""
        if self._is_nested:
            for row in rows:
                self._flatten(row)
        names = self._wanted(dict.fromkeys(chain.from_iterable(rows)))
        if len(rows) > 1 and len(rows) * len(names) > _SPARSEST * sum(map(len, rows)) + _SMALL:
            middle = len(rows) // 2
            self.add(rows[:middle])
            self.add(rows[middle:])
            return
        gathered = {name: [row.get(name) for row in rows] for name in names}
        kinds = {name: set(map(type, column)) for name, column in gathered.items()}
        if any(dict in found for found in kinds.values()):
            self._is_nested = True
            self.add(rows)
            return
        part: dict[str, tuple[Floats, Flags | None]] = {}
        for name, column in gathered.items():
            numbers = self._numbers(column, kinds[name])
            if numbers is not None and self._admits(name):
                part[clean_text(name)] = numbers
        if part:
            self._parts.append((len(rows), part))

    def rows(self) -> list[LoggedRows]:
        """All rows: in one piece, unless that would be mostly holes."""
        if not self._parts:
            return []
        total = sum(length for length, _ in self._parts)
        names = dict.fromkeys(chain.from_iterable(part for _, part in self._parts))
        taken = sum(length * len(part) for length, part in self._parts)
        if total * len(names) > _SPARSEST * taken + _SMALL:
            return [_joined([part], list(part[1])) for part in self._parts]
        return [_joined(self._parts, list(names))]

    def _wanted(self, names: dict[str, None]) -> list[str]:
        """The names that may still become columns."""
        if len(self._names) < MOST_COLUMNS:
            return [name for name in names if name != _INTERNAL]
        wanted = [name for name in names if name in self._names]
        self.remarks[TOO_MANY] += len(names) - len(wanted)
        return wanted

    def _flatten(self, row: Row) -> None:
        """Put the leaves of nested objects in their place; a flat name that is there already stays."""
        nested = [(name, value) for name, value in row.items() if type(value) is dict]
        for name, _ in nested:
            del row[name]
        for name, value in nested:
            for leaf_name, leaf in self._leaves(name, value, 1):
                row.setdefault(leaf_name, leaf)

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
        """The column as numbers and holes; None when it has no number."""
        if kinds <= {_NONE}:
            return None
        if not kinds <= _PLAIN:
            left_out = Counter(type(value) for value in column if type(value) not in _PLAIN)
            left_out[str] -= sum(isinstance(value, str) and value in _NUMBER_WORDS for value in column)
            self.remarks.update({_LEFT_OUT[kind]: count for kind, count in left_out.items() if count > 0})
            column = [_number(value) for value in column]
            if all(value is None for value in column):
                return None
            kinds = {_NONE}
        try:
            floats = np.array(column, np.float64)
        except OverflowError:
            floats = np.array([_bounded(value) for value in column], np.float64)
        if _NONE not in kinds:
            return floats, None
        missing = np.fromiter((value is None for value in column), np.bool_, len(column))
        return floats, missing if missing.any() else None

    def _admits(self, name: str) -> bool:
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


def _number(value: Any) -> float | int | None:
    if type(value) is float or type(value) is int:
        return value
    return _NUMBER_WORDS.get(value) if isinstance(value, str) else None


def _bounded(value: float | None) -> float | None:
    """The nearest float64, which is an infinity for an integer beyond all of them."""
    try:
        return None if value is None else float(value)
    except OverflowError:
        return float("inf") if value is not None and value > 0 else float("-inf")


def _joined(parts: list[tuple[int, dict[str, tuple[Floats, Flags | None]]]], names: list[str]) -> LoggedRows:
    total = sum(length for length, _ in parts)
    columns: dict[str, Floats] = {}
    missing: dict[str, Flags] = {}
    for name in names:
        floats = np.full(total, np.nan)
        holes = np.ones(total, np.bool_)
        at = 0
        for length, part in parts:
            if name in part:
                values, flags = part[name]
                floats[at : at + length] = values
                holes[at : at + length] = False if flags is None else flags
            at += length
        columns[name] = floats
        if holes.any():
            missing[name] = holes
    return LoggedRows(columns, missing)
