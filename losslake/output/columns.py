"""The columns of answers, derived from the models that declare rows: as Arrow fields and as JSON schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property, lru_cache
from types import NoneType
from typing import Any, get_args

import pyarrow as pa
from pydantic.fields import FieldInfo

from losslake.output.rows import KnownGoal, Row
from losslake.record.numbers import NUMBER_WORDS

_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
    "json": pa.string(),
    "strings": pa.list_(pa.string()),
    "integers": pa.list_(pa.int64()),
    "numbers by name": pa.map_(pa.string(), pa.float64()),
    "json by name": pa.map_(pa.string(), pa.string()),
    "goals": pa.list_(pa.struct([("metric", pa.string()), ("target", pa.float64()), ("source", pa.string())])),
}
_KINDS: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    datetime: "timestamp",
    Any: "json",
    list[str]: "strings",
    list[int]: "integers",
    dict[str, float]: "numbers by name",
    dict[str, Any]: "json by name",
    list[KnownGoal]: "goals",
}
_SINGLE = (str, int, float, NoneType)
_MOST_CACHED_TEXTS, _MOST_CACHED_ROWS = 8, 1 << 14
_NUMBER = {"anyOf": [{"type": "number"}, {"type": "string", "enum": [*NUMBER_WORDS]}]}
_SHAPES: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": _NUMBER,
    "boolean": {"type": "boolean"},
    "timestamp": {"type": "string", "format": "date-time"},
    "json": {},
    "strings": {"type": "array", "items": {"type": "string"}},
    "integers": {"type": "array", "items": {"type": "integer"}},
    "numbers by name": {"type": "object", "additionalProperties": _NUMBER},
    "json by name": {"type": "object"},
    "goals": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "metric": {"type": "string", "description": "split/quantity", "examples": ["val/classification_error"]},
                "target": _NUMBER | {"description": "Better, or equal if inclusive.", "examples": [0.05]},
                "source": {"type": "string", "description": "Where the goal comes from.", "examples": ["the paper"]},
            },
        },
    },
}


@dataclass(frozen=True)
class Column:
    """A column of an answer.

    kind: a key of the types above. unit: empty where the column has none.
    """

    name: str
    kind: str
    doc: str
    unit: str
    example: Any
    nullable: bool

    @property
    def type(self) -> pa.DataType:
        """The Arrow type."""
        return _TYPES[self.kind]

    @property
    def field(self) -> pa.Field:
        """The Arrow field. Its metadata has the documentation, the unit, and whether its texts are JSON."""
        facts = {"doc": self.doc, "unit": self.unit} | ({"json": "yes"} if "json" in self.kind else {})
        return pa.field(self.name, self.type, metadata={name: text for name, text in facts.items() if text})

    @property
    def is_ordered(self) -> bool:
        """True if rows can be sorted by the column: a single value in each row, which is not JSON."""
        return self.kind in ("string", "integer", "number", "boolean", "timestamp")

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of its values, with documentation, unit and example, for OpenAPI."""
        shape = _SHAPES[self.kind]
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
        return RowShape(tuple(self.by_name[name] for name in names))

    def batch(self, columns: Mapping[str, Any]) -> pa.RecordBatch:
        """Build rows from columns by name; a missing column is null.

        columns: Arrow or numpy arrays or lists, at least one of them, and single values, which all rows share.
        """
        n_rows = next(len(values) for values in columns.values() if not isinstance(values, _SINGLE))
        arrays = [_array(columns.get(column.name), column.type, n_rows) for column in self.columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _array(values: Any, kind: pa.DataType, n_rows: int) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    if values is None:
        return pa.nulls(n_rows, kind)
    if isinstance(values, str) and n_rows <= _MOST_CACHED_ROWS:
        return _repeated_text(values, n_rows)
    return pa.repeat(pa.scalar(values, kind), n_rows) if isinstance(values, _SINGLE) else pa.array(values, kind)


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
        name=name,
        kind=_KINDS[kinds[0]],
        doc=" ".join(str(described.description).split()),
        unit=str(facts["x-unit"]) if isinstance(facts, dict) else "",
        example=(described.examples or [None])[0],
        nullable=NoneType in kinds,
    )
