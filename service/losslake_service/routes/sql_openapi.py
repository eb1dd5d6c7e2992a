"""What OpenAPI says of SQL."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from losslake.output.formats import FORMATS
from losslake_service.problems import problem_responses
from losslake_service.routes.sql_paths import PATH, SqlFormatParameters, SqlParameters, SqlStatement

_DOC = """One statement, SELECT, DESCRIBE, SUMMARIZE, EXPLAIN or SHOW, on the views and macros of a release:
collections, workloads, studies, trials, measurements, records, metrics, goals, steps_to_target, steps_to_result, and
for any target steps_to(metric, target) by trial and result_at(metric, target) by study. It runs within limits of time,
memory and size: a problem document says which one it met, and a result that was cut says so."""


def describe_sql(document: dict[str, Any]) -> None:
    """Complete the document's operations on /v1/sql, if they are there."""
    operations = document["paths"].get(PATH, {})
    schemas = document["components"]["schemas"]
    for method, operation in operations.items():
        parameters = SqlParameters if method == "get" else SqlFormatParameters
        operation |= {
            "operationId": f"{method}Sql",
            "summary": "sql",
            "description": _DOC,
            "parameters": _parameters(parameters),
            "responses": _responses(),
        }
        if method == "post":
            operation["requestBody"] = {
                "required": True,
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/SqlStatement"}}},
            }
    if operations:
        schemas["SqlStatement"] = _with_units(SqlStatement.model_json_schema())
        schemas["SqlRows"] = _ROWS


def _parameters(model: type[BaseModel]) -> list[dict[str, Any]]:
    schema = _with_units(model.model_json_schema())
    required = schema.get("required", ())
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": shape["description"],
            "schema": shape,
        }
        for name, shape in schema["properties"].items()
    ]


def _with_units(schema: dict[str, Any]) -> dict[str, Any]:
    for shape in schema["properties"].values():
        shape.setdefault("x-unit", "none")
        shape.pop("title", None)
    return schema


def _responses() -> dict[int | str, Any]:
    content = {
        output.media_type.partition(";")[0]: {
            "schema": {"$ref": "#/components/schemas/SqlRows"} if output.name == "json" else {"type": "string"}
        }
        for output in FORMATS.values()
    }
    return {
        "200": {"description": "The result; in the other formats than JSON: its rows.", "content": content},
        "304": {"description": "The requester has this result already: its ETag was in If-None-Match."},
        **problem_responses(404, 413, 422, 429, 431, 500, 503),
    }


_ROWS = {
    "type": "object",
    "description": "The result of a statement.",
    "required": ["release", "truncated", "columns", "rows"],
    "properties": {
        "release": {
            "type": "integer",
            "description": "The release that answered.",
            "examples": [1],
            "x-unit": "none",
        },
        "truncated": {
            "enum": [False, "rows", "bytes"],
            "description": "The limit that cut the result, the service's or `limit`; false for a whole one.",
            "examples": [False],
            "x-unit": "none",
        },
        "columns": {
            "type": "array",
            "description": "The columns of the result, in its order, also where it has no rows.",
            "examples": [[{"name": "batch_size", "type": "int64"}]],
            "x-unit": "none",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "Its name.", "examples": ["steps"], "x-unit": "none"},
                    "type": {
                        "type": "string",
                        "description": "The type of its values, by the name that Arrow has for it.",
                        "examples": ["int64"],
                        "x-unit": "none",
                    },
                },
            },
        },
        "rows": {
            "type": "array",
            "items": {"type": "object"},
            "description": "The rows, with a field for each column of the statement.",
            "examples": [[{"batch_size": 64, "steps": 400}]],
            "x-unit": "none",
        },
    },
}
