"""The reference: every path of the OpenAPI document with its parameters, fields and answers, as a template shows it.

The REST interface as OpenAPI has it, and its reference as HTML: long to write, so kept by release and address.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from losslake.questions.release_view import ReleaseView
from losslake_service.kept import Kept
from losslake_service.web.chart import Line, snippets
from losslake_service.web.described_fields import (
    Field,
    Schema,
    asked_words,
    bound_words,
    fields_of,
    kind_words,
    unit_words,
)
from losslake_service.web.examples import Example, documented_example, example, example_path, example_query
from losslake_service.web.templates import rendered

_HOW_WRITTEN = ("release", "format")
Operation = Mapping[str, Any]


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
class Group:
    """Entries under a heading."""

    heading: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Status:
    """A status that a path answers with, and in which formats."""

    status: str
    text: str
    media_types: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """A path. filters: the parameters that only say which values a column may have. headers: of the answer."""

    anchor: str
    name: str
    text: str
    lines: tuple[Line, ...]
    parameters: tuple[Entry, ...]
    filters: tuple[Entry, ...]
    bodies: tuple[Group, ...]
    answers: tuple[Group, ...]
    headers: tuple[Entry, ...]
    statuses: tuple[Status, ...]


@dataclass(frozen=True)
class Reference:
    """An OpenAPI document, for lines to copy that work. example: of values; address: of the service."""

    document: Mapping[str, Any]
    example: Example | None
    release: int
    address: str

    def sections(self) -> list[Section]:
        """A section for each path and method."""
        return [self._section(path, method, operation) for path, method, operation in operations(self.document)]

    def fields(self, name: str, schema: Schema) -> tuple[Entry, ...]:
        """The fields of a schema, with anchors that begin with `name`."""
        return tuple(_field(name, field) for field in fields_of(schema, self._schemas))

    @property
    def _schemas(self) -> Mapping[str, Schema]:
        schemas: Mapping[str, Schema] = self.document["components"]["schemas"]
        return schemas

    def _section(self, path: str, method: str, operation: Operation) -> Section:
        name = anchor(method, path)
        given = sorted(
            operation.get("parameters", ()),
            key=lambda each: (not each.get("required"), each["name"] in _HOW_WRITTEN),
        )
        columns = self._columns_of_rows(operation)
        filters = [each for each in given if _filters_by_column(each, given, columns)]
        return Section(
            anchor=name,
            name=f"{method.upper()} {path}",
            text=operation.get("description", ""),
            lines=tuple(self._lines(path, operation)) if method == "get" else (),
            parameters=tuple(_parameter(name, each) for each in given if each not in filters),
            filters=tuple(_parameter(name, each) for each in filters),
            bodies=tuple(
                Group(f"Body: {kind}", self.fields(f"{name}:body", content.get("schema", {})))
                for kind, content in operation.get("requestBody", {}).get("content", {}).items()
            ),
            answers=tuple(self._answers(name, operation)),
            headers=tuple(_headers(name, operation)),
            statuses=tuple(
                Status(status, response.get("description", ""), tuple(response.get("content", {})))
                for status, response in operation.get("responses", {}).items()
            ),
        )

    def _lines(self, path: str, operation: Operation) -> Iterator[Line]:
        """The same question by each tool."""
        kinds = set(operation.get("responses", {}).get("200", {}).get("content", {}))
        place = example_path(path, operation, self.release, self.example)
        if place is not None:
            asked = example_query(path, operation, self.example)
            yield from (Line(*found) for found in snippets(self.address, place, asked, kinds))

    def _answers(self, name: str, operation: Operation) -> Iterator[Group]:
        for response in _good(operation):
            schema = response.get("content", {}).get("application/json", {}).get("schema")
            if schema:
                heading = "Fields of the answer in JSON; columns in the other formats: those of rows"
                yield Group(heading, self.fields(name, schema))

    def _columns_of_rows(self, operation: Operation) -> set[str]:
        answer = operation.get("responses", {}).get("200", {}).get("content", {}).get("application/json", {})
        places = (field.place for field in fields_of(answer.get("schema") or {}, self._schemas))
        return {place.removeprefix("rows[].") for place in places if place.startswith("rows[].")}


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Operation]]:
    """Path, method and operation, questions first."""
    paths: Mapping[str, Mapping[str, Operation]] = document["paths"]
    for path in sorted(paths, key=_group):
        for method, operation in paths[path].items():
            yield path, method, operation


def anchor(method: str, path: str) -> str:
    """The fragment that leads to a path's section."""
    return ("" if method == "get" else method) + path.replace("{", "").replace("}", "")


def verb_and_path(method: str, path: str) -> str:
    """A path as the contents name it: GET goes without saying."""
    return path if method == "get" else f"{method.upper()} {path}"


def _group(path: str) -> int:
    """Questions come first, then what there is of one release, then everything else."""
    if path.startswith("/v1/"):
        return int("{" in path)
    return 2 if "{" in path or path.startswith("/data") else 3


def _good(operation: Operation) -> Iterable[Mapping[str, Any]]:
    responses: Mapping[str, Mapping[str, Any]] = operation.get("responses", {})
    return [response for status, response in responses.items() if status.startswith("2")]


def _headers(name: str, operation: Operation) -> Iterator[Entry]:
    for response in _good(operation):
        for header, shape in response.get("headers", {}).items():
            yield Entry(name, header, "", shape.get("description", ""))


def _filters_by_column(parameter: Mapping[str, Any], given: Sequence[Mapping[str, Any]], columns: set[str]) -> bool:
    """Whether it is one of the many parameters of a list that only say which values a column may have."""
    name: str = parameter["name"]
    is_list = any(each["name"] == "cursor" for each in given)
    return is_list and (name in columns or name.removesuffix("_min").removesuffix("_max") in columns)


def _parameter(place: str, parameter: Mapping[str, Any]) -> Entry:
    name, schema = parameter["name"], parameter["schema"]
    where = "" if parameter["in"] == "query" else f"in the {parameter['in']}"
    facts = (asked_words(schema), unit_words(schema), bound_words(schema), where)
    return Entry(
        anchor=f"{place}?{name}",
        name=name,
        facts=", ".join(filter(None, facts)),
        text=parameter.get("description", ""),
        example=_shown(documented_example(parameter)),
        is_needed=bool(parameter.get("required")),
    )


def _field(place: str, field: Field) -> Entry:
    schema = field.schema
    given = next(iter(schema.get("examples", ())), None)
    return Entry(
        anchor=f"{place}:{field.place}",
        name=field.place,
        facts=", ".join(filter(None, (kind_words(schema), unit_words(schema), bound_words(schema)))),
        text=schema.get("description", ""),
        example=_shown(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)),
    )


def _shown(example: str) -> str:
    return "" if example in ("[]", "null") else example


_MOST_KEPT = 4


class Interface:
    """Shared by threads. document: gives OpenAPI's, always the same."""

    def __init__(self, document: Callable[[], Mapping[str, Any]]) -> None:
        self._document = document
        self._written: Kept[Markup] = Kept(_MOST_KEPT)

    @property
    def document(self) -> Mapping[str, Any]:
        """OpenAPI's."""
        return self._document()

    def reference(self, view: ReleaseView, address: str) -> Markup:
        """A section for each path, with examples of that release; address: of the service."""
        return self._written.get((view.number, view.digest, address), lambda: self._write(view, address))

    def _write(self, view: ReleaseView, address: str) -> Markup:
        sections = Reference(self.document, example(view), view.number, address).sections()
        return Markup(rendered("reference.html", sections=sections))
