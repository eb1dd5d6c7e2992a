"""The reference: every path of the OpenAPI document with its parameters, fields and answers, as a template shows it.

Types, bounds and units of JSON schemas in words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from losslake.questions.release_view import ReleaseView
from losslake_service.kept import Kept
from losslake_service.web.examples import Example, documented_example, example, example_path, example_query
from losslake_service.web.lines import Line, snippets
from losslake_service.web.templates import rendered

Operation = Mapping[str, Any]
Schema = Mapping[str, Any]
_HOW_WRITTEN = ("release", "format")
_MOST_KEPT = 4
_DEEPEST = 6
_NOT_A_NUMBER = {"NaN", "Infinity", "-Infinity"}
_BOUNDS = (("minimum", "at least"), ("ge", "at least"), ("maximum", "at most"), ("le", "at most"))


class Interface:
    """The REST interface as OpenAPI has it, and its reference as HTML: long to write, so kept by release and address.

    Shared by threads. document: gives OpenAPI's, always the same.
    """

    def __init__(self, document: Callable[[], Mapping[str, Any]]) -> None:
        self._document = document
        self._written: Kept[Markup] = Kept(_MOST_KEPT)

    @property
    def document(self) -> Mapping[str, Any]:
        """OpenAPI's."""
        return self._document()

    def reference(self, view: ReleaseView, address: str) -> Markup:
        """Return a section for each path, with examples of that release; address: of the service."""
        return self._written.get((view.number, view.digest, address), lambda: self._write(view, address))

    def _write(self, view: ReleaseView, address: str) -> Markup:
        sections = Reference(self.document, example(view), view.number, address).sections()
        return Markup(rendered("reference.html", sections=sections))


@dataclass(frozen=True)
class Entry:
    """A parameter, field or problem. anchor: the fragment that leads to it; facts: type, unit and bounds in words."""

    anchor: str
    name: str
    facts: str
    text: str
    example: str = ""
    is_needed: bool = False


@dataclass(frozen=True)
class Reference:
    """An OpenAPI document, for lines to copy that work. example: of values; address: of the service."""

    document: Mapping[str, Any]
    example: Example | None
    release: int
    address: str

    def sections(self) -> Iterator[dict[str, object]]:
        """Yield a section for each path and method."""
        for path, method, operation in operations(self.document):
            yield self._section(path, method, operation)

    def fields(self, name: str, schema: Schema) -> list[Entry]:
        """Return the fields of a schema, with anchors that begin with `name`."""
        return [_field(name, place, shape) for place, shape in self._fields(schema)]

    def _section(self, path: str, method: str, operation: Operation) -> dict[str, object]:
        name = anchor(method, path)
        given = sorted(
            operation.get("parameters", ()),
            key=lambda each: (not each.get("required"), each["name"] in _HOW_WRITTEN),
        )
        responses: Mapping[str, Mapping[str, Any]] = operation.get("responses", {})
        good = [response for status, response in responses.items() if status.startswith("2")]
        bodies = [
            (f"Body: {kind}", self.fields(f"{name}:body", content.get("schema", {})))
            for kind, content in operation.get("requestBody", {}).get("content", {}).items()
        ]
        heading = "Fields of the answer in JSON; columns in the other formats: those of rows"
        answers = [(heading, self.fields(name, schema)) for schema in map(_json_schema, good) if schema]
        # Many parameters of a list only say which values a column may have.
        columns = self._columns_of_rows(operation) if any(each["name"] == "cursor" for each in given) else set()
        filters = [
            each for each in given if columns & {each["name"], each["name"].removesuffix("_min").removesuffix("_max")}
        ]
        return {
            "anchor": name,
            "name": f"{method.upper()} {path}",
            "text": operation.get("description", ""),
            "lines": list(self._lines(path, operation)) if method == "get" else (),
            "parameters": [_parameter(name, each) for each in given if each not in filters],
            "filters": [_parameter(name, each) for each in filters],
            "fields": [*bodies, *answers],
            "headers": [item for response in good for item in response.get("headers", {}).items()],
            "statuses": responses,
        }

    def _lines(self, path: str, operation: Operation) -> Iterator[Line]:
        """Yield the same question by each tool."""
        kinds = set(operation.get("responses", {}).get("200", {}).get("content", {}))
        place = example_path(path, operation, self.release, self.example)
        if place is not None:
            yield from snippets(self.address, place, example_query(path, operation, self.example), kinds)

    def _columns_of_rows(self, operation: Operation) -> set[str]:
        schema = _json_schema(operation.get("responses", {}).get("200", {}))
        return {place.removeprefix("rows[].") for place, _ in self._fields(schema) if place.startswith("rows[].")}

    def _fields(self, schema: Schema, place: str = "", depth: int = 0) -> Iterator[tuple[str, Schema]]:
        """Yield every field of a schema and how to get to it, `rows[].steps`: outer ones before inner ones."""
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
    """Return the fragment that leads to a path's section."""
    return ("" if method == "get" else method) + path.replace("{", "").replace("}", "")


def verb_and_path(method: str, path: str) -> str:
    """Return a path as the contents name it: GET goes without saying."""
    return path if method == "get" else f"{method.upper()} {path}"


def _group(path: str) -> int:
    """Questions come first, then what there is of one release, then everything else."""
    if path.startswith("/v1/"):
        return int("{" in path)
    return 2 if "{" in path or path.startswith("/data") else 3


def _json_schema(response: Mapping[str, Any]) -> Schema:
    """Return the schema of a response in JSON; empty where it has none."""
    return response.get("content", {}).get("application/json", {}).get("schema") or {}


def _parameter(place: str, parameter: Mapping[str, Any]) -> Entry:
    name, schema = parameter["name"], parameter["schema"]
    where = "" if parameter["in"] == "query" else f"in the {parameter['in']}"
    return Entry(
        anchor=f"{place}?{name}",
        name=name,
        facts=_facts(_parameter_words(schema), schema, where),
        text=parameter.get("description", ""),
        example=_shown(documented_example(parameter)),
        is_needed=bool(parameter.get("required")),
    )


def _field(name: str, place: str, schema: Schema) -> Entry:
    given = next(iter(schema.get("examples", ())), None)
    return Entry(
        anchor=f"{name}:{place}",
        name=place,
        facts=_facts(_kind_words(schema), schema),
        text=schema.get("description", ""),
        example=_shown(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)),
    )


def _shown(example: str) -> str:
    return "" if example in ("[]", "null") else example


def _kind_words(schema: Schema) -> str:
    """Return what its values are: `integer`, `string: a or b`, `list of numbers`, `number or null`."""
    if "$ref" in schema:
        return _name(schema["$ref"])
    if "enum" in schema:
        return "text: " + " or ".join(map(str, schema["enum"]))
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(_without_odd_numbers(schema[several]))
    kind = schema.get("type")
    if kind == "array":
        return f"list of: {_kind_words(schema.get('items', {}))}"
    if kind == "string":
        return {"date-time": "moment, ISO 8601", "binary": "bytes"}.get(schema.get("format", ""), "text")
    return {"object": "object", "null": "null", None: "any JSON"}.get(kind, str(kind))


def _parameter_words(schema: Schema) -> str:
    """Return what a parameter takes: one value or several; null is to leave it out."""
    alternatives = [part for part in schema.get("anyOf", ()) if part.get("type") != "null"]
    if len(alternatives) == 1:
        return _parameter_words(alternatives[0])
    if schema.get("type") == "array":
        return f"{_kind_words(schema.get('items', {}))}, repeatable"
    return _kind_words(schema)


def _facts(kind: str, schema: Schema, where: str = "") -> str:
    """Return type, unit, bounds and default in words."""
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


def _without_odd_numbers(schemas: list[Schema]) -> list[str]:
    """Return the alternatives; the words for NaN and infinities belong to `number`."""
    return [
        "number, or NaN, Infinity, -Infinity as text"
        if schema.get("type") == "number" and any(set(other.get("enum", ())) == _NOT_A_NUMBER for other in schemas)
        else _kind_words(schema)
        for schema in schemas
        if set(schema.get("enum", ())) != _NOT_A_NUMBER
    ]


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]
