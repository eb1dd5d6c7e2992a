"""A question: its path and parameters, what answers it, and what rows and summary its answers have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from losslake.output.answer import Answer
from losslake.output.columns import RowShape, row_shape
from losslake.output.rows import Row
from losslake.questions.parameters import FormatParameters, GoalParameters, MetricParameters
from losslake.questions.release_view import ReleaseView
from losslake.questions.search import selection_facts
from losslake.questions.summary import Summary, summary_fields

if TYPE_CHECKING:
    from losslake.questions.lists.listing import Listing


@dataclass(frozen=True, eq=False)
class Question:
    """A path and what answers it; each question is declared in a module of its own.

    answer: takes a release and the parameters; of a list, a ListRequest instead of these, and of what is not of a
    release, the lake. summary: the fields of JSON beside the rows, whose field is rows_name.
    listing: whose columns filter, if it is a list. is_of_release: the answer depends on the release and the URL alone.
    is_quick: answered from memory in well under a millisecond, so not worth a thread.
    """

    path: str
    doc: str
    parameters: type[FormatParameters]
    row: type[Row]
    summary: type[Summary]
    answer: Callable[[Any, Any], Answer]
    listing: Listing | None = None
    is_quick: Callable[[Any], bool] = field(default=lambda _: False)
    is_of_release: bool = True
    rows_name: str = "rows"

    @property
    def rows(self) -> RowShape:
        """Its columns."""
        return row_shape(self.row)

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
            **summary_fields(self.summary),
            self.rows_name: {**rows, "description": "The rows.", "x-unit": "none", "examples": [[]]},
        }
        return {"type": "object", "description": self.doc, "properties": properties, "required": list(properties)}

    def analysis(
        self,
        view: ReleaseView,
        parameters: MetricParameters,
        direction: str,
        batches: Iterable[pa.RecordBatch],
        own: Mapping[str, Any],
        *,
        definition: str,
        n_used: int,
        left_out: Iterable[str] = (),
        warnings: Iterable[str] = (),
    ) -> Answer:
        """The answer of an analysis, whose summary ends with its finding.

        own: the other fields of the summary but those of selection and goal. definition: of what was computed, with its
        source. n_used: how many values it is computed from, as the definition counts them. left_out: what was not used,
        and why. warnings: what to know before relying on it.
        """
        facts = selection_facts(view, parameters.selection(), direction)
        if isinstance(parameters, GoalParameters):
            facts |= parameters.goal().facts()
        facts |= own
        facts |= {"definition": definition, "n_used": n_used, "left_out": [*left_out], "warnings": [*warnings]}
        return Answer(facts, self.rows.schema, iter(batches), rows_name=self.rows_name)
