"""The questions that REST answers, as a table: path, parameters, what answers, and what the answer looks like."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from losslake.output.answer import Answer, RowShape
from losslake.output.formats import OutputFormat
from losslake.questions.lists.listing import Listing
from losslake.questions.parameters import FormatParameters
from losslake.questions.release_view import ReleaseView
from losslake.questions.releases import Releases

Filters = Mapping[str, list[str]]


@dataclass(frozen=True)
class Asked:
    """One request for an answer. filters: texts by parameter, for lists."""

    releases: Releases
    opened: ReleaseView | None
    parameters: Any
    filters: Filters
    output: OutputFormat

    @property
    def view(self) -> ReleaseView:
        """The release asked; only for questions that are of a release."""
        assert self.opened is not None
        return self.opened


@dataclass(frozen=True)
class Fact:
    """A field of a JSON answer beside its rows. shape: its JSON schema, with description and example."""

    name: str
    shape: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Question:
    """A path and what answers it.

    facts: what JSON has beside the rows, whose field is rows_name. listing: whose columns filter, if it is a list.
    is_quick: answered from memory in well under a millisecond, so not worth a thread.
    more_media_types: what it is also given in, apart from the formats of every answer.
    is_of_release: the answer depends on nothing but the release and the URL.
    """

    path: str
    doc: str
    parameters: type[FormatParameters]
    answer: Callable[[Asked], Answer]
    rows: RowShape
    facts: tuple[Fact, ...]
    listing: Listing | None = None
    is_quick: Callable[[Any], bool] = field(default=lambda _: False)
    is_of_release: bool = True
    more_media_types: tuple[str, ...] = ()
    rows_name: str = "rows"

    @property
    def subject(self) -> str:
        """What the path asks for, without what it is of."""
        return self.path.removeprefix("/v1/").rpartition("}/")[2]

    @property
    def schema_name(self) -> str:
        """The name of its JSON schema: that of its rows has Row behind."""
        return "".join(word.capitalize() for word in re.findall("[a-z]+", self.subject))

    def row_schema(self) -> dict[str, Any]:
        """The JSON schema of a row; `fields` may leave out columns of a list."""
        properties = {column.name: column.json_schema() for column in self.rows.columns}
        required = {} if self.listing else {"required": list(properties)}
        return {"type": "object", "description": f"A row of {self.path}.", "properties": properties, **required}

    def summary_schema(self) -> dict[str, Any]:
        """The JSON schema of an answer: the fields of the summary, and the rows."""
        rows = {"type": "array", "items": {"$ref": f"#/components/schemas/{self.schema_name}Row"}}
        properties = {
            **{fact.name: dict(fact.shape) for fact in self.facts},
            self.rows_name: {**rows, "description": "The rows.", "x-unit": "none", "examples": [[]]},
        }
        return {"type": "object", "description": self.doc, "properties": properties, "required": list(properties)}
