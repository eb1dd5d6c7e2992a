"""The mapping as read from `losslake.toml`, documented in docs/mapping.md.

Why a run can't be placed: which rule, and the line to add to the mapping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from losslake_ingest.mapping.template import PathPattern, Template
from losslake_ingest.rules import Rule
from losslake_ingest.run_log import Scalar

AXIS_COUNTS = ("steps", "examples", "epochs")


@dataclass(frozen=True)
class Axis:
    """A column that says where in training a row is, and what it counts.

    counts: steps (updates of the parameters), examples (in the study's batch unit) or epochs. epoch_size: examples in
    an epoch. metrics: patterns of the logged columns that it holds for; none means all.
    """

    column: str
    counts: str = "steps"
    epoch_size: Template | None = None
    metrics: Sequence[str] = ()


@dataclass(frozen=True)
class GoalTemplate:
    """A goal that holds for every run for which all of its fields are known."""

    metric: Template
    target: Template
    source: Template


@dataclass(frozen=True)
class CollectionTemplates:
    """The collection that the runs belong to."""

    name: Template | None = None
    title: Template | None = None
    licence: Template | None = None
    citation: Template | None = None
    source_url: Template | None = None


@dataclass(frozen=True)
class RunTemplates:
    """What identifies a run and says how it ended."""

    dataset: Template | None = None
    model: Template | None = None
    optimizer: Template | None = None
    batch_size: Template | None = None
    batch_unit: Template | None = None
    trial_id: Template | None = None
    status: Template | None = None
    train_steps: Template | None = None


@dataclass(frozen=True)
class LookupTable:
    """A CSV beside the mapping: rows by the fields that its key columns name."""

    file: str
    keys: Sequence[str]
    rows: Mapping[tuple[str, ...], Mapping[str, str]]


@dataclass(frozen=True)
class LogMapping:
    """Everything that a mapping says; what it leaves open is None or empty.

    where: the file it was read from. run_column: the column of a table (csv, jsonl) that tells its runs apart.
    formats, include and exclude: what of a source is read, by name of the format and by patterns of paths. side_files:
    names of files beside a log whose keys become fields. fields: values for fields that nothing else says. metrics:
    logged column (or pattern with `*`) to metric, or to nothing where it shall be left out.
    """

    where: str | None = None
    collection: CollectionTemplates = CollectionTemplates()
    run: RunTemplates = RunTemplates()
    run_column: str | None = None
    path_patterns: Sequence[PathPattern] = ()
    formats: Sequence[str] = ()
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    side_files: Sequence[str] = ()
    lookups: Sequence[LookupTable] = ()
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    parameters: Mapping[str, Template] = field(default_factory=dict)
    metrics: Mapping[str, Template | None] = field(default_factory=dict)
    statuses: Mapping[str, str] = field(default_factory=dict)
    axes: Sequence[Axis] = ()
    elapsed_column: str | None = None
    wall_time_column: str | None = None
    goals: Sequence[GoalTemplate] = ()


@dataclass(frozen=True)
class Lack:
    """Something that a run needs and nothing says; add: the line of the mapping that would say it."""

    what: str
    add: str


class Refusal(Exception):
    """A run that can't be stored: the rule that it breaks, why, and what is lacking where that is the cause."""

    def __init__(self, rule: Rule, message: str, lacks: tuple[Lack, ...] = ()) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.lacks = lacks
