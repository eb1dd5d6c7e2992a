"""What a log says of one training run, in the log's own words: named columns and named fields, nothing interpreted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from losslake_schema.reached import Flags, Floats

Scalar = str | int | float | bool


@dataclass(frozen=True)
class LoggedRows:
    """Rows of a run's log in the order in which they were written.

    columns: float64 arrays of one length, by the log's own name; which of them are axes (steps, epochs, times) and
    which are metrics is the mapping's to say. missing: cells that the log left empty (their value means nothing), by
    column; a column that is full is absent from it.
    """

    columns: Mapping[str, Floats]
    missing: Mapping[str, Flags] = field(default_factory=dict)


@dataclass(frozen=True)
class LoggedGoal:
    """A target that the log itself names for one of its columns."""

    column: str
    target: float
    source: str


@dataclass(frozen=True)
class RunLog:
    """One training run as its log tells it.

    run: what tells it from the other runs of its source: the path of its file or folder, with `#name` behind it where a
    file holds several. files: the sha256 of every file that was read for it, by path. rows: in the order written; of a
    column that is given twice for one step, the last counts. fields: what a mapping may refer to as `{name}`.
    parameters: the fields that are metaparameters, by the name that they shall have. status: the log's own word for how
    the run ended, None if it has none. started_at: Unix seconds. private: kinds of personal or machine data that were
    left out. remarks: how often the reader had to decide something, by a short sentence about it.
    """

    run: str
    files: Mapping[str, str]
    rows: Sequence[LoggedRows]
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    parameters: Mapping[str, Scalar] = field(default_factory=dict)
    status: str | None = None
    started_at: float | None = None
    goals: Sequence[LoggedGoal] = ()
    private: Sequence[str] = ()
    remarks: Mapping[str, int] = field(default_factory=dict)
