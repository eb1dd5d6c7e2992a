"""The views and macros of a release, described by their SQL and the documentation of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from losslake.index.view_texts import MACROS, VIEWS, sql
from losslake.output.columns import row_shape
from losslake.questions.declaration.shared_columns import SharedColumns
from losslake.questions.lists.listings import LISTINGS
from losslake.questions.lists.view_rows import VIEW_ROWS
from losslake.questions.release.view import ReleaseView
from losslake_schema.tables import ALL_TABLES, PARTITIONED, STUDY_KEYS
from losslake_service.bounded_cache import BoundedCache

_SAME_COLUMNS = {"steps_to": "steps_to_target", "result_at": "steps_to_result"}
_TRIAL_KEYS = (*STUDY_KEYS, "trial_id")
_LISTED = {listing.name: listing.key for listing in LISTINGS}
# In the order of the page.
_KEYS: Mapping[str, Sequence[str]] = {
    **{name: _LISTED[name] for name in ("collections", "workloads", "studies", "trials")},
    "measurements": (*STUDY_KEYS, "metric", "trial_id", "step"),
    "records": (*STUDY_KEYS, "metric", "trial_id", "step"),
    **{name: _LISTED[name] for name in ("metrics", "goals")},
    "contributors": (*_TRIAL_KEYS, "name", "orcid", "role", "contribution"),
    "copies": (*_TRIAL_KEYS, "source", "source_sha256", "attributes"),
    "trial_resources": _TRIAL_KEYS,
    "trial_schedules": _TRIAL_KEYS,
    "flags": (*_TRIAL_KEYS, "rule"),
    "steps_to_target": (*_TRIAL_KEYS, "metric", "target"),
    "steps_to_result": (*STUDY_KEYS, "metric", "target"),
    "steps_to": _TRIAL_KEYS,
    "result_at": STUDY_KEYS,
    "pooled_result_at": ("batch_size",),
    "best_setting_at": STUDY_KEYS,
    "amounts_to": _TRIAL_KEYS,
    "amount_at": STUDY_KEYS,
}


@dataclass(frozen=True)
class SchemaColumn:
    """A column of a view. type: DuckDB's; unit: empty if there is none.

    is_key: part of the key, which is unique.
    """

    name: str
    type: str
    meaning: str
    unit: str = ""
    is_key: bool = False
    may_be_null: bool = False


@dataclass(frozen=True)
class SchemaTable:
    """A view or macro. call: in SQL. row: the meaning of a row.

    keys: the columns of the key, in order. is_file: it is one file of a release. is_partitioned: it has a file for each
    study.
    """

    name: str
    call: str
    row: str
    keys: Sequence[str]
    columns: Sequence[SchemaColumn]
    is_macro: bool
    is_file: bool
    is_partitioned: bool


_DESCRIBED: BoundedCache[Sequence[SchemaTable]] = BoundedCache(1)


def schema_tables(view: ReleaseView) -> Sequence[SchemaTable]:
    """Return every view and macro, cached since they are the same for all releases."""
    return _DESCRIBED.get(None, lambda: [_table(view, name) for name in _KEYS])


def call(name: str, arguments: str = "metric, target") -> str:
    """Return a view or macro as used in SQL."""
    return f"{name}({arguments})" if name in MACROS else name


def row_description(name: str) -> str:
    """Return the first paragraph of the comment above the SQL of a view or macro."""
    lines = []
    for line in sql(name).splitlines():
        text = line.removeprefix("--").strip()
        if not line.startswith("--") or not text:
            break
        lines.append(text)
    return " ".join(lines)


def _table(view: ReleaseView, name: str) -> SchemaTable:
    assert name in (*VIEWS, *MACROS)
    types = view.cursor().execute("DESCRIBE FROM " + call(name, "'', 0.0")).fetchall()
    shape = row_shape(VIEW_ROWS[_SAME_COLUMNS.get(name, name)], SharedColumns).only([column for column, *_ in types])
    columns = [
        SchemaColumn(column.name, type_, column.doc, column.unit, column.name in _KEYS[name], column.nullable)
        for column, (_, type_, *_) in zip(shape.columns, types, strict=True)
    ]
    return SchemaTable(
        name=name,
        call=call(name),
        row=row_description(name),
        keys=_KEYS[name],
        columns=columns,
        is_macro=name in MACROS,
        is_file=name in ALL_TABLES and name not in PARTITIONED,
        is_partitioned=name in PARTITIONED,
    )
