"""Pieces of the OpenAPI document."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]


def header(description: str, kind: str, example: object) -> Document:
    """A header of an answer."""
    return {"description": description, "schema": {"type": kind, "examples": [example]}}


def lift(parameter: Document) -> None:
    """Unit where tools look for it; and no null, which is what leaving a parameter out comes to and no URL can say."""
    schema = parameter["schema"]
    kinds = schema.pop("anyOf", [])
    for kind in kinds:
        if kind != {"type": "null"}:
            schema |= kind
    schema.setdefault("x-unit", "none")
    schema.pop("title", None)
