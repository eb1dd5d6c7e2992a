"""A JSON schema's type, bounds and unit in words."""

from __future__ import annotations

from collections.abc import Mapping
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
