"""The fields of an answer as OpenAPI describes them, those of its rows included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from losslake_service.web.schema_words import Schema

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
