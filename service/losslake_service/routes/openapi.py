"""The OpenAPI document: responses, headers and filters that FastAPI can't derive from endpoints and models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.routing import BaseRoute

from losslake.output.columns import Column
from losslake.output.formats import FORMATS
from losslake.questions.declaration.listing import Listing
from losslake.questions.lists.filters import METAPARAMETER, Filter, filters_of, has_metaparameters
from losslake_service.problems import problem_responses
from losslake_service.routes.reading import ReadRoute

Document = dict[str, Any]
ROWS_ONLY = "Formats other than JSON contain only the rows."
_REFERENCE = "#/components/schemas/{}"
_VALUES: Mapping[str, Document] = {
    "integer": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
    "integers": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "timestamp": {"type": "string", "format": "date-time"},
}
_METAPARAMETERS: Document = {
    "name": "parameter",
    "in": "query",
    "description": f"Only rows with these metaparameters: {METAPARAMETER}NAME=value (may be "
    f"repeated), {METAPARAMETER}NAME_min=value and {METAPARAMETER}NAME_max=value, for any NAME in a trial's "
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


def describe(app: FastAPI, schemas: Callable[[], Mapping[str, Document]]) -> Document:
    """Return FastAPI's OpenAPI document with additional schemas; build it once, when it is first asked for.

    FastAPI has no schemas of problem documents, whose media type isn't JSON's, nor of answers, which pydantic doesn't
    write.
    """
    if app.openapi_schema is None:
        routes = [_documented(route) for route in app.routes]
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=routes)
        components = document["components"]["schemas"]
        components |= schemas()
        for field in (field for schema in components.values() for field in schema.get("properties", {}).values()):
            _complete(field)
        for path, operations in document["paths"].items():
            for operation in operations.values():
                _complete_parameters(operation, is_figure=path.endswith(".{ending}"))
        app.openapi_schema = document
    return app.openapi_schema


def _documented(route: BaseRoute) -> BaseRoute:
    """Return the route as FastAPI documents it."""
    return route.documented() if isinstance(route, ReadRoute) and route.include_in_schema else route


def _complete_parameters(operation: Document, is_figure: bool) -> None:
    """Remove the type null, which a URL can't express, and the parameter `format` of figures."""
    parameters = operation.get("parameters", [])
    if is_figure:
        operation["parameters"] = parameters = [each for each in parameters if each["name"] != "format"]
    for parameter in parameters:
        for kind in parameter["schema"].pop("anyOf", []):
            if kind != {"type": "null"}:
                parameter["schema"] |= kind
        _complete(parameter["schema"])


def _complete(field: Document) -> None:
    """Add the unit; remove the title, which only repeats the name."""
    field.setdefault("x-unit", "none")
    field.pop("title", None)


def model_schemas(*models: type[BaseModel]) -> dict[str, Document]:
    """Return schemas by name, of models that no endpoint declares."""
    _, defs = models_json_schema([(each, "validation") for each in models], ref_template=_REFERENCE.format("{model}"))
    schemas: dict[str, Document] = defs["$defs"]
    return schemas


def describe_responses(
    description: str,
    content: Document,
    headers: Document | None = None,
    *,
    cached: str = "answer",
    partial: str | None = "The requested range of the answer, in any format.",
    problems: Iterable[int] = (404, 412, 416, 422, 500, 503),
) -> dict[int | str, Any]:
    """Return the OpenAPI responses of a path. cached: what the client of a 304 has."""
    return {
        200: {"description": description, "content": content} | ({"headers": headers} if headers else {}),
        **({206: {"description": partial}} if partial else {}),
        304: {"description": f"Not modified: the client has this {cached}, as If-None-Match contains its ETag."},
        **problem_responses(*problems),
    }


def content_in_all_formats(name: str, is_binary: bool = True) -> Document:
    """Return the content of an answer by media type: the named schema for JSON, the rows for other formats."""
    content: Document = {}
    for output in FORMATS.values():
        text = {"type": "string"} | ({"format": "binary"} if is_binary and output.name != "csv" else {})
        schema = {"$ref": _REFERENCE.format(name)} if output.name == "json" else text
        content[output.media_type.partition(";")[0]] = {"schema": schema}
    return content


def release_headers(is_tagged: bool = True, is_paged: bool = False) -> Document:
    """Return the headers of an answer. is_tagged: it has an ETag. is_paged: it is a list."""
    headers = {"LossLake-Release": _header("The release of the answer.", "integer", 1)}
    if is_tagged:
        headers["ETag"] = _header("A strong entity tag: equal tags mean equal bytes.", "string", '"0d5a1c7e5b5e0f6d"')
    if is_paged:
        headers["LossLake-Total"] = _header("Number of rows that match the filters, on all pages.", "integer", 64)
        headers["Link"] = _header("The next page, rel=next; absent on the last.", "string", '<?cursor=…>; rel="next"')
    return headers


def _header(description: str, kind: str, example: object) -> Document:
    return {"description": description, "schema": {"type": kind, "examples": [example]}}


def filter_parameters(listing: Listing) -> Iterator[Document]:
    """Yield the filter parameters of a list."""
    yield from map(_filter_parameter, filters_of(listing).values())
    if has_metaparameters(listing):
        yield _METAPARAMETERS


def _filter_parameter(filter: Filter) -> Document:  # noqa: A002
    column: Column = filter.column
    value = _VALUES.get(column.kind, {"type": "string"})
    example = column.example[0] if isinstance(column.example, list) else column.example
    facts = {"x-unit": column.json_schema()["x-unit"], "examples": [example if filter.bound else [example]]}
    if filter.bound:
        doc = f"Only rows whose {column.name} is {'at least' if filter.bound == '_min' else 'at most'} this."
        schema = value | facts
    else:
        relation = "contains" if column.kind in ("strings", "integers") else "is"
        doc = f"Only rows whose {column.name} {relation} this value, or any of them if repeated. {column.doc}"
        schema = {"type": "array", "items": value} | facts
    return {"name": filter.name, "in": "query", "description": doc, "required": False, "schema": schema}
