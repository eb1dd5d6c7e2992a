"""The mapping: what a log doesn't say of its runs, as read from `losslake.toml` and documented in docs/mapping.md.

The classes are the sections of the file and their fields its keys; pydantic checks a file against them.
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, GetPydanticSchema, TypeAdapter, ValidationError, ValidationInfo

from losslake_ingest.mapping.template import PathPattern, Template
from losslake_ingest.rules import BadMapping

MAPPING_NAME = "losslake.toml"
LARGEST_MAPPING = 1 << 20
LARGEST_LOOKUP = 1 << 24

ReadBeside = Callable[[str], bytes | None]


def _made_of(kind: Any, convert: Callable[[Any, ValidationInfo], object]) -> GetPydanticSchema:
    """Validate a value as `kind`, then convert it."""
    return GetPydanticSchema(lambda _, handler: handler.generate_schema(Annotated[kind, AfterValidator(convert)]))


def _pattern(text: str, _: ValidationInfo) -> PathPattern:
    try:
        return PathPattern.parse(text)
    except ValueError as error:
        raise ValueError(f"[path] {error}") from None


def _check_stars(metrics: dict[str, Template | None]) -> dict[str, Template | None]:
    several = next((column for column in metrics if column.count("*") > 1), None)
    if several is not None:
        raise ValueError(f"[metrics] {several!r}: one * can stand in a column, not more")
    return metrics


_Text = Annotated[str, Field(strict=True)]
_Value = Annotated[bool, Field(strict=True)] | Annotated[int, Field(strict=True)] | float | str
_TextTemplate = Annotated[Template, _made_of(_Text, lambda text, _: Template(text))]
_ValueTemplate = Annotated[Template, _made_of(_Value, lambda value, _: Template(value))]
_MetricTemplate = Annotated[Template | None, _made_of(str, lambda text, _: Template(text) if text else None)]


@dataclass(frozen=True)
class CollectionTemplates:
    """The collection that the runs belong to."""

    name: _TextTemplate | None = None
    title: _TextTemplate | None = None
    licence: _TextTemplate | None = None
    citation: _TextTemplate | None = None
    source_url: _TextTemplate | None = None


@dataclass(frozen=True)
class RunTemplates:
    """What identifies a run and says how it ended. column: of a table (csv, jsonl), tells the runs in it apart."""

    dataset: _TextTemplate | None = None
    model: _TextTemplate | None = None
    optimizer: _TextTemplate | None = None
    batch_size: _ValueTemplate | None = None
    batch_unit: _TextTemplate | None = None
    trial_id: _ValueTemplate | None = None
    status: _TextTemplate | None = None
    train_steps: _ValueTemplate | None = None
    column: _Text | None = None


@dataclass(frozen=True)
class Paths:
    """Patterns of the paths of runs, whose fields are facts about the run."""

    patterns: list[Annotated[PathPattern, _made_of(str, _pattern)]] = field(default_factory=list)


@dataclass(frozen=True)
class Files:
    """What of a source is read, by name of the format and by patterns of paths.

    side: names of files beside a log whose keys become fields.
    """

    formats: list[str] = field(default_factory=list)
    include: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    side: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class LookupKeys:
    """A CSV beside the mapping, and its key columns, which are named like the fields that they are compared with."""

    file: _Text
    keys: Annotated[list[str], Field(min_length=1)]


@dataclass(frozen=True)
class LookupTable(LookupKeys):
    """A lookup file that has been read: its rows by their keys."""

    rows: Mapping[tuple[str, ...], Mapping[str, str]]


@dataclass(frozen=True)
class Axis:
    """A column that says where in training a row is, and what it counts.

    counts: steps (updates of the parameters), examples (in the study's batch unit) or epochs. epoch_size: examples in
    an epoch. metrics: patterns of the logged columns that it holds for; none means all.
    """

    column: _Text
    counts: Literal["steps", "examples", "epochs"] = "steps"
    epoch_size: _ValueTemplate | None = None
    metrics: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.counts == "epochs" and self.epoch_size is None:
            message = f"the axis {self.column!r} counts epochs: add epoch_size = NUMBER, the examples in an epoch"
            raise ValueError(f"[[axis]]: {message}")


@dataclass(frozen=True)
class TimeColumns:
    """The columns of seconds since the start, and of Unix seconds."""

    elapsed_s: _Text | None = None
    wall_time: _Text | None = None


@dataclass(frozen=True)
class GoalTemplate:
    """A goal that holds for every run for which all of its fields are known."""

    metric: _TextTemplate
    target: _ValueTemplate
    source: _TextTemplate


def _read_lookup(keys: LookupKeys, info: ValidationInfo) -> LookupTable:
    """Read a lookup table with the `ReadBeside` that is the context; raises ValueError."""
    if "/" in keys.file or "\\" in keys.file or keys.file.startswith("."):
        raise ValueError(f"[[lookup]] {keys.file!r}: name a file that lies beside the mapping, without folders")
    data = info.context(keys.file) if info.context is not None else None
    if data is None:
        raise ValueError(f"[[lookup]] there is no readable {keys.file} beside it (of at most 16 MiB)")
    reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig", "replace")))
    lines = list(reader)
    absent = [key for key in keys.keys if not lines or key not in lines[0]]
    if absent:
        raise ValueError(f"[[lookup]] {keys.file} has no column {absent[0]!r}")
    rows: dict[tuple[str, ...], Mapping[str, str]] = {}
    for line in lines:
        cells = {name: text.strip() for name, text in line.items() if name is not None and isinstance(text, str)}
        key = tuple(cells.get(name, "") for name in keys.keys)
        if key in rows:
            raise ValueError(f"[[lookup]] {keys.file} has two rows for {', '.join(key)}")
        rows[key] = {name: text for name, text in cells.items() if name not in keys.keys and text}
    return LookupTable(keys.file, keys.keys, rows)


@dataclass(frozen=True)
class MappingSections:
    """Every section of a mapping; what it leaves open is None or empty.

    fields: values for fields that nothing else says. parameters: metaparameters of the trial. metrics: logged column
    (or pattern with `*`) to metric, or to nothing where it shall be left out. status: what a log calls an end.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")  # holds for the sections, too

    collection: CollectionTemplates = CollectionTemplates()
    run: RunTemplates = RunTemplates()
    path: Paths = Paths()
    files: Files = Files()
    lookup: list[Annotated[LookupTable, _made_of(LookupKeys, _read_lookup)]] = field(default_factory=list)
    fields: dict[str, _Value] = field(default_factory=dict)
    parameters: dict[str, _ValueTemplate] = field(default_factory=dict)
    metrics: Annotated[dict[str, _MetricTemplate], AfterValidator(_check_stars)] = field(default_factory=dict)
    status: dict[str, Literal["COMPLETE", "INCOMPLETE", "INFEASIBLE"]] = field(default_factory=dict)
    axis: list[Axis] = field(default_factory=list)
    time: TimeColumns = TimeColumns()
    goal: list[GoalTemplate] = field(default_factory=list)


@dataclass(frozen=True)
class LogMapping(MappingSections):
    """A mapping, and the file that it was read from."""

    where: str | None = None


_SECTIONS = TypeAdapter(MappingSections)


def load_mapping(path: Path) -> LogMapping:
    """Return the mapping in a file; its lookup tables lie beside it. Raises BadMapping."""
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


def parse_mapping(text: bytes, where: str, beside: ReadBeside | None = None) -> LogMapping:
    """Return the mapping in a TOML text; `beside` reads a file that lies with it, None if it can't.

    Raises BadMapping with a line that says what is wrong.
    """
    try:
        sections = _SECTIONS.validate_python(tomllib.loads(text.decode("utf-8")), context=beside)
    except ValidationError as error:
        raise BadMapping(f"{where}: {_first_fault(error)}") from None
    except (ValueError, RecursionError) as error:
        raise BadMapping(f"{where}: not a TOML file ({error})") from None
    return LogMapping(**vars(sections), where=where)


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    if fault["type"] == "value_error":
        return str(fault["ctx"]["error"])
    place = [str(part) for part in fault["loc"] if not (isinstance(part, str) and "[" in part)]
    section, key = f"[{place[0]}]", ".".join(place[1:])
    if fault["type"] == "unexpected_keyword_argument":
        what = f" {key}: no such key" if key else ": no such section"
        return f"{section}{what}: see docs/mapping.md"
    return f"{section} {key}: {fault['msg'].lower()}"


def overlaid(mapping: LogMapping, defaults: LogMapping) -> LogMapping:
    """Return the user's mapping, with a format's defaults wherever it is silent."""
    silent = {name: value for name, value in vars(defaults.run).items() if getattr(mapping.run, name) is None}
    return replace(
        mapping,
        run=replace(mapping.run, **silent),
        path=mapping.path if mapping.path.patterns else defaults.path,
        files=replace(mapping.files, side=mapping.files.side or defaults.files.side),
        fields={**defaults.fields, **mapping.fields},
        parameters={**defaults.parameters, **mapping.parameters},
        metrics={**mapping.metrics, **{c: m for c, m in defaults.metrics.items() if c not in mapping.metrics}},
        status={**defaults.status, **mapping.status},
        axis=[*mapping.axis, *defaults.axis],
        time=mapping.time if any(vars(mapping.time).values()) else defaults.time,
        goal=[*mapping.goal, *defaults.goal],
    )
