"""The mapping file `losslake.toml`: what logs don't say of their runs. Documented in docs/mapping.md.

The classes are the sections of the file, and their fields are its keys. pydantic validates files against them.
"""

from __future__ import annotations

import fnmatch
import json
import re
import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)

from losslake_ingest.contracts.rules import BadMapping, Refusal
from losslake_ingest.contracts.run_log import Fields, Scalar
from losslake_ingest.mapping.expressions import TextLines
from losslake_ingest.mapping.lookup import LookupKeys, LookupTable, ReadBeside, files_beside, read_lookup
from losslake_ingest.mapping.template import PathPattern, Template, UnknownField
from losslake_schema.contributors import MOST_CONTRIBUTORS, Contributor
from losslake_schema.reached import DEFAULT_COMPARATOR, Comparator
from losslake_schema.registry import Direction
from losslake_schema.statuses import Status

MAPPING_NAME = "losslake.toml"
LARGEST_MAPPING = 1 << 20
LEAST_JOINED = 1e-300
LAST_BATCHES = ("kept", "dropped", "fractional")

_BUNDLED = Path(__file__).parents[1] / "mappings"


def _converted_from(kind: Any, convert: Callable[[Any, ValidationInfo], object]) -> GetPydanticSchema:
    """Validate a value as `kind`, then convert it."""
    return GetPydanticSchema(lambda _, handler: handler.generate_schema(Annotated[kind, AfterValidator(convert)]))


def _pattern(text: str, _: ValidationInfo) -> PathPattern:
    try:
        return PathPattern.parse(text)
    except ValueError as error:
        raise ValueError(f"[path] {error}") from None


def _check_stars(metrics: dict[str, MetricLine]) -> dict[str, MetricLine]:
    several = next((column for column in metrics if column.count("*") > 1), None)
    if several is not None:
        raise ValueError(f"[metrics] {several!r}: a column can contain only one *")
    return metrics


_Text = Annotated[str, Field(strict=True)]
_Value = Annotated[bool, Field(strict=True)] | Annotated[int, Field(strict=True)] | float | str
_TextTemplate = Annotated[Template, _converted_from(_Text, lambda text, _: Template(text))]
_ValueTemplate = Annotated[Template, _converted_from(_Value, lambda value, _: Template(value))]


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
    """The identity and status of a run. column: of a table (csv, jsonl), whose values identify the runs in it.

    within: columns that tell the runs with one value of it apart. repeats: what becomes of a run whose curve another
    run of its study has.
    """

    dataset: _TextTemplate | None = None
    model: _TextTemplate | None = None
    optimizer: _TextTemplate | None = None
    batch_size: _ValueTemplate | None = None
    batch_unit: _TextTemplate | None = None
    trial_id: _ValueTemplate | None = None
    status: _TextTemplate | None = None
    train_steps: _ValueTemplate | None = None
    column: _Text | None = None
    within: list[_Text] = field(default_factory=list)
    repeats: Literal["once", "keep"] | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for columns within a column that isn't stated."""
        if self.within and self.column is None:
            raise ValueError("[run] within needs column: the runs that it tells apart")


@dataclass(frozen=True)
class ScheduleTemplates:
    """The batch size of a run that changes it, as text such as `0:64 1000:128`, and the name of these changes."""

    batch_size: _TextTemplate | None = None
    name: _TextTemplate | None = None


@dataclass(frozen=True)
class Paths:
    """Patterns for paths of runs, whose fields become fields of the run.

    roots: patterns of names of the folder that a repository begins with; the first that a path has counts.
    """

    patterns: list[Annotated[PathPattern, _converted_from(str, _pattern)]] = field(default_factory=list)
    roots: list[_Text] = field(default_factory=list)


@dataclass(frozen=True)
class Files:
    """The formats and files to read of a source.

    formats: names of formats. include, exclude: patterns of paths. side: names of files beside a log whose keys become
    fields.
    """

    formats: list[str] = field(default_factory=list)
    include: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    side: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class LongTable:
    """The columns of a long table (a row per value) with the names of metrics and with their values."""

    name: _Text = ""
    value: _Text = ""


Condition = Annotated[dict[str, _Value | list[_Value]], Field(min_length=1)]


@dataclass(frozen=True)
class Axis:
    """A column that gives the position in training, and its unit.

    counts: updates of the parameters (steps is the same), updates_from_zero (the first one is 0), calls of a logger,
    examples (in the study's batch unit) or epochs. epoch_size: examples per epoch.
    metrics: patterns of the logged columns that it applies to; none means all. scale, offset: the position is scale x
    column + offset. last_batch: what becomes of an epoch's incomplete last batch. All have to be templates that are
    numbers or one field; one with an unknown field is unstated. rounding: of examples that aren't whole batches.
    assumed: refuse a run whose log says otherwise. carried: rows of a table that lack it have that of the nearest row
    above that has it; of those only that fit a condition, as of [[when]], if there is one.
    """

    column: _Text
    counts: Literal["steps", "updates", "updates_from_zero", "calls", "examples", "epochs"] = "steps"
    epoch_size: _ValueTemplate | None = None
    metrics: list[str] = field(default_factory=list)
    scale: _ValueTemplate | None = None
    offset: _ValueTemplate | None = None
    last_batch: _TextTemplate | None = None
    rounding: Literal["nearest", "up"] = "nearest"
    assumed: bool = False
    carried: Annotated[bool, Field(strict=True)] | Condition = False

    def __post_init__(self) -> None:
        """Raise ValueError for keys that don't go with what it counts, or an unknown last_batch."""
        if self.counts == "updates_from_zero" and self.offset is not None:
            raise ValueError(
                f'[[axis]]: offset is 1 of counts = "updates_from_zero": leave out that of {self.column!r}'
            )
        if self.rounding != "nearest" and self.counts != "examples":
            raise ValueError(f'[[axis]]: rounding is of counts = "examples", and {self.column!r} counts {self.counts}')
        if self.counts == "epochs" and self.epoch_size is None:
            message = f"the axis {self.column!r} counts epochs: add epoch_size = NUMBER, the examples per epoch"
            raise ValueError(f"[[axis]]: {message}")
        if self.last_batch is not None and not self.last_batch.names and self.last_batch.text not in LAST_BATCHES:
            raise ValueError(f"[[axis]] last_batch: {self.last_batch.text!r} is not one of {', '.join(LAST_BATCHES)}")

    def holds(self, column: str) -> bool:
        """Return True if the axis applies to a logged column."""
        return not self.metrics or any(fits(column, pattern) for pattern in self.metrics)

    def completed(self, other: Axis) -> Axis:
        """Return the axis with what another one states and this one doesn't."""
        unset = {key: getattr(other, key) for key in ("scale", "offset", "last_batch") if getattr(self, key) is None}
        return replace(self, **unset)


@dataclass(frozen=True)
class MetricLine:
    """The metric of a logged column; an empty one leaves the column out.

    None: that of the next line that fits the column, or its own name; what else is None comes from that line too.
    scale, offset: the value is scale x cell + offset. repeated: which of several values at one step counts.
    direction: of a metric that isn't registered. nan: whether NaN is a value of the run, or says that there is none.
    """

    metric: _TextTemplate | None = None
    scale: _ValueTemplate | None = None
    offset: _ValueTemplate | None = None
    repeated: Literal["first", "last"] | None = None
    direction: Direction | None = None
    nan: Literal["value", "missing"] | None = None

    def completed(self, other: MetricLine) -> MetricLine:
        """Return the line with what another one states and this one doesn't, if this one states no metric."""
        stated = {key: value for key, value in vars(self).items() if value is not None}
        return self if self.metric is not None else replace(other, **stated)


def _as_line(value: object) -> object:
    return {"metric": value} if isinstance(value, str) else value


_MetricLine = Annotated[MetricLine, BeforeValidator(_as_line)]


@dataclass(frozen=True)
class TimeColumns:
    """The columns with seconds, milliseconds or minutes since the start, and with Unix seconds.

    An empty name says none. assumed: times that fall are left out, instead of refusing the run.
    """

    elapsed_s: _Text | None = None
    elapsed_ms: _Text | None = None
    elapsed_min: _Text | None = None
    wall_time: _Text | None = None
    assumed: bool = False

    @property
    def columns(self) -> tuple[str | None, ...]:
        """The columns, those that come first where a log has several."""
        return self.elapsed_s, self.elapsed_ms, self.elapsed_min, self.wall_time


@dataclass(frozen=True)
class GoalTemplate:
    """A goal for every run that has all of its fields. replaces: the wrong target that logs state instead of it."""

    metric: _TextTemplate
    target: _ValueTemplate
    source: _TextTemplate
    comparator: Comparator = DEFAULT_COMPARATOR
    replaces: Annotated[float | None, Field(allow_inf_nan=False)] = None


@dataclass(frozen=True)
class JoinedTarget:
    """A metric of a joined goal with its target."""

    metric: _Text
    target: Annotated[float, Field(allow_inf_nan=False)]

    def __post_init__(self) -> None:
        """Raise ValueError for a target that isn't above 0, or so small that a quotient might round to 1."""
        if not self.target >= LEAST_JOINED:
            raise ValueError(f"[[joined]] the target {self.target!r} of {self.metric}: give a number above 0")


@dataclass(frozen=True)
class JoinedGoal:
    """A goal that all of some metrics reach. metric: the name of its margin; comparator: of every target."""

    metric: _Text
    source: _Text
    of: Annotated[list[JoinedTarget], Field(min_length=2)]
    comparator: Comparator = DEFAULT_COMPARATOR


@dataclass(frozen=True)
class RunSections:
    """The sections that apply to a run; what they leave open is None or empty.

    fields: default values of fields. parameters: metaparameters of the trial. attributes: what else to store with it.
    metrics: logged column (or pattern with `*`) to metric. status: the log's word for how a run ended, to its status.
    contributor: of the trial. refuse: why the mapping isn't for the run, and what to use instead.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")  # applies to the sections as well

    run: RunTemplates = RunTemplates()
    schedule: ScheduleTemplates = ScheduleTemplates()
    fields: dict[str, _Value] = field(default_factory=dict)
    parameters: dict[str, _ValueTemplate] = field(default_factory=dict)
    attributes: dict[str, _ValueTemplate] = field(default_factory=dict)
    metrics: Annotated[dict[str, _MetricLine], AfterValidator(_check_stars)] = field(default_factory=dict)
    status: dict[str, Status] = field(default_factory=dict)
    axis: list[Axis] = field(default_factory=list)
    time: TimeColumns = TimeColumns()
    goal: list[GoalTemplate] = field(default_factory=list)
    joined: list[JoinedGoal] = field(default_factory=list)
    contributor: Annotated[list[Contributor], Field(max_length=MOST_CONTRIBUTORS)] = field(default_factory=list)
    refuse: _Text | None = None


@dataclass(frozen=True)
class When(RunSections):
    """Sections for the runs, or the entries of logs, whose fields have these values (`if`); `*` matches any text."""

    condition: Annotated[Condition, Field(alias="if")] = field(kw_only=True)

    def __post_init__(self) -> None:
        """Raise ValueError if it says how to read rows, which are read before their fields are known."""
        if self.run.column is not None:
            raise ValueError("[[when]] can't contain run.column and run.within: give them under [run]")
        if any(axis.carried for axis in self.axis):
            raise ValueError("[[when]] can't contain an axis with carried: give it under [[axis]]")

    @property
    def label(self) -> str:
        """Its name in remarks."""
        condition = ", ".join(f"{name} = {json.dumps(value)}" for name, value in self.condition.items())
        return f"[[when]] if = {{ {condition} }}"

    def holds(self, fields: Fields) -> bool:
        """Return True if every field of the condition is known and has one of its values."""
        return all(name in fields and is_among(fields[name], among) for name, among in self.condition.items())


def fits(text: str, pattern: str) -> bool:
    """Return True if a text fits a pattern, in which `*` stands for any text; `?` and brackets stand for themselves."""
    return fnmatch.fnmatchcase(text, re.sub(r"[?[]", r"[\g<0>]", pattern))


def is_among(value: Scalar, among: Scalar | list[Scalar]) -> bool:
    """Return True if a value is the one of a condition, or one of its values; `*` in these matches any text."""
    expected = among if isinstance(among, list) else [among]
    return any(value == one or fits(str(value), str(one)) for one in expected)


@dataclass(frozen=True)
class MappingSections(RunSections):
    """All sections of a mapping file. extends: the name of a bundled mapping that it builds on."""

    extends: _Text | None = None
    collection: CollectionTemplates = CollectionTemplates()
    path: Paths = Paths()
    files: Files = Files()
    long: LongTable = LongTable()
    text: TextLines = field(default_factory=TextLines)
    lookup: list[Annotated[LookupTable, _converted_from(LookupKeys, read_lookup)]] = field(default_factory=list)
    when: list[When] = field(default_factory=list)


@dataclass(frozen=True)
class LogMapping(MappingSections):
    """A mapping, and the file that it was read from.

    labels: of the conditions and patterns in this file, not in what it builds on. used: of those that applied.
    """

    where: str | None = None
    labels: Sequence[str] = ()
    used: set[str] = field(default_factory=set, compare=False, repr=False)

    @property
    def names_contributors(self) -> bool:
        """Return True if it names contributors of any run."""
        return bool(self.contributor or any(when.contributor for when in self.when))


_SECTIONS = TypeAdapter(MappingSections)


def load_mapping(path: Path) -> LogMapping:
    """Load the mapping in a file; its lookup tables are beside it. Raises BadMapping."""
    try:
        if path.stat().st_size > LARGEST_MAPPING:
            raise BadMapping(f"{path}: larger than {LARGEST_MAPPING:,} bytes: this isn't a mapping")
        text = path.read_bytes()
    except OSError as error:
        advice = f"; bundled ones are {', '.join(bundled_mappings())}" if path.name == str(path) else ""
        raise BadMapping(f"can't read the mapping {path}: {error.strerror}{advice}") from None
    return parse_mapping(text, str(path), files_beside(path))


def parse_mapping(text: bytes, where: str, beside: ReadBeside | None = None) -> LogMapping:
    """Parse a mapping. beside: reads a file beside the mapping, returns None if it can't.

    Raises BadMapping with a one-line message.
    """
    try:
        sections = _SECTIONS.validate_python(tomllib.loads(text.decode("utf-8")), context=beside)
    except ValidationError as error:
        raise BadMapping(f"{where}: {_first_error(error)}") from None
    except (ValueError, RecursionError) as error:
        raise BadMapping(f"{where}: not a TOML file ({error})") from None
    labels = [*(when.label for when in sections.when), *(pattern.label for pattern in sections.path.patterns)]
    mapping = LogMapping(**vars(sections), where=where, labels=labels)
    if mapping.extends is None:
        return mapping
    bundled = bundled_mappings()
    if mapping.extends not in bundled:
        raise BadMapping(
            f"{where}: there is no bundled mapping {mapping.extends!r} to extend: give {', '.join(bundled)}"
        )
    return overlay(mapping, load_mapping(bundled[mapping.extends]))


def bundled_mappings() -> dict[str, Path]:
    """Return the files of the bundled mappings by name."""
    return {file.parent.name: file for file in sorted(_BUNDLED.glob(f"*/{MAPPING_NAME}"))}


def _first_error(error: ValidationError) -> str:
    details = error.errors(include_url=False, include_input=False)[0]
    if details["type"] == "value_error":
        return str(details["ctx"]["error"])
    place = [str(part) for part in details["loc"] if not (isinstance(part, str) and "[" in part)]
    section, key = f"[{place[0]}]", ".".join(place[1:])
    if details["type"] == "unexpected_keyword_argument":
        what = f" {key}: no such key" if key else ": no such section"
        return f"{section}{what}: see docs/mapping.md"
    return f"{section} {key}: {details['msg'].lower()}"


def overlay(mapping: LogMapping, defaults: LogMapping) -> LogMapping:
    """Return the mapping with defaults for everything that it leaves open."""
    return replace(mapping, **_merged(mapping, defaults, _OF_FILE))


def mapping_for(fields: Fields, mapping: LogMapping) -> LogMapping:
    """Return the mapping for a run with these fields: `[[when]]` comes before the rest, the first one first.

    What `[run]` and the collection's name give is known to conditions, too, where no field has that name.
    """
    values = dict(fields)
    stated = {"collection": mapping.collection.name, **vars(mapping.run)}
    for name in {name for when in mapping.when for name in when.condition} - fields.keys():
        template = stated.get(name)
        if isinstance(template, Template):
            with suppress(UnknownField, Refusal):  # raised where the value is used
                values[name] = template.fill(fields)
    for when in reversed(mapping.when):
        if when.holds(values):
            mapping.used.add(when.label)
            mapping = replace(mapping, **_merged(when, mapping, _OF_RUN))
    return mapping


_NO_TIMES = TimeColumns()
_OF_RUN, _OF_FILE = ([section.name for section in fields(kind)] for kind in (RunSections, MappingSections))


def _merged(first: RunSections, second: RunSections, names: Sequence[str]) -> dict[str, Any]:
    """Return the sections of these names of two mappings; the first ones take precedence."""
    merged = {name: _merged_section(getattr(first, name), getattr(second, name)) for name in names}
    lines = {column: line.completed(second.metrics.get(column, line)) for column, line in first.metrics.items()}
    return merged | {"metrics": lines | {c: line for c, line in second.metrics.items() if c not in lines}}


def _merged_section(first: Any, second: Any) -> object:
    """Return both lists or tables; of a section with keys, `second` for those that are open; else one of the values."""
    match first:
        case list():
            return [*first, *second]
        case dict():
            return {**second, **first}
        case TimeColumns() | str() | None:
            return second if first is None or first == _NO_TIMES else first
        case _:
            return replace(first, **{key: value for key, value in vars(second).items() if not getattr(first, key)})
