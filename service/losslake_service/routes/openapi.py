"""The OpenAPI document: FastAPI's, with the columns, filters and formats of every question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from losslake.output.formats import FORMATS
from losslake.questions.lists.filters import METAPARAMETER, Filter, filters_of, has_metaparameters
from losslake.questions.lists.listing import Listing
from losslake.questions.question import Question
from losslake_service.problems import problem_responses, problem_schemas
from losslake_service.routes.figures.described import describe_figures
from losslake_service.routes.openapi_parts import Document, header, lift
from losslake_service.routes.sql_openapi import describe_sql


def describe(app: FastAPI, questions: Sequence[Question]) -> Document:
    """The document, made once."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schemas: Document = document.setdefault("components", {}).setdefault("schemas", {})
        schemas |= problem_schemas()
        for operations in document["paths"].values():
            for operation in operations.values():
                statuses = [int(status) for status in operation["responses"] if status.isdigit() and int(status) >= 400]
                operation["responses"] |= problem_responses(*statuses, 429, 431)
        for question in questions:
            _describe_question(document, question)
        describe_figures(document)
        describe_sql(document)
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        app.openapi_schema = document
    return app.openapi_schema


def _describe_question(document: Document, question: Question) -> None:
    operations = document["paths"][question.path]
    operations.pop("head", None)
    operation = operations["get"]
    name = _name(question)
    operation["operationId"] = f"get{name}"
    operation["summary"] = _subject(question)
    parameters = operation.setdefault("parameters", [])
    for parameter in parameters:
        lift(parameter)
    if question.listing is not None:
        _describe_names(parameters, question.listing)
        # A parameter of the path goes before the column of its name: workloads have a column `workload`.
        taken = {parameter["name"] for parameter in parameters}
        parameters += [each for each in _filters(question.listing) if each["name"] not in taken]
    schemas = document["components"]["schemas"]
    schemas[f"{name}Row"] = _row(question)
    schemas[name] = _answer(question, name)
    operation["responses"] = {
        "200": {
            "description": f"{question.doc} In the other formats than JSON: its rows.",
            "headers": _headers(question),
            "content": {
                output.media_type.partition(";")[0]: {
                    "schema": {"$ref": f"#/components/schemas/{name}"}
                    if output.name == "json"
                    else {"type": "string"} | ({} if output.name == "csv" else {"format": "binary"})
                }
                for output in FORMATS.values()
            }
            | {media_type: {"schema": {"type": "string"}} for media_type in question.more_media_types},
        },
        "206": {"description": "The range that was asked for, of the answer in any format."},
        "304": {"description": "The requester has this answer already: its ETag was in If-None-Match."},
        **problem_responses(404, 412, 416, 422, 429, 431, 500, 503),
    }


def _describe_names(parameters: Sequence[Document], listing: Listing) -> None:
    """Say which names `sort` and `fields` take."""
    ordered = [column.name for column in listing.shape.columns if column.is_ordered]
    for name, minus, known in (("sort", "-?", ordered), ("fields", "", list(listing.columns))):
        schema = next(parameter["schema"] for parameter in parameters if parameter["name"] == name)
        one = f"{minus}({'|'.join(known)})"
        schema["pattern"] = f"^({one}(,{one})*)?$"
        schema["examples"] = [f"-{known[0]}" if minus else ",".join(known[:2])]


def _name(question: Question) -> str:
    return "".join(word.capitalize() for word in re.findall("[a-z]+", _subject(question)))


def _subject(question: Question) -> str:
    """What the path asks for, without what it is of."""
    return question.path.removeprefix("/v1/").rpartition("}/")[2]


def _row(question: Question) -> Document:
    return {
        "type": "object",
        "description": f"A row of {question.path}.",
        "properties": {column.name: column.json_schema() for column in question.rows.columns},
    } | ({} if question.listing else {"required": [column.name for column in question.rows.columns]})


def _answer(question: Question, name: str) -> Document:
    rows = {"type": "array", "items": {"$ref": f"#/components/schemas/{name}Row"}, "description": "The rows."}
    facts: Mapping[str, Any] = {fact.name: dict(fact.shape) for fact in question.facts}
    return {
        "type": "object",
        "description": question.doc,
        "properties": {**facts, question.rows_name: rows | {"x-unit": "none", "examples": [[]]}},
        "required": [*facts, question.rows_name],
    }


def _headers(question: Question) -> Document:
    found = {"LossLake-Release": header("The release that answered.", "integer", 1)}
    if question.is_of_release:
        found["ETag"] = header("Strong: the same tag is the same bytes.", "string", '"0d5a1c7e5b5e0f6d"')
    if question.listing is not None:
        found["LossLake-Total"] = header("Rows that pass the filters, on all pages.", "integer", 64)
        found["Link"] = header("The next page, rel=next; absent on the last.", "string", '<?cursor=…>; rel="next"')
    return found


def _filters(listing: Listing) -> list[Document]:
    found = [_filter(each) for each in filters_of(listing).values()]
    if has_metaparameters(listing):
        found.append(
            {
                "name": "parameter",
                "in": "query",
                "description": f"Only rows with these metaparameters: {METAPARAMETER}NAME=value, which may be "
                f"repeated, {METAPARAMETER}NAME_min=value and {METAPARAMETER}NAME_max=value, for any NAME in a trial's "
                "parameters or attributes. Bounds are inclusive.",
                "required": False,
                "style": "form",
                "explode": True,
                "schema": {
                    "type": "object",
                    "propertyNames": {"pattern": f"^{METAPARAMETER.replace('.', '[.]')}.+$"},
                    "additionalProperties": {"type": "string"},
                    "examples": [{"parameter.learning_rate_min": "0.01"}],
                    "x-unit": "each its own",
                },
            }
        )
    return found


def _filter(filter: Filter) -> Document:  # noqa: A002
    column = filter.column
    shape = column.json_schema()
    value: Document = {"type": "string"}
    if column.kind in ("integer", "integers"):
        value = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}
    elif column.kind == "number":
        value = {"type": "number"}
    elif column.kind == "boolean":
        value = {"type": "boolean"}
    elif column.kind == "timestamp":
        value = {"type": "string", "format": "date-time"}
    example = column.example[0] if isinstance(column.example, list) else column.example
    facts = {"x-unit": shape["x-unit"], "examples": [example if filter.bound else [example]]}
    if filter.bound:
        doc = f"Only rows whose {column.name} is {'at least' if filter.bound == '_min' else 'at most'} this."
        schema = value | facts
    else:
        holds = "has this among its" if column.kind in ("strings", "integers") else "has this"
        doc = f"Only rows that {holds} {column.name}; may be repeated, then any of them will do. {column.doc}"
        schema = {"type": "array", "items": value} | facts
    return {"name": filter.name, "in": "query", "description": doc, "required": False, "schema": schema}
