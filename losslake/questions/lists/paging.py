"""Pages of a list by keyset: a cursor says after which row to go on, and in which release.

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
from losslake.questions.errors import BadParameter
from losslake.questions.lists.filters import all_of, any_of
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
        column = ColumnExpression(self.column)
        return (column.desc() if self.is_descending else column.asc()).nulls_last()

    def after(self, value: Any) -> Expression | None:
        """Rows that come after those of this value; None if none can."""
        if value is None:
            return None
        column, constant = ColumnExpression(self.column), ConstantExpression(value)
        return any_of([column < constant if self.is_descending else column > constant, column.isnull()])

    def same(self, value: Any) -> Expression:
        """Rows that have this value."""
        column = ColumnExpression(self.column)
        return column.isnull() if value is None else column == ConstantExpression(value)


@dataclass(frozen=True)
class Cursor:
    """Where a page ended: in which release, in which question, and the sort keys of its last row."""

    release: int
    question: str
    values: tuple[Any, ...]

    def text(self) -> str:
        """The cursor as it stands in a URL."""
        document = orjson.dumps([self.release, self.question, [_written(value) for value in self.values]])
        return base64.urlsafe_b64encode(document).decode().rstrip("=")

    def fits(self, columns: Sequence[Column]) -> bool:
        """Whether the values can be those of these columns."""
        if len(columns) != len(self.values):
            return False
        pairs = zip(self.values, columns, strict=True)
        return all(value is None or type(value) is _KINDS[column.kind] for value, column in pairs)

    @staticmethod
    def read(text: str) -> Cursor:
        """Read a cursor back; raises BadParameter for what is none."""
        bad = BadParameter("cursor", "this cursor is none of ours: take it from the answer before, as it is")
        if len(text) > LONGEST_CURSOR or not text.isascii():
            raise bad
        try:
            release, question, values = orjson.loads(_decoded(text))
            found = Cursor(release, question, tuple(_read(value) for value in values))
        except (ValueError, TypeError, KeyError, OverflowError):
            raise bad from None
        if type(release) is not int or not 0 <= release <= LARGEST_INTEGER or not isinstance(question, str):
            raise bad
        return found


def digest_of(*parts: object) -> str:
    """A short text that another question doesn't share."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def after(keys: Sequence[SortKey], values: Sequence[Any]) -> Expression | None:
    """The rows behind the one with these values in the order of the keys; None if there are none."""
    behind = []
    for number, (key, value) in enumerate(zip(keys, values, strict=True)):
        follows = key.after(value)
        if follows is not None:
            before = [earlier.same(v) for earlier, v in zip(keys[:number], values[:number], strict=True)]
            behind.append(all_of([*before, follows]))
    return any_of(behind) if behind else None


def _decoded(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _written(value: Any) -> Any:
    """Floats in full, so that NaN and infinities survive; moments as such."""
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
