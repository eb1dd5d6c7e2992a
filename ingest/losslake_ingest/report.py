"""What an ingest tells its caller: progress while it runs, and a summary at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Quarantined:
    """Something offered that was not stored: which rule it broke, where, and what to do about it.

    path is within the source; line counts from 1, None where a line makes no sense; study and trial_id are
    None where unknown.
    """

    source: str
    path: str
    rule: str
    message: str
    line: int | None = None
    study: str | None = None
    trial_id: int | None = None
    sha256: str | None = None

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line is not None else self.path
        return f"{self.rule}: {where}: {self.message}"


class Progress(Protocol):
    """Hears how an ingest gets on; called from one thread."""

    def begin(self, source: str, total_bytes: int | None) -> None:
        """A source is opened; its size in bytes as offered (compressed), where known."""

    def advance(self, bytes_read: int, trials: int, evaluations: int) -> None:
        """Totals of the current source so far: bytes read of its size, trials and evaluations taken in."""

    def stage(self, name: str) -> None:
        """A new phase begins, for example `publishing`."""


class Silence:
    """A Progress that says nothing."""

    def begin(self, source: str, total_bytes: int | None) -> None: ...

    def advance(self, bytes_read: int, trials: int, evaluations: int) -> None: ...

    def stage(self, name: str) -> None: ...


@dataclass(frozen=True)
class SourceReport:
    """How a source was read: the files that begin a run by format, other files, and the mapping that was used.

    is_whole: whether the counts are of all files; of a large archive only the first two hundred are looked at.
    remarks: short sentences about single cases of what the readers had to decide, and how many cases there were.
    left_out: columns of which nothing says what they are, and of how many runs.
    """

    source: str
    files: Mapping[str, int]
    other_files: int
    excluded_files: int
    is_whole: bool
    mapping: str | None
    remarks: tuple[tuple[str, int], ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Summary:
    """What became of everything that was offered in one ingest.

    release is the newest release afterwards, and published says whether this ingest made it. broken holds one line per
    source that could not be read to its end; what was whole before the break is stored.
    """

    release: int | None
    published: bool
    studies_ingested: int
    studies_unchanged: int
    trials_ingested: int
    trials_unchanged: int
    evaluations: int
    measurements: int
    nonfinite: int
    seconds: float
    quarantined: tuple[Quarantined, ...] = ()
    broken: tuple[str, ...] = ()
    sources: tuple[SourceReport, ...] = ()
