"""An answer: facts that hold for all of it, and rows.

The columns of answers: name, Arrow type, meaning, unit and an example, all from the files in `columns`.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import chain
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class Answer:
    """What a question is answered with.

    facts: by name, what holds for the whole answer, for example {"release": 3}; JSON's fields before the rows.
    schema: of the rows. batches: the rows, to be taken once; each batch has this schema.
    total: rows that the question has in all, of which these may be a page; None where there are no pages.
    next_cursor: where the next page begins; None on the last one. rows_name: of JSON's field with the rows.
    """

    facts: Mapping[str, Any]
    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    total: int | None = None
    next_cursor: str | None = None
    rows_name: str = "rows"

    def table(self) -> pa.Table:
        """All rows at once; takes the batches."""
        return pa.Table.from_batches(self.batches, self.schema)


def begun(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same batches, the first of which is fetched now, so that its errors come before anything is sent."""
    rest = iter(batches)
    first = next(rest, None)
    return iter(()) if first is None else chain([first], rest)


_STRINGS = pa.list_(pa.string())
_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
    "json": pa.string(),
    "strings": _STRINGS,
    "integers": pa.list_(pa.int64()),
    "numbers by name": pa.map_(pa.string(), pa.float64()),
    "json by name": pa.map_(pa.string(), pa.string()),
    "goals": pa.list_(pa.struct([("metric", pa.string()), ("target", pa.float64()), ("source", pa.string())])),
}
_NUMBER = {"anyOf": [{"type": "number"}, {"type": "string", "enum": ["NaN", "Infinity", "-Infinity"]}]}
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
                "target": _NUMBER | {"description": "Reached by being strictly better.", "examples": [0.05]},
                "source": {"type": "string", "description": "Where the goal comes from.", "examples": ["the paper"]},
            },
        },
    },
}


@dataclass(frozen=True)
class Column:
    """A column of an answer.

    kind: a key of the types above. unit: empty for what has none, as a name. json: its texts are JSON already.
    """

    name: str
    kind: str
    doc: str
    unit: str
    example: Any
    nullable: bool

    @property
    def type(self) -> pa.DataType:
        return _TYPES[self.kind]

    @property
    def field(self) -> pa.Field:
        """The Arrow field; its metadata says what it means, and whether its texts are JSON."""
        facts = {"doc": self.doc, "unit": self.unit} | ({"json": "yes"} if "json" in self.kind else {})
        return pa.field(self.name, self.type, metadata={name: text for name, text in facts.items() if text})

    @property
    def is_ordered(self) -> bool:
        """Whether rows can be sorted by it: one value a row, which is no document."""
        return self.kind in ("string", "integer", "number", "boolean", "timestamp")

    def json_schema(self) -> dict[str, Any]:
        """The shape of its values in JSON, with meaning, unit and example, as OpenAPI has them."""
        shape = _SHAPES[self.kind]
        if self.nullable and shape:
            shape = {"anyOf": [*shape.get("anyOf", [shape]), {"type": "null"}]}
        return shape | {"description": self.doc, "x-unit": self.unit or "none", "examples": [self.example]}


@dataclass(frozen=True, eq=False)
class RowShape:
    """What a row of an answer is: its columns in order, and the same as an Arrow schema."""

    columns: tuple[Column, ...]
    schema: pa.Schema

    def only(self, names: Sequence[str]) -> RowShape:
        """The shape with just these columns, in the order of `names`."""
        by_name = {column.name: column for column in self.columns}
        return _shape(tuple(by_name[name] for name in names))


def row_shape(answer: str, *names: str) -> RowShape:
    """The columns of those names; what `columns` say under `[answer.name]` goes before `[any.name]`."""
    return _shape(tuple(_column(answer, name) for name in names))


def _shape(columns: tuple[Column, ...]) -> RowShape:
    return RowShape(columns, pa.schema([column.field for column in columns]))


def _column(answer: str, name: str) -> Column:
    own = _document().get(answer, {})
    facts = own[name] if name in own else _document()["any"][name]
    return Column(
        name=name,
        kind=facts.get("kind", "string"),
        doc=facts["doc"],
        unit=facts.get("unit", ""),
        example=facts["example"],
        nullable=facts.get("nullable", False),
    )


@functools.cache
def _document() -> Mapping[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    for file in resources.files("losslake.output").joinpath("columns").iterdir():
        for answer, columns in tomllib.loads(file.read_text("utf-8")).items():
            found.setdefault(answer, {}).update(columns)
    return found
