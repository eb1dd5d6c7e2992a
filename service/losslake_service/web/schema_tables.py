"""The views and macros of a release, described from what they are made of: their SQL, and what columns mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from losslake.index.serving import MACROS, VIEWS, sql
from losslake.output.columns import row_shape
from losslake.questions.lists.listing import LISTINGS
from losslake.questions.lists.view_rows import VIEW_ROWS
from losslake.questions.release_view import ReleaseView
from losslake_schema.tables import PARTITIONED, STUDY_KEYS, TABLES, file_schema
from losslake_service.kept import Kept

_SAME_COLUMNS = {"steps_to": "steps_to_target", "result_at": "steps_to_result"}
_ARGUMENTS = "metric, target"
_ANY_ARGUMENTS = "'', 0.0"
_KEYS: Mapping[str, Sequence[str]] = {
    **{listing.name: listing.key for listing in LISTINGS},
    "measurements": (*STUDY_KEYS, "metric", "trial_id", "step"),
    "records": (*STUDY_KEYS, "metric", "trial_id", "step"),
    "steps_to_target": (*STUDY_KEYS, "trial_id", "metric", "target"),
    "steps_to_result": (*STUDY_KEYS, "metric", "target"),
    "steps_to": (*STUDY_KEYS, "trial_id"),
    "result_at": STUDY_KEYS,
}
_ORDER = (
    "collections", "workloads", "studies", "trials", "measurements", "records", "metrics", "goals", "steps_to_target",
    "steps_to_result", "steps_to", "result_at",
)  # fmt: skip


@dataclass(frozen=True)
class ColumnShown:
    """A column of a view or of its files. type: DuckDB's or Arrow's; unit: empty without one.

    is_key: no two rows share all of the keys.
    """

    name: str
    type: str
    meaning: str
    unit: str = ""
    is_key: bool = False
    may_be_null: bool = False


@dataclass(frozen=True)
class TableShown:
    """A view or macro. call: as SQL has it. row: what a row is. stored: what its files hold, if that is different.

    is_file: whether it is one file of a release. is_partitioned: whether it has a file for each study.
    """

    name: str
    call: str
    row: str
    columns: Sequence[ColumnShown]
    stored: Sequence[ColumnShown]
    is_macro: bool
    is_file: bool
    is_partitioned: bool

    @property
    def keys(self) -> list[str]:
        """The columns that no two rows share, in the order of the key."""
        return list(_KEYS[self.name])


_DESCRIBED: Kept[Sequence[TableShown]] = Kept(1)


def schema_tables(view: ReleaseView) -> Sequence[TableShown]:
    """Return every view and macro; the same for all releases, so described once."""
    return _DESCRIBED.get(None, lambda: [_table(view, name) for name in _ORDER])


def call(name: str, arguments: str = _ARGUMENTS) -> str:
    """Return a view or macro as SQL has it."""
    return f"{name}({arguments})" if name in MACROS else name


def what_a_row_is(name: str) -> str:
    """Return the comment above its SQL, up to an empty line of it."""
    lines = []
    for line in sql(name).splitlines():
        text = line.removeprefix("--").strip()
        if not line.startswith("--") or not text:
            break
        lines.append(text)
    return " ".join(lines)


def _table(view: ReleaseView, name: str) -> TableShown:
    assert name in (*VIEWS, *MACROS)
    types = view.cursor().execute(f"DESCRIBE FROM {call(name, _ANY_ARGUMENTS)}").fetchall()
    shape = row_shape(VIEW_ROWS[_SAME_COLUMNS.get(name, name)]).only([column for column, *_ in types])
    columns = [
        ColumnShown(column.name, type_, column.doc, column.unit, column.name in _KEYS[name], column.nullable)
        for column, (_, type_, *_) in zip(shape.columns, types, strict=True)
    ]
    stored = [
        ColumnShown(field.name, _arrow_type(field.type), field.metadata[b"doc"].decode())
        for field in (file_schema(name) if name in PARTITIONED else ())
    ]
    return TableShown(
        name=name,
        call=call(name),
        row=what_a_row_is(name),
        columns=columns,
        stored=stored,
        is_macro=name in MACROS,
        is_file=name in TABLES and name not in PARTITIONED,
        is_partitioned=name in PARTITIONED,
    )


def _arrow_type(kind: pa.DataType) -> str:
    return f"{kind.value_type} (dictionary)" if pa.types.is_dictionary(kind) else str(kind)
