"""The tables and macros that a statement may name, in short, as the page has them beside the editor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from losslake.questions.release_view import ReleaseView
from losslake_service.examples import Example
from losslake_service.web.schema_tables import ColumnShown, TableShown, schema_tables
from losslake_service.web.statements import literal

_FIRST = (
    "result_at", "steps_to", "workloads", "studies", "trials", "measurements", "records", "steps_to_result",
    "steps_to_target",
)  # fmt: skip


@dataclass(frozen=True)
class SqlTable:
    """A view, or a macro that gives rows. call: how a statement names it, with arguments that this release answers."""

    name: str
    call: str
    row: str
    is_macro: bool
    columns: Sequence[ColumnShown]


def tables_of(view: ReleaseView, example: Example | None) -> Sequence[SqlTable]:
    """All of them, those asked most first."""
    tables = sorted(schema_tables(view), key=lambda table: (*_FIRST, table.name).index(table.name))
    return [
        SqlTable(table.name, _call(table, example), _first_sentence(table.row), table.is_macro, table.columns)
        for table in tables
    ]


def _call(table: TableShown, example: Example | None) -> str:
    if not table.is_macro:
        return table.name
    metric, target = (example.metric, example.target) if example else ("val/classification_error", 0.05)
    return f"{table.name}({literal(metric)}, {literal(target)})"


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".") + "."
