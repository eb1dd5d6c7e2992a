"""A JSON schema's type, bounds and unit in words.

The fields of an answer as OpenAPI describes them, those of its rows included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]
_NOT_A_NUMBER = {"NaN", "Infinity", "-Infinity"}
_BOUNDS = (
    ("minimum", "at least"),
    ("ge", "at least"),
    ("maximum", "at most"),
    ("le", "at most"),
)


def kind_words(schema: Schema) -> str:
    """What its values are: `integer`, `string: a or b`, `list of numbers`, `number or null`."""
    if "$ref" in schema:
        return _name(schema["$ref"])
    if "enum" in schema:
        return "text: " + " or ".join(map(str, schema["enum"]))
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(_without_odd_numbers(schema[several]))
    kind = schema.get("type")
    if kind == "array":
        return f"list of: {kind_words(schema.get('items', {}))}"
    if kind == "string":
        return {"date-time": "moment, ISO 8601", "binary": "bytes"}.get(schema.get("format", ""), "text")
    return {"object": "object", "null": "null", None: "any JSON"}.get(kind, str(kind))


def asked_words(schema: Schema) -> str:
    """What a parameter takes: one value or several; null is to leave it out."""
    alternatives = [part for part in schema.get("anyOf", ()) if part.get("type") != "null"]
    if len(alternatives) == 1:
        return asked_words(alternatives[0])
    if schema.get("type") == "array":
        return f"{kind_words(schema.get('items', {}))}, repeatable"
    return kind_words(schema)


def unit_words(schema: Schema) -> str:
    """Its unit; empty for what has none."""
    unit = str(schema.get("x-unit", "none"))
    return "" if unit == "none" else unit.removeprefix("none: ")


def bound_words(schema: Schema) -> str:
    """Its bounds and its default; empty without any."""
    words = []
    for part in (schema, *schema.get("anyOf", ())):
        for key, text in _BOUNDS:
            if key in part and part[key] != 2**63 - 1:
                words.append(f"{text} {part[key]:,}")
    if "maxItems" in schema:
        words.append(f"at most {schema['maxItems']:,} times")
    default = schema.get("default")
    if default not in (None, "", 2**63 - 1):
        words.append(f"default {default}")
    return ", ".join(words)


def _without_odd_numbers(schemas: list[Schema]) -> list[str]:
    """The alternatives; the words for NaN and infinities belong to `number`."""
    return [
        "number, or NaN, Infinity, -Infinity as text"
        if schema.get("type") == "number" and any(set(other.get("enum", ())) == _NOT_A_NUMBER for other in schemas)
        else kind_words(schema)
        for schema in schemas
        if set(schema.get("enum", ())) != _NOT_A_NUMBER
    ]


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]


_DEEPEST = 6


@dataclass(frozen=True)
class Field:
    """A field; place: how to get to it, `rows[].steps`."""

    place: str
    schema: Schema


def fields_of(schema: Schema, schemas: Mapping[str, Schema]) -> list[Field]:
    """Every field of a schema, outer ones before inner ones. schemas: what references point to, by name."""
    return list(_fields(schema, schemas, "", 0))


def _fields(schema: Schema, schemas: Mapping[str, Schema], place: str, depth: int) -> Iterator[Field]:
    schema = _resolved(schema, schemas)
    if depth > _DEEPEST:
        return
    inner: list[tuple[Schema, str]] = []
    for name, shape in schema.get("properties", {}).items():
        inside = f"{place}.{name}" if place else name
        yield Field(inside, {**_resolved(shape, schemas), **shape})
        inner.append((shape, inside))
    for shape, inside in inner:
        yield from _fields(shape, schemas, inside, depth + 1)
    if "items" in schema:
        yield from _fields(schema["items"], schemas, f"{place}[]", depth + 1)
    for part in schema.get("anyOf", ()):
        yield from _fields(part, schemas, place, depth + 1)


def _resolved(schema: Any, schemas: Mapping[str, Schema]) -> Schema:
    found: Schema = schema
    if "$ref" in schema:
        found = schemas.get(schema["$ref"].rpartition("/")[2], {})
    return found
