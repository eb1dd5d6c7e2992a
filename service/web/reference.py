"""The reference: every path of the OpenAPI document with its parameters, fields and answers, as HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from service.examples import Example
from service.web.example_queries import documented_example, example_path, example_query
from service.web.fields import Field, fields_of
from service.web.html import Html, element, fill, joined, prose
from service.web.schema_words import Schema, asked_words, bound_words, kind_words, unit_words
from service.web.snippets import snippets

_HOW_WRITTEN = ("release", "format")
Operation = Mapping[str, Any]


class Reference:
    """The sections of an OpenAPI document. example: values for the lines to copy; address: of the service."""

    def __init__(self, document: Mapping[str, Any], example: Example | None, release: int, address: str) -> None:
        self._paths: Mapping[str, Mapping[str, Operation]] = document["paths"]
        self._schemas: Mapping[str, Schema] = document["components"]["schemas"]
        self._example = example
        self._release = release
        self._address = address

    def contents(self) -> Html:
        """A link to the section of each path."""
        return joined(
            element("li", element("a", f"{_verb(method)}{path}", href=f"#{anchor(method, path)}"))
            for path, method, _ in self._operations()
        )

    def sections(self) -> Html:
        """A section for each path."""
        return joined(self._section(path, method, operation) for path, method, operation in self._operations())

    def _operations(self) -> Iterator[tuple[str, str, Operation]]:
        for path in sorted(self._paths, key=_group):
            methods = self._paths[path]
            for method, operation in methods.items():
                yield path, method, operation

    def _section(self, path: str, method: str, operation: Operation) -> Html:
        name = anchor(method, path)
        parts = [
            element("h3", element("a", f"{method.upper()} {path}", href=f"#{name}"), id=name),
            element("p", prose(operation.get("description", ""))),
            self._lines(path, operation) if method == "get" else Html(""),
            *self._parameters(name, operation),
            *self._body(name, operation),
            *self._answer(name, operation),
            self._statuses(operation),
        ]
        return element("section", joined(parts))

    def _lines(self, path: str, operation: Operation) -> Html:
        """The same question by each tool."""
        kinds = set(_media_types(operation.get("responses", {}).get("200", {})))
        asked = example_query(path, operation, self._example)
        place = example_path(path, operation, self._release, self._example)
        if place is None:
            return Html("")
        lines = snippets(self._address, place, asked, kinds)
        shown = (
            element("div", joined([element("dt", tool), element("dd", element("pre", element("code", line)))], ""))
            for tool, line in lines
        )
        return element("dl", joined(shown), class_="lines")

    def _parameters(self, name: str, operation: Operation) -> Iterator[Html]:
        given = sorted(
            operation.get("parameters", ()),
            key=lambda each: (not each.get("required"), each["name"] in _HOW_WRITTEN),
        )
        columns = _columns_of_rows(operation, self._schemas)
        filters = [each for each in given if _filters_by_column(each, given, columns)]
        if given:
            yield element("h4", "Parameters")
            yield _list(_parameter(name, each) for each in given if each not in filters)
        if filters:
            shown = _list(_parameter(name, each) for each in filters)
            yield element("details", joined([element("summary", f"Filters by column: {len(filters)}"), shown]))

    def _body(self, name: str, operation: Operation) -> Iterator[Html]:
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            yield element("h4", f"Body: {kind}")
            yield self.fields(f"{name}:body", content.get("schema", {}))

    def _answer(self, name: str, operation: Operation) -> Iterator[Html]:
        for status, response in operation.get("responses", {}).items():
            schema = response.get("content", {}).get("application/json", {}).get("schema")
            if status.startswith("2") and schema:
                yield element("h4", "Fields of the answer in JSON; columns in the other formats: those of rows")
                yield self.fields(name, schema)
            for header, shape in response.get("headers", {}).items() if status.startswith("2") else ():
                text = joined([element("code", header), ": ", prose(shape.get("description", ""))], "")
                yield element("p", joined(["Header ", text], ""), class_="quiet")

    def fields(self, name: str, schema: Schema) -> Html:
        """The fields of a schema, with anchors that begin with `name`."""
        return _list(_field(name, field) for field in fields_of(schema, self._schemas))

    def _statuses(self, operation: Operation) -> Html:
        rows = joined(
            fill(
                "status.html",
                status=status,
                description=prose(response.get("description", "")),
                kinds=joined((element("code", kind) for kind in _media_types(response)), ", "),
            )
            for status, response in operation.get("responses", {}).items()
        )
        return fill("statuses.html", rows=rows)


def anchor(method: str, path: str) -> str:
    """The fragment that leads to a path's section."""
    return _verb(method).strip().lower() + path.replace("{", "").replace("}", "")


def _group(path: str) -> int:
    """Questions come first, then what there is of one release, then everything else."""
    if path.startswith("/v1/"):
        return int("{" in path)
    return 2 if "{" in path or path.startswith("/data") else 3


def _verb(method: str) -> str:
    return "" if method == "get" else f"{method.upper()} "


def _media_types(response: Mapping[str, Any]) -> Sequence[str]:
    return list(response.get("content", {}))


def _columns_of_rows(operation: Operation, schemas: Mapping[str, Schema]) -> set[str]:
    schema = operation.get("responses", {}).get("200", {}).get("content", {}).get("application/json", {}).get("schema")
    places = (field.place for field in fields_of(schema or {}, schemas))
    return {place.removeprefix("rows[].") for place in places if place.startswith("rows[].")}


def _filters_by_column(parameter: Mapping[str, Any], given: Sequence[Mapping[str, Any]], columns: set[str]) -> bool:
    """Whether it is one of the many parameters of a list that only say which values a column may have."""
    name: str = parameter["name"]
    is_list = any(each["name"] == "cursor" for each in given)
    return is_list and (name in columns or name.removesuffix("_min").removesuffix("_max") in columns)


def _parameter(place: str, parameter: Mapping[str, Any]) -> Html:
    name, schema = parameter["name"], parameter["schema"]
    where = "" if parameter["in"] == "query" else f"in the {parameter['in']}"
    facts = (asked_words(schema), unit_words(schema), bound_words(schema), where)
    given = documented_example(parameter)
    return fill(
        "field.html",
        anchor=f"{place}?{name}",
        name=name,
        needed=element("span", "required", class_="needed") if parameter.get("required") else "",
        facts=", ".join(filter(None, facts)),
        text=prose(parameter.get("description", "")),
        example=_example(given),
    )


def _field(place: str, field: Field) -> Html:
    schema = field.schema
    given = next(iter(schema.get("examples", ())), None)
    return fill(
        "field.html",
        anchor=f"{place}:{field.place}",
        name=field.place,
        needed="",
        facts=", ".join(filter(None, (kind_words(schema), unit_words(schema), bound_words(schema)))),
        text=prose(schema.get("description", "")),
        example=_example(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)),
    )


def _example(text: str | None) -> Html:
    return joined([" Example: ", element("code", text)], "") if text not in (None, "", "[]", "null") else Html("")


def _list(entries: Iterator[Html]) -> Html:
    return element("dl", joined(entries), class_="fields")
