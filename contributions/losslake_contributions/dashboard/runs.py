"""A run of the dashboard as it was read last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from losslake.record.numbers import NUMBER_WORDS
from losslake_contributions.dashboard.series import Series
from losslake_ingest.contracts.run_log import Scalar
from losslake_ingest.mapping.metrics import guess_metric
from losslake_ingest.readers.safe_parsing import printable, scalars
from losslake_schema.registry import Direction, metrics

StateKind = Literal["running", "silent", "finished"]
LONGEST_TEXT = 200
MOST_TAGS = 20


@dataclass(frozen=True)
class LiveRun:
    """A run. path: below the folder that is shown, by which it is known; changes when it is moved.

    status: the log's own word for how it ended, None if it doesn't say so. seen_at: Unix seconds of its last sign of
    life. workload: None if the log doesn't state it. notes: sentences about what is missing or can't be read.
    is_sampled: the curves are of a part of its lines, as it is still being read. silent_after: seconds without a sign
    of life. settles_after: seconds in which a log with a status may still grow. state, version: set by the index; the
    version is that at which the run changed last.
    """

    path: str
    name: str
    seen_at: float
    status: str | None = None
    tags: tuple[str, ...] = ()
    group: str = ""
    workload: str | None = None
    batch_size: int | None = None
    batch_unit: str = "examples"
    parameters: Mapping[str, Scalar] = field(default_factory=dict)
    directions: Mapping[str, Direction] = field(default_factory=dict)
    series: Mapping[str, Series] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    is_sampled: bool = False
    silent_after: float = 60.0
    settles_after: float = 0.0
    state: StateKind = "running"
    version: int = 0

    def direction(self, metric: str) -> Direction | None:
        """Return which values of a metric are better; None if nothing says so."""
        registered = metrics().get(metric) or metrics().get(guess_metric(metric) or "")
        return self.directions.get(metric) or (registered.direction if registered is not None else None)

    def state_at(self, now: float) -> StateKind:
        """Return the state at a time in Unix seconds."""
        if self.status is not None and now - self.seen_at >= self.settles_after:
            return "finished"
        return "silent" if now - self.seen_at > self.silent_after else "running"

    @property
    def last_step(self) -> int | None:
        """The last step of any metric."""
        return max((each.last_step for each in self.series.values()), default=None)


def shown_text(value: object) -> str:
    """Return a text of a log so that it can be shown; empty for anything else."""
    return printable(value[:LONGEST_TEXT]) if isinstance(value, str) else ""


def shown_parameters(stated: Mapping[str, object]) -> dict[str, Scalar]:
    """Return the numbers and texts of an object of a log as they can be shown; NaN and infinities are texts there."""
    return {
        printable(name[:LONGEST_TEXT]): NUMBER_WORDS.get(value, value[:LONGEST_TEXT])
        if isinstance(value, str)
        else value
        for name, value in scalars(stated.items()).items()
    }
