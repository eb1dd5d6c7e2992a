"""The reference: the parameters, fields and responses of every path of the OpenAPI document, for templates.

Types, bounds and units of JSON schemas are written as text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from losslake.questions.release.view import ReleaseView
from losslake.record.numbers import NUMBER_WORDS
from losslake_service.bounded_cache import BoundedCache
from losslake_service.web.code_lines import Line, snippets
from losslake_service.web.examples import Example, documented_example, example_path, example_query, find_example

Operation = Mapping[str, Any]
Schema = Mapping[str, Any]
REFERENCE_PATH = "/docs/reference"
_DEEPEST = 6
_BOUNDS = (("minimum", "at least"), ("ge", "at least"), ("maximum", "at most"), ("le", "at most"))


class Interface:
    """The OpenAPI document and its reference, cached by release and address since it is slow to make.

    Thread-safe. document: returns the OpenAPI document, always the same.
    """

    def __init__(self, document: Callable[[], Mapping[str, Any]]) -> None:
        self.document = document
        self._sections: BoundedCache[Mapping[str, Section]] = BoundedCache(4)

    def sections(self, view: ReleaseView, address: str) -> Mapping[str, Section]:
        """Return the section of each path by its anchor, with examples of the release. address: of the service."""
        return self._sections.get((view.number, view.digest, address), lambda: self._read(view, address))

    def _read(self, view: ReleaseView, address: str) -> Mapping[str, Section]:
        sections = Reference(self.document(), find_example(view), view.number, address).sections()
        return {section.anchor: section for section in sections}


@dataclass(frozen=True)
class Entry:
    """A parameter, field or problem. anchor: its URL fragment; details: type, unit and bounds as text."""

    anchor: str
    name: str
    details: str
    text: str
    example: str = ""
    is_required: bool = False


@dataclass(frozen=True)
class Section:
    """The section of a path and method.

    name: `GET /v1/scaling`. lines: example code. filters: parameters that are columns of the rows.
    fields: heading and fields of the body and of the answer. headers, statuses: as in OpenAPI.
    """

    anchor: str
    name: str
    text: str
    lines: Sequence[Line]
    parameters: Sequence[Entry]
    filters: Sequence[Entry]
    fields: Sequence[tuple[str, Sequence[Entry]]]
    headers: Sequence[tuple[str, Mapping[str, Any]]]
    statuses: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Reference:
    """The sections of an OpenAPI document. example: values for requests to copy; address: of the service."""

    document: Mapping[str, Any]
    example: Example | None
    release: int
    address: str

    def sections(self) -> Iterator[Section]:
        """Yield a section for each path and method."""
        for path, method, operation in operations(self.document):
            yield self._section(path, method, operation)

    def fields(self, name: str, schema: Schema) -> list[Entry]:
        """Return the fields of a schema. name: the start of their anchors."""
        return [_field(name, place, shape) for place, shape in self._fields(schema)]

    def _section(self, path: str, method: str, operation: Operation) -> Section:
        name = anchor(method, path)
        parameters = sorted(
            operation.get("parameters", ()),
            key=lambda each: (not each.get("required"), each["name"] in ("release", "format")),
        )
        responses: Mapping[str, Mapping[str, Any]] = operation.get("responses", {})
        good = [response for status, response in responses.items() if status.startswith("2")]
        bodies = [
            (f"Body: {kind}", self.fields(f"{name}:body", content.get("schema", {})))
            for kind, content in operation.get("requestBody", {}).get("content", {}).items()
        ]
        heading = "Fields of the answer in JSON; columns in the other formats: those of rows"
        answers = [(heading, self.fields(name, schema)) for schema in map(_json_schema, good) if schema]
        # Many parameters of a list are filters of a column.
        columns = self._columns_of_rows(operation) if any(each["name"] == "cursor" for each in parameters) else set()
        filters = [
            each
            for each in parameters
            if columns & {each["name"], each["name"].removesuffix("_min").removesuffix("_max")}
        ]
        return Section(
            anchor=name,
            name=f"{method.upper()} {path}",
            text=operation.get("description", ""),
            lines=list(self._lines(path, operation)) if method == "get" else (),
            parameters=[_parameter(name, each) for each in parameters if each not in filters],
            filters=[_parameter(name, each) for each in filters],
            fields=[*bodies, *answers],
            headers=[item for response in good for item in response.get("headers", {}).items()],
            statuses=responses,
        )

    def _lines(self, path: str, operation: Operation) -> Iterator[Line]:
        """Yield the code of an example request for each tool."""
        kinds = set(operation.get("responses", {}).get("200", {}).get("content", {}))
        place = example_path(path, operation, self.release, self.example)
        if place is not None:
            yield from snippets(self.address, place, example_query(path, operation, self.example), kinds)

    def _columns_of_rows(self, operation: Operation) -> set[str]:
        schema = _json_schema(operation.get("responses", {}).get("200", {}))
        return {place.removeprefix("rows[].") for place, _ in self._fields(schema) if place.startswith("rows[].")}

    def _fields(self, schema: Schema, place: str = "", depth: int = 0) -> Iterator[tuple[str, Schema]]:
        """Yield the path of every field, such as `rows[].steps`, and its schema; outer fields before inner ones."""
        schema = self._resolved(schema)
        if depth > _DEEPEST:
            return
        inner: list[tuple[Schema, str]] = []
        for name, shape in schema.get("properties", {}).items():
            inside = f"{place}.{name}" if place else name
            yield inside, {**self._resolved(shape), **shape}
            inner.append((shape, inside))
        if "items" in schema:
            inner.append((schema["items"], f"{place}[]"))
        inner += [(part, place) for part in schema.get("anyOf", ())]
        for shape, inside in inner:
            yield from self._fields(shape, inside, depth + 1)

    def _resolved(self, schema: Schema) -> Schema:
        if "$ref" not in schema:
            return schema
        schemas: Mapping[str, Schema] = self.document["components"]["schemas"]
        return schemas.get(_name(schema["$ref"]), {})


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Operation]]:
    """Yield path, method and operation, questions first."""
    paths: Mapping[str, Mapping[str, Operation]] = document["paths"]
    for path in sorted(paths, key=_group):
        for method, operation in paths[path].items():
            yield path, method, operation


def anchor(method: str, path: str) -> str:
    """Return the URL fragment of a path, the start of those of its fields and parameters."""
    return ("" if method == "get" else method) + path.replace("{", "").replace("}", "")


def verb_and_path(method: str, path: str) -> str:
    """Return a path for the table of contents, with its method unless that is GET."""
    return path if method == "get" else f"{method.upper()} {path}"


def _group(path: str) -> int:
    """Return the sort key of a path: questions, then paths of one release, then everything else."""
    if path.startswith("/v1/"):
        return int("{" in path)
    return 2 if "{" in path or path.startswith("/data") else 3


def _json_schema(response: Mapping[str, Any]) -> Schema:
    """Return the schema of a JSON response; empty if there is none."""
    return response.get("content", {}).get("application/json", {}).get("schema") or {}


def _parameter(place: str, parameter: Mapping[str, Any]) -> Entry:
    name, schema = parameter["name"], parameter["schema"]
    where = "" if parameter["in"] == "query" else f"in the {parameter['in']}"
    return Entry(
        anchor=f"{place}?{name}",
        name=name,
        details=_details(_parameter_words(schema), schema, where),
        text=parameter.get("description", ""),
        example=_shown(documented_example(parameter)),
        is_required=bool(parameter.get("required")),
    )


def _field(name: str, place: str, schema: Schema) -> Entry:
    example = next(iter(schema.get("examples", ())), None)
    return Entry(
        anchor=f"{name}:{place}",
        name=place,
        details=_details(_kind_words(schema), schema),
        text=schema.get("description", ""),
        example=_shown(example if isinstance(example, str) else json.dumps(example, ensure_ascii=False)),
    )


def _shown(example: str) -> str:
    return "" if example in ("[]", "null") else example


def _kind_words(schema: Schema) -> str:
    """Return the type of a schema as text: `integer`, `text: a or b`, `list of: number`, `number or null`."""
    if "$ref" in schema:
        return _name(schema["$ref"])
    if "enum" in schema:
        return "text: " + " or ".join(map(str, schema["enum"]))
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(_with_nan_words(schema[several]))
    kind = schema.get("type")
    if kind == "array":
        return f"list of: {_kind_words(schema.get('items', {}))}"
    if kind == "string":
        return {"date-time": "moment, ISO 8601", "binary": "bytes"}.get(schema.get("format", ""), "text")
    return {"object": "object", "null": "null", None: "any JSON"}.get(kind, str(kind))


def _parameter_words(schema: Schema) -> str:
    """Return the type of a parameter as text, one value or several; null means to omit it."""
    alternatives = [part for part in schema.get("anyOf", ()) if part.get("type") != "null"]
    if len(alternatives) == 1:
        return _parameter_words(alternatives[0])
    if schema.get("type") == "array":
        return f"{_kind_words(schema.get('items', {}))}, repeatable"
    return _kind_words(schema)


def _details(kind: str, schema: Schema, where: str = "") -> str:
    """Return type, unit, bounds and default as text."""
    unit = str(schema.get("x-unit", "none"))
    words = [kind, "" if unit == "none" else unit.removeprefix("none: ")]
    for part in (schema, *schema.get("anyOf", ())):
        for key, text in _BOUNDS:
            if key in part and part[key] != 2**63 - 1:
                words.append(f"{text} {part[key]:,}")
    if "maxItems" in schema:
        words.append(f"at most {schema['maxItems']:,} times")
    default = schema.get("default")
    if default not in (None, "", 2**63 - 1):
        words.append(f"default {default}")
    return ", ".join(filter(None, [*words, where]))


def _with_nan_words(schemas: list[Schema]) -> list[str]:
    """Return the alternatives as text, with NaN and infinities as a part of `number`."""
    kinds = [schema for schema in schemas if set(schema.get("enum", ())) != NUMBER_WORDS.keys()]
    return [
        "number, or NaN, Infinity, -Infinity as text"
        if schema.get("type") == "number" and len(kinds) < len(schemas)
        else _kind_words(schema)
        for schema in kinds
    ]


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]


def page_name(place: str) -> str:
    """Return the name of the page of a path in its address, by the path's anchor."""
    return place.strip("/") or "root"


def page_address(place: str) -> str:
    """Return the address of the page of a path, by the path's anchor."""
    return f"{REFERENCE_PATH}/{quote(page_name(place))}"


def first_sentence(text: str) -> str:
    """Return the first sentence of a description."""
    return text.partition("\n\n")[0].replace("\n", " ").partition(". ")[0].rstrip(".")
