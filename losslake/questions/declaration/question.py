"""A question: its path, its parameters, the function that answers it, and the rows and summary of its answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from losslake.output.answer import Answer, Part
from losslake.output.columns import RowShape, row_shape
from losslake.output.rows import Row
from losslake.questions.declaration.cost import Cost, spend
from losslake.questions.declaration.listing import Listing
from losslake.questions.declaration.parameters import (
    BatchSizeParameters,
    FieldsParameters,
    FormatParameters,
    GoalParameters,
    MetricParameters,
    checked_fields,
)
from losslake.questions.declaration.shared_columns import SharedColumns
from losslake.questions.declaration.summary import Summary, field_order, summary_fields
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.left_out import pooled_workloads, trials_left_out
from losslake.questions.trials.search import Search, open_searches
from losslake.questions.trials.selection import Goal
from losslake_schema.package_files import read_toml


def with_goal(view: Any, request: Any) -> Any:
    """Return parameters with the metric, target and comparator that they lack; those without any as they are."""
    return request.with_goal(view) if isinstance(request, MetricParameters) else request


@dataclass(frozen=True, eq=False)
class Question:
    """A path and the function that answers it; each question is declared in a module of its own.

    compute: the function; takes a release view and the parameters. A list takes a ListRequest instead of the
    parameters; a question that is not about one release takes the lake instead of the view.
    summary: the JSON fields beside the rows, which are in the field rows_name.
    listing: the list whose columns are filters, if the question is a list.
    is_of_release: the answer depends on the release and the URL only.
    sometimes: columns that only answers to some parameters have.
    cost: what the answer costs, by its parameters, for each workload that they name.
    is_quick: the answer comes from memory in well under a millisecond and needs no thread.
    """

    path: str
    doc: str
    parameters: type[FormatParameters]
    row: type[Row]
    summary: type[Summary]
    compute: Callable[[Any, Any], Answer]
    listing: Listing | None = None
    is_quick: Callable[[Any], bool] = field(default=lambda _: False)
    cost: Callable[[Any], Cost] = field(default=lambda _: Cost())
    is_of_release: bool = True
    rows_name: str = "rows"
    sometimes: tuple[str, ...] = ()

    @property
    def rows(self) -> RowShape:
        """The columns of its rows."""
        return row_shape(self.row, SharedColumns)

    @property
    def subject(self) -> str:
        """The last part of the path, which names the subject of the question."""
        return self.path.removeprefix("/v1/").rpartition("}/")[2]

    @property
    def schema_name(self) -> str:
        """The name of its JSON schema; the schema of a row has the suffix Row."""
        return "".join(word.capitalize() for word in re.findall("[a-z]+", self.subject))

    def answer(self, subject: Any, request: Any) -> Answer:
        """Return the answer to parameters, completed from a goal where they lack a metric, target or comparator.

        Raises UnknownName and BadParameter; and Expensive, if it costs more than what is left of a budget.
        """
        if self.listing is None and self.is_of_release:
            spend(subject, self.cost(request), request)
        answer = self.compute(subject, with_goal(subject, request))
        if self.has_fields and request.fields:
            return answer.only(checked_fields(self.subject, request.fields, answer.schema.names))
        return answer

    @cached_property
    def has_fields(self) -> bool:
        """True if `fields` chooses columns after the answer, since it isn't a list."""
        return self.listing is None and issubclass(self.parameters, FieldsParameters)

    def row_schema(self) -> dict[str, Any]:
        """Return the JSON schema of a row. Columns that `fields` may omit are optional."""
        properties = {column.name: column.json_schema() for column in self.rows.columns}
        is_whole = not (self.listing or self.has_fields)
        required = {"required": [name for name in properties if name not in self.sometimes]} if is_whole else {}
        return {"type": "object", "description": f"A row of {self.path}.", "properties": properties, **required}

    def summary_schema(self) -> dict[str, Any]:
        """Return the JSON schema of an answer: the fields of the summary, and the rows."""
        rows = {"type": "array", "items": {"$ref": f"#/components/schemas/{self.schema_name}Row"}}
        properties = {
            **summary_fields(self.summary),
            self.rows_name: {**rows, "description": "The rows.", "x-unit": "none", "examples": [[]]},
        }
        return {"type": "object", "description": self.doc, "properties": properties, "required": list(properties)}

    @cached_property
    def definition(self) -> str:
        """The definition of what an analysis computes, with its source; in braces what depends on the parameters."""
        return " ".join(read_toml("losslake.questions", "definitions.toml")[self.path.rpartition("/")[2]].split())

    @cached_property
    def summary_names(self) -> list[str]:
        """The fields of the summary, in the order of answers."""
        return field_order(self.summary.model_fields)

    def of_table(self, facts: Mapping[str, Any], table: pa.Table, **of_page: Any) -> Answer:
        """Return the answer with these rows. facts: all fields of the summary. of_page: the total and next_cursor."""
        summary = {name: facts[name] for name in self.summary_names}
        return Answer(summary, table.schema, iter(table.to_batches()), rows_name=self.rows_name, **of_page)

    def answered(
        self,
        view: ReleaseView,
        parameters: MetricParameters,
        parts: Iterable[Part],
        facts: Mapping[str, Any] | None = None,
        *,
        searches: Sequence[Search] | None = None,
        goals: Sequence[Goal] = (),
    ) -> Answer:
        """Return an answer about a selection of trials.

        facts: fields of the summary. Those that are not given repeat the parameter of the same name; left_out starts
        with the trials that don't count. searches: by workload, which admit the trials that do, if not those of the
        parameters. goals: by workload, the hardest that is asked about, if not that of the parameters.
        """
        workloads = list(map(str, parameters.workloads))
        direction = parameters.direction or view.metrics[parameters.metric].direction
        searches = open_searches(view, parameters.selection()) if searches is None else searches
        fields: dict[str, Any] = {"release": view.number, "workloads": workloads, "direction": direction}
        fields |= {"pooled": pooled_workloads(searches), **(facts or {})}
        batch_sizes = parameters.batch_size if isinstance(parameters, BatchSizeParameters) else ()
        if isinstance(parameters, GoalParameters):
            goals = [parameters.goal] * len(workloads)
        left_out = trials_left_out(searches, batch_sizes, goals)
        fields["left_out"] = [*left_out, *fields.get("left_out", ())]
        summary = {name: fields[name] if name in fields else getattr(parameters, name) for name in self.summary_names}
        return Answer(summary, self.rows.schema, iter(parts), rows_name=self.rows_name, is_plain=True)

    def analysis(
        self,
        view: ReleaseView,
        parameters: MetricParameters,
        parts: Iterable[Part],
        facts: Mapping[str, Any],
        *,
        n_used: int,
        left_out: Iterable[str] = (),
        warnings: Iterable[str] = (),
        searches: Sequence[Search] | None = None,
        goals: Sequence[Goal] = (),
        **terms: str,
    ) -> Answer:
        """Return the answer of an analysis, with its definition and what to know before relying on it.

        facts: as in `answered`. n_used: the values that were used, as the definition counts them. left_out: what else
        was not used, and why. searches, goals: as in `answered`. terms: what the definition has in braces.
        """
        definition = self.definition.format(**terms)
        finding = {"definition": definition, "n_used": n_used, "left_out": [*left_out], "warnings": [*warnings]}
        return self.answered(view, parameters, parts, {**facts, **finding}, searches=searches, goals=goals)
