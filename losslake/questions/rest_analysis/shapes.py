"""JSON schemas of what analyses say beside their rows."""

from __future__ import annotations

from typing import Any

Shape = dict[str, Any]
NUMBER: Shape = {"type": "number"}
COUNT: Shape = {"type": "integer"}
NAME: Shape = {"type": "string"}
FLAG: Shape = {"type": "boolean"}
# Beyond which end of the batch sizes the true one may lie; null for neither.
CENSORING: Shape = {"anyOf": [{"type": "string", "enum": ["left", "right"]}, {"type": "null"}]}


def or_null(shape: Shape) -> Shape:
    """What may be null instead."""
    return {"anyOf": [shape, {"type": "null"}]}


def list_of(**fields: Shape) -> Shape:
    """A list of objects that have all of these fields."""
    return {"type": "array", "items": {"type": "object", "properties": fields, "required": list(fields)}}
