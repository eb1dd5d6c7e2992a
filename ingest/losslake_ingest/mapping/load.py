"""Reading a mapping file: TOML into a LogMapping, or one line that says what is wrong with it."""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from losslake_ingest.mapping.mapping import (
    AXIS_COUNTS,
    Axis,
    CollectionTemplates,
    GoalTemplate,
    LogMapping,
    LookupTable,
    RunTemplates,
)
from losslake_ingest.mapping.template import PathPattern, Template
from losslake_ingest.rules import BadMapping
from losslake_ingest.run_log import Scalar

MAPPING_NAME = "losslake.toml"
LARGEST_MAPPING = 1 << 20
LARGEST_LOOKUP = 1 << 24

ReadBeside = Callable[[str], bytes | None]
_Text = Annotated[str, Field(strict=True)]
_Value = Annotated[bool, Field(strict=True)] | Annotated[int, Field(strict=True)] | float | str


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Collection(_Section):
    name: _Text | None = None
    title: _Text | None = None
    licence: _Text | None = None
    citation: _Text | None = None
    source_url: _Text | None = None


class _Run(_Section):
    dataset: _Text | None = None
    model: _Text | None = None
    optimizer: _Text | None = None
    batch_size: _Value | None = None
    batch_unit: _Text | None = None
    trial_id: _Value | None = None
    status: _Text | None = None
    train_steps: _Value | None = None
    column: _Text | None = None


class _Path(_Section):
    patterns: list[str] = []


class _Files(_Section):
    formats: list[str] = []
    include: list[str] = []
    exclude: list[str] = []
    side: list[str] = []


class _Lookup(_Section):
    file: _Text
    keys: Annotated[list[str], Field(min_length=1)]


class _Axis(_Section):
    column: _Text
    counts: Literal["steps", "examples", "epochs"] = "steps"
    epoch_size: _Value | None = None
    metrics: list[str] = []


class _Time(_Section):
    elapsed_s: _Text | None = None
    wall_time: _Text | None = None


class _Goal(_Section):
    metric: _Text
    target: _Value
    source: _Text


class _Document(_Section):
    collection: _Collection = _Collection()
    run: _Run = _Run()
    path: _Path = _Path()
    files: _Files = _Files()
    lookup: list[_Lookup] = []
    fields: dict[str, _Value] = {}
    parameters: dict[str, _Value] = {}
    metrics: dict[str, str] = {}
    status: dict[str, Literal["COMPLETE", "INCOMPLETE", "INFEASIBLE"]] = {}
    axis: list[_Axis] = []
    time: _Time = _Time()
    goal: list[_Goal] = []


MAPPING_SECTIONS: Mapping[str, type[BaseModel] | None] = {
    "collection": _Collection,
    "run": _Run,
    "path": _Path,
    "files": _Files,
    "lookup": _Lookup,
    "fields": None,
    "parameters": None,
    "metrics": None,
    "status": None,
    "axis": _Axis,
    "time": _Time,
    "goal": _Goal,
}
"""Every section of a mapping, with its keys where they are fixed."""


def load_mapping(path: Path) -> LogMapping:
    """The mapping in a file; its lookup tables lie beside it. Raises BadMapping."""
    try:
        if path.stat().st_size > LARGEST_MAPPING:
            raise BadMapping(f"{path}: larger than {LARGEST_MAPPING:,} bytes: this is no mapping")
        text = path.read_bytes()
    except OSError as error:
        raise BadMapping(f"can't read the mapping {path}: {error.strerror}") from None

    def beside(name: str) -> bytes | None:
        file = path.parent / name
        return file.read_bytes() if file.is_file() and file.stat().st_size <= LARGEST_LOOKUP else None

    return parse_mapping(text, str(path), beside)


def parse_mapping(text: bytes, where: str, beside: ReadBeside = lambda _: None) -> LogMapping:
    """The mapping in a TOML text. beside: reads a file that lies with it, None if it can't. Raises BadMapping."""
    try:
        document = _Document.model_validate(tomllib.loads(text.decode("utf-8")))
    except ValidationError as error:
        raise BadMapping(f"{where}: {_first_fault(error)}") from None
    except (ValueError, RecursionError) as error:
        raise BadMapping(f"{where}: not a TOML file ({error})") from None
    lookups = [_lookup(table, where, beside) for table in document.lookup]
    run = document.run.model_dump(exclude={"column"})
    return LogMapping(
        where=where,
        collection=CollectionTemplates(**_templates(document.collection.model_dump())),
        run=RunTemplates(**_templates(run)),
        run_column=document.run.column,
        path_patterns=[_pattern(pattern, where) for pattern in document.path.patterns],
        formats=document.files.formats,
        include=document.files.include,
        exclude=document.files.exclude,
        side_files=document.files.side,
        lookups=lookups,
        fields=document.fields,
        parameters={name: Template(value) for name, value in document.parameters.items()},
        metrics=_metrics(document.metrics, where),
        statuses=document.status,
        axes=[_axis(axis, where) for axis in document.axis],
        elapsed_column=document.time.elapsed_s,
        wall_time_column=document.time.wall_time,
        goals=[GoalTemplate(Template(g.metric), Template(g.target), Template(g.source)) for g in document.goal],
    )


def overlaid(own: LogMapping, defaults: LogMapping) -> LogMapping:
    """The user's mapping, with a format's defaults wherever it is silent."""
    return replace(
        own,
        path_patterns=own.path_patterns or defaults.path_patterns,
        side_files=own.side_files or defaults.side_files,
        run=_first_given(own.run, defaults.run),
        fields={**defaults.fields, **own.fields},
        parameters={**defaults.parameters, **own.parameters},
        metrics={**own.metrics, **{c: m for c, m in defaults.metrics.items() if c not in own.metrics}},
        statuses={**defaults.statuses, **own.statuses},
        axes=[*own.axes, *defaults.axes],
        elapsed_column=own.elapsed_column or (None if own.wall_time_column else defaults.elapsed_column),
        wall_time_column=own.wall_time_column or (None if own.elapsed_column else defaults.wall_time_column),
        goals=[*own.goals, *defaults.goals],
    )


def _first_given(own: RunTemplates, defaults: RunTemplates) -> RunTemplates:
    silent = {name: value for name, value in vars(defaults).items() if getattr(own, name) is None}
    return replace(own, **silent)


def _templates(values: Mapping[str, Scalar | None]) -> dict[str, Template]:
    return {name: Template(value) for name, value in values.items() if value is not None}


def _axis(axis: _Axis, where: str) -> Axis:
    if axis.counts == "epochs" and axis.epoch_size is None:
        message = f"the axis {axis.column!r} counts epochs: add epoch_size = NUMBER, the examples in an epoch"
        raise BadMapping(f"{where}: [[axis]]: {message}")
    assert axis.counts in AXIS_COUNTS
    size = Template(axis.epoch_size) if axis.epoch_size is not None else None
    return Axis(axis.column, axis.counts, size, axis.metrics)


def _metrics(lines: Mapping[str, str], where: str) -> dict[str, Template | None]:
    several = next((column for column in lines if column.count("*") > 1), None)
    if several is not None:
        raise BadMapping(f"{where}: [metrics] {several!r}: one * can stand in a column, not more")
    return {column: Template(metric) if metric else None for column, metric in lines.items()}


def _pattern(text: str, where: str) -> PathPattern:
    try:
        return PathPattern.parse(text)
    except ValueError as error:
        raise BadMapping(f"{where}: [path] {error}") from None


def _lookup(table: _Lookup, where: str, beside: ReadBeside) -> LookupTable:
    if "/" in table.file or "\\" in table.file or table.file.startswith("."):
        raise BadMapping(
            f"{where}: [[lookup]] {table.file!r}: name a file that lies beside the mapping, without folders"
        )
    data = beside(table.file)
    if data is None:
        raise BadMapping(f"{where}: [[lookup]] there is no readable {table.file} beside it (of at most 16 MiB)")
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig", "replace"))))
    columns = set(rows[0]) if rows else set[str]()
    absent = [key for key in table.keys if key not in columns]
    if absent:
        raise BadMapping(f"{where}: [[lookup]] {table.file} has no column {absent[0]!r}")
    found = {}
    for row in rows:
        cells = {name: text.strip() for name, text in row.items() if name is not None and isinstance(text, str)}
        key = tuple(cells.get(name, "") for name in table.keys)
        if key in found:
            raise BadMapping(f"{where}: [[lookup]] {table.file} has two rows for {', '.join(key)}")
        found[key] = {name: text for name, text in cells.items() if name not in table.keys and text}
    return LookupTable(table.file, table.keys, found)


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    place = [str(part) for part in fault["loc"] if not (isinstance(part, str) and "[" in part)]
    section, key = f"[{place[0]}]", ".".join(place[1:])
    if fault["type"] == "extra_forbidden":
        return (
            f"{section} {key}: no such key: see docs/mapping.md"
            if key
            else f"{section}: no such section: see docs/mapping.md"
        )
    return f"{section} {key}: {fault['msg'].lower()}"
