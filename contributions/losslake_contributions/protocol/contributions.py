"""Documents of a contribution: what a run is, what of it is held, how it ended."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, model_validator

from losslake.record.layout import SegmentName, digest_entry
from losslake_contributions.protocol import limits
from losslake_contributions.protocol.texts import (
    CollectionName,
    Count,
    Document,
    Lines,
    Name,
    Ordinal,
    PartName,
    RunId,
    Scalar,
    Seconds,
    Sha256,
    Step,
    Text,
    json_attributes,
)
from losslake_schema.batch_schedule import MOST_PIECES, BatchSchedule
from losslake_schema.registry import Direction

RunStatus = Literal["COMPLETE", "INFEASIBLE", "INCOMPLETE"]
ContributionState = Literal["open", "finished"]
SubmissionState = Literal["submitted", "accepted", "returned", "withdrawn"]
Attributes = Annotated[dict[Name, JsonValue], Field(max_length=limits.MOST_PARAMETERS), AfterValidator(json_attributes)]
Place = tuple[int, int]
"""The attempt and the number of a segment in its run."""


def _changing(pieces: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    if len(BatchSchedule.of_pieces(pieces).sizes) == 1:
        raise ValueError("it has one batch size: state that as batch_size")
    return pieces


Piece = Annotated[tuple[int, int], Field(strict=False)]
Pieces = Annotated[tuple[Piece, ...], Field(strict=False, max_length=MOST_PIECES), AfterValidator(_changing)]
"""Batch sizes by step: pairs of a number of updates and the batch size of those that follow, from 0 on."""


class RunGoal(Document):
    """A goal of a run."""

    metric: Name
    target: float
    comparator: Name | None = None
    source: Text | None = None


class RunOrigin(Document):
    """The log that a run was converted from."""

    format: Name
    files: Annotated[dict[Name, Sha256], Field(max_length=limits.MOST_FILES)]


class RunFacts(Document):
    """The document run.json of a spool: what the run is.

    batch_size: None for a run that changes it, which has a batch_schedule instead. started_at: None for a run that was
    converted from a log. attributes, directions, train_steps: see docs/checks.md.
    """

    format: Literal["losslake-record/1"]
    collection: CollectionName
    dataset: PartName
    model: PartName
    optimizer: PartName
    batch_size: Annotated[int, Field(ge=1, lt=2**63)] | None = None
    batch_schedule: Pieces | None = None
    batch_schedule_name: Annotated[Name, Field(max_length=limits.LONGEST_SCHEDULE_NAME)] | None = None
    batch_unit: Name = "examples"
    licence: Name | None
    started_at: Seconds | None
    parameters: Annotated[dict[Name, Scalar], Field(max_length=limits.MOST_PARAMETERS)]
    goals: Annotated[tuple[RunGoal, ...], Field(max_length=limits.MOST_GOALS, strict=False)] = ()
    notes: Lines | None = None
    steps: Step | None = None
    train_steps: Step | None = None
    attributes: Attributes | None = None
    directions: Annotated[dict[Name, Direction], Field(max_length=limits.MOST_GOALS)] | None = None
    origin: RunOrigin | None = None

    @model_validator(mode="after")
    def _one_batch_size(self) -> RunFacts:
        if (self.batch_size is None) == (self.batch_schedule is None):
            raise ValueError("state batch_size, or batch_schedule for a batch size that changes: one of them")
        if self.batch_schedule_name is not None and self.batch_schedule is None:
            raise ValueError("batch_schedule_name without batch_schedule")
        return self

    @property
    def batch_sizes(self) -> str:
        """The batch size in words; of a run that changes it, all of them in order."""
        return (
            f"{self.batch_size:,}" if self.batch_schedule is None else BatchSchedule.of_pieces(self.batch_schedule).name
        )


class Segment(Document):
    """A segment of a run, by its place in the spool and its content. from_step: of its attempt, None for none."""

    attempt: Ordinal
    n: Ordinal
    from_step: Step | None = None
    bytes: Annotated[int, Field(ge=0, le=limits.LARGEST_SEGMENT)]
    sha256: Sha256

    @property
    def place(self) -> Place:
        """The place in its run."""
        return self.attempt, self.n

    @property
    def path(self) -> str:
        """The path of its file in the folder of the run."""
        return SegmentName(self.attempt, self.n, self.from_step).path


def segment_with(name: SegmentName, lines: bytes) -> Segment:
    """Return a segment with these JSON lines. It isn't validated."""
    attempt, n, from_step = name
    return Segment.model_construct(attempt=attempt, n=n, from_step=from_step, **digest_entry(lines))


class Gap(Document):
    """Measurements that weren't recorded: how many, why, and between which steps, if that is known."""

    reason: Text
    n: Count
    first_step: Step | None = None
    last_step: Step | None = None


class Finish(Document):
    """The end of a run, with all of its segments. ended_at: None for a run that was converted from a log.

    assumed_rewinds, other_counters: as in end.json of the recorder (docs/recording.md).
    """

    status: RunStatus
    ended_at: Seconds | None
    n_dropped: Count = 0
    gaps: Annotated[tuple[Gap, ...], Field(max_length=limits.MOST_GAPS, strict=False)] = ()
    assumed_rewinds: Count = 0
    other_counters: Annotated[tuple[Name, ...], Field(max_length=limits.MOST_GAPS, strict=False)] = ()
    segments: Annotated[tuple[Segment, ...], Field(max_length=limits.MOST_SEGMENTS, strict=False)]

    @model_validator(mode="after")
    def _each_once(self) -> Finish:
        if len({segment.place for segment in self.segments}) < len(self.segments):
            raise ValueError("segments has the same attempt and n twice")
        steps = {(segment.attempt, segment.from_step) for segment in self.segments}
        if len(steps) > len({segment.attempt for segment in self.segments}):
            raise ValueError("segments of the same attempt differ in from_step")
        return self


class SubmissionOfRun(Document):
    """The submission that a contribution is in. reason: why it was returned. release: that it was accepted into."""

    id: str
    state: SubmissionState
    reason: str | None = None
    release: int | None = None


class ContributionStatus(Document):
    """The state of a contribution. links: pages about it, `live` by a link that expires."""

    id: RunId
    state: ContributionState
    n_segments: int
    bytes: int
    submission: SubmissionOfRun | None = None
    links: dict[str, str] = Field(default_factory=dict)


class HeldSegments(Document):
    """The segments that the service holds of a contribution, by attempt and number."""

    id: RunId
    state: ContributionState
    segments: Annotated[tuple[Segment, ...], Field(strict=False)]
