"""The columns of answers, derived from the models that declare rows: as Arrow fields and as JSON schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property, lru_cache
from types import NoneType
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic.fields import FieldInfo

from losslake.output.rows import KnownGoal, Row
from losslake.record.numbers import NUMBER_WORDS

_SINGLE = (str, int, float, NoneType)
_MOST_CACHED_TEXTS, _MOST_CACHED_ROWS = 8, 1 << 14
_MOST_CACHED_SHAPES = 64


class _Kind(NamedTuple):
    """A kind of values: its name, its Arrow type and its JSON schema."""

    name: str
    type: pa.DataType
    shape: dict[str, Any]


_TEXT, _INTEGER = {"type": "string"}, {"type": "integer"}
_NUMBER = {"anyOf": [{"type": "number"}, {"type": "string", "enum": [*NUMBER_WORDS]}]}
_GOAL = {
    "metric": _TEXT | {"description": "split/quantity", "examples": ["val/classification_error"]},
    "target": _NUMBER | {"description": "Better, or equal if inclusive.", "examples": [0.05]},
    "source": _TEXT | {"description": "Where the goal comes from.", "examples": ["the paper"]},
}
_GOAL_TYPE = pa.struct([("metric", pa.string()), ("target", pa.float64()), ("source", pa.string())])
_KINDS = {
    str: _Kind("string", pa.string(), _TEXT),
    int: _Kind("integer", pa.int64(), _INTEGER),
    float: _Kind("number", pa.float64(), _NUMBER),
    bool: _Kind("boolean", pa.bool_(), {"type": "boolean"}),
    datetime: _Kind("timestamp", pa.timestamp("us", "UTC"), _TEXT | {"format": "date-time"}),
    Any: _Kind("json", pa.string(), {}),
    list[str]: _Kind("strings", pa.list_(pa.string()), {"type": "array", "items": _TEXT}),
    list[int]: _Kind("integers", pa.list_(pa.int64()), {"type": "array", "items": _INTEGER}),
    list[float]: _Kind("numbers", pa.list_(pa.float64()), {"type": "array", "items": _NUMBER}),
    dict[str, float]: _Kind(
        "numbers by name", pa.map_(pa.string(), pa.float64()), {"type": "object", "additionalProperties": _NUMBER}
    ),
    dict[str, Any]: _Kind("json by name", pa.map_(pa.string(), pa.string()), {"type": "object"}),
    list[KnownGoal]: _Kind(
        "goals", pa.list_(_GOAL_TYPE), {"type": "array", "items": {"type": "object", "properties": _GOAL}}
    ),
}


@dataclass(frozen=True)
class Column:
    """A column of an answer.

    kind: the name of a kind above. type: of Arrow. shape: the JSON schema of a value that isn't null. unit: empty where
    the column has none.
    """

    name: str
    kind: str
    type: pa.DataType
    shape: Mapping[str, Any]
    doc: str
    unit: str
    example: Any
    nullable: bool

    @property
    def field(self) -> pa.Field:
        """The Arrow field. Its metadata has the documentation, the unit, and whether its texts are JSON."""
        facts = {"doc": self.doc, "unit": self.unit} | ({"json": "yes"} if "json" in self.kind else {})
        return pa.field(self.name, self.type, metadata={name: text for name, text in facts.items() if text})

    @property
    def is_ordered(self) -> bool:
        """True if rows can be sorted by the column: a single value in each row, which is not JSON."""
        return self.is_scalar or self.kind == "timestamp"

    @cached_property
    def is_scalar(self) -> bool:
        """True for a text, a number or a flag in each row, which JSON has as well."""
        return self.kind in ("string", "integer", "number", "boolean")

    def array(self, values: Any, n_rows: int) -> pa.Array:
        """Return values, as Rows takes them, in Arrow."""
        if isinstance(values, pa.Array):
            return values
        if isinstance(values, Nullable):
            return pa.array(values.values, self.type, mask=~values.is_there)
        if values is None:
            return pa.nulls(n_rows, self.type)
        if isinstance(values, str) and n_rows <= _MOST_CACHED_ROWS:
            return _repeated_text(values, n_rows)
        if isinstance(values, _SINGLE):
            return pa.repeat(pa.scalar(values, self.type), n_rows)
        return pa.array(values, self.type)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of its values, with documentation, unit and example, for OpenAPI."""
        shape = dict(self.shape)
        if self.nullable and shape:
            shape = {"anyOf": [*shape.get("anyOf", [shape]), {"type": "null"}]}
        return shape | {"description": self.doc, "x-unit": self.unit or "none", "examples": [self.example]}


@dataclass(frozen=True, eq=False)
class RowShape:
    """The columns of the rows of an answer, in order."""

    columns: tuple[Column, ...]

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema."""
        return pa.schema([column.field for column in self.columns])

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """The columns by name."""
        return {column.name: column for column in self.columns}

    def only(self, names: Sequence[str]) -> RowShape:
        """Return the shape with these columns only, in the order of `names`."""
        return _chosen(self, tuple(names))

    def of(self, columns: Mapping[str, Any]) -> Rows:
        """Return the rows of these columns."""
        of_rows = (each for each in columns.values() if not isinstance(each, _SINGLE) and not callable(each))
        return Rows(self, columns, len(next(of_rows)))


@lru_cache(_MOST_CACHED_SHAPES)
def _chosen(shape: RowShape, names: tuple[str, ...]) -> RowShape:
    return RowShape(tuple(shape.by_name[name] for name in names))


@dataclass(frozen=True, slots=True)
class Nullable:
    """The values of a column; those whose flag is False are null."""

    values: npt.NDArray[Any]
    is_there: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.values)

    def listed(self) -> list[Any]:
        """Return the values, with None for null."""
        values = self.values.tolist()
        return [value if there else None for value, there in zip(values, self.is_there.tolist(), strict=True)]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as columns by name, which become Arrow or JSON where they are written: for few rows, Arrow takes longer.

    columns: Arrow or numpy arrays, Nullables or lists, at least one of them; single values, which all rows share; and
    functions that return one of these, which are called only for columns that are written. A missing column is null.
    """

    shape: RowShape
    columns: Mapping[str, Any]
    n_rows: int

    def only(self, names: Sequence[str]) -> Rows:
        """Return the rows with these columns only, in the order of `names`."""
        return Rows(self.shape.only(names), self.columns, self.n_rows)

    def values(self, column: Column) -> Any:
        """Return the values of a column, as above."""
        values = self.columns.get(column.name)
        return values() if callable(values) else values

    def batch(self) -> pa.RecordBatch:
        """Return the rows in Arrow."""
        arrays = [column.array(self.values(column), self.n_rows) for column in self.shape.columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.shape.schema)


@lru_cache(_MOST_CACHED_TEXTS)
def _repeated_text(text: str, n_rows: int) -> pa.Array:
    """Return a text in so many rows; cached, since the batches of an answer share texts and mostly their length."""
    return pa.repeat(pa.scalar(text, pa.string()), n_rows)


@cache
def row_shape(model: type[Row], shared: type[Row] = Row) -> RowShape:
    """Return the columns that a model declares. shared: describes those that the model doesn't describe."""
    fields = model.model_fields.items()
    return RowShape(
        tuple(_column(name, field, field if field.description else shared.model_fields[name]) for name, field in fields)
    )


def _column(name: str, field: FieldInfo, described: FieldInfo) -> Column:
    kinds = get_args(field.annotation) if NoneType in get_args(field.annotation) else (field.annotation,)
    facts = described.json_schema_extra
    return Column(
        name,
        *_KINDS[kinds[0]],
        doc=" ".join(str(described.description).split()),
        unit=str(facts["x-unit"]) if isinstance(facts, dict) else "",
        example=(described.examples or [None])[0],
        nullable=NoneType in kinds,
    )
