"""Keyset pagination of a list: a cursor holds the release and the sort keys of the last row.

So a page costs the same wherever it is, and no row is skipped or given twice, whatever is published meanwhile.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from duckdb import ColumnExpression, ConstantExpression, Expression

from losslake.output.columns import Column
from losslake.questions.lists.filters import all_of, any_of
from losslake.questions.release.errors import BadParameter
from losslake_schema.names import LARGEST_INTEGER

LONGEST_CURSOR = 16_000
_KINDS = {"string": str, "integer": int, "number": float, "boolean": bool, "timestamp": datetime}


@dataclass(frozen=True)
class SortKey:
    """A column to sort by. NaN is greater than every number; nulls come last either way."""

    column: str
    is_descending: bool = False

    @property
    def order(self) -> Expression:
        """The order of this column."""
        column = ColumnExpression(self.column)
        return (column.desc() if self.is_descending else column.asc()).nulls_last()

    def after(self, value: Any) -> Expression | None:
        """Return the condition of rows after this value; None if there are none."""
        if value is None:
            return None
        column, constant = ColumnExpression(self.column), ConstantExpression(value)
        return any_of([column < constant if self.is_descending else column > constant, column.isnull()])

    def same(self, value: Any) -> Expression:
        """Return the condition of rows with this value."""
        column = ColumnExpression(self.column)
        return column.isnull() if value is None else column == ConstantExpression(value)


@dataclass(frozen=True)
class Cursor:
    """The end of a page: the release, the digest of the question, and the sort keys of the last row."""

    release: int
    question: str
    values: tuple[Any, ...]

    def text(self) -> str:
        """Return the cursor as text for a URL."""
        document = orjson.dumps([self.release, self.question, [_written(value) for value in self.values]])
        return base64.urlsafe_b64encode(document).decode().rstrip("=")

    def values_of(self, question: str) -> tuple[Any, ...]:
        """Return the values if this is a cursor of the question with this digest; raises BadParameter."""
        if self.question != question:
            raise BadParameter("cursor", "this cursor is from another list, filter or order: follow its link unchanged")
        return self.values

    def fits(self, columns: Sequence[Column]) -> bool:
        """Return True if the values have the types of these columns."""
        if len(columns) != len(self.values):
            return False
        pairs = zip(self.values, columns, strict=True)
        return all(value is None or type(value) is _KINDS[column.kind] for value, column in pairs)

    @staticmethod
    def read(text: str) -> Cursor:
        """Parse a cursor; raises BadParameter for an invalid one."""
        bad = BadParameter("cursor", "this cursor is not from this service: take it unchanged from the previous answer")
        if len(text) > LONGEST_CURSOR or not text.isascii():
            raise bad
        try:
            document = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            release, question, values = orjson.loads(document)
            cursor = Cursor(release, question, tuple(_read(value) for value in values))
        except (ValueError, TypeError, KeyError, OverflowError):
            raise bad from None
        if type(release) is not int or not 0 <= release <= LARGEST_INTEGER or not isinstance(question, str):
            raise bad
        return cursor


def altered_cursor() -> BadParameter:
    """Return the error for a cursor that has values of other kinds than its question gives."""
    return BadParameter("cursor", "this cursor was altered: take it unchanged from the previous answer")


def digest_of(*parts: object) -> str:
    """Return a short digest that identifies a question."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def after(keys: Sequence[SortKey], values: Sequence[Any]) -> Expression | None:
    """Return the condition of rows after the one with these values; None if there are none."""
    behind = []
    for number, (key, value) in enumerate(zip(keys, values, strict=True)):
        follows = key.after(value)
        if follows is not None:
            before = [earlier.same(v) for earlier, v in zip(keys[:number], values[:number], strict=True)]
            behind.append(all_of([*before, follows]))
    return any_of(behind) if behind else None


def _written(value: Any) -> Any:
    """Return a value as JSON: floats in hexadecimal, so that NaN and infinities survive; times in ISO 8601."""
    if isinstance(value, float):
        return {"float": value.hex()}
    return {"moment": value.isoformat()} if isinstance(value, datetime) else value


def _read(value: Any) -> Any:
    if isinstance(value, dict):
        (kind,) = value
        return float.fromhex(value[kind]) if kind == "float" else datetime.fromisoformat(value["moment"])
    if value is None or isinstance(value, str) or (isinstance(value, int) and abs(value) <= LARGEST_INTEGER):
        return value
    raise ValueError(value)
