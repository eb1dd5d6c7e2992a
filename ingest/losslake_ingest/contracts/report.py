"""Reports of an ingest to its caller: progress while it runs, and a summary at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from losslake_ingest.contracts.rules import MissingField
from losslake_schema.names import Trial

UNUSED = "part of the mapping that applies to no log, to be corrected or left out"
MOST_NAMED = 5


@dataclass(frozen=True)
class Quarantined:
    """An item of a source that was not stored: the rule that it breaks, where, and what to do about it.

    path: within the source. line: counted from 1; None if not applicable. study, trial_id: None if unknown. missing:
    what the mapping would have to state.
    """

    source: str
    path: str
    rule: str
    message: str
    line: int | None = None
    study: str | None = None
    trial_id: int | None = None
    sha256: str | None = None
    missing: tuple[MissingField, ...] = ()

    def __str__(self) -> str:
        """Return rule, place and message in one line."""
        where = f"{self.path}:{self.line}" if self.line is not None else self.path
        return f"{self.rule}: {where}: {self.message}"


class Progress(Protocol):
    """A listener for the progress of an ingest. Never called from two threads at once."""

    def begin(self, source: str, total_bytes: int | None) -> None:
        """Begin a source; total_bytes is its (compressed) size, if known."""

    def advance(self, bytes_read: int, trials: int, evaluations: int) -> None:
        """Report totals of the current source: bytes read, trials and evaluations ingested."""

    def stage(self, name: str) -> None:
        """Begin a phase, for example `publishing`."""


class NoProgress:
    """A Progress that ignores all reports."""

    def begin(self, source: str, total_bytes: int | None) -> None:
        """Do nothing."""

    def advance(self, bytes_read: int, trials: int, evaluations: int) -> None:
        """Do nothing."""

    def stage(self, name: str) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class SourceReport:
    """The report of a source: the number of files by format, other files, and the mapping used.

    is_whole: all files were counted; of a large archive only the first 200 are. remarks: decisions of the readers, as
    short sentences with the number of cases. left_out: columns that nothing maps to a metric, with the number of runs.
    unused: conditions and path patterns of the mapping file that apply to no log of the source.
    """

    source: str
    files: Mapping[str, int]
    other_files: int
    excluded_files: int
    is_whole: bool
    mapping: str | None
    remarks: tuple[tuple[str, int], ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()
    unused: tuple[str, ...] = ()


def with_unused(reports: Sequence[SourceReport]) -> list[SourceReport]:
    """Return the reports of an ingest, the first of each mapping with a remark on what applies to none of its logs."""
    unused: dict[str | None, set[str]] = {}
    for report in reports:
        unused.setdefault(report.mapping, set(report.unused)).intersection_update(report.unused)
    remarked = []
    for report in reports:
        labels = sorted(unused.pop(report.mapping, ()))
        named = "; ".join([*labels[:MOST_NAMED], *(["…"] if len(labels) > MOST_NAMED else [])])
        remark = [(f"{UNUSED}: {named}", len(labels))] if labels else []
        remarked.append(replace(report, remarks=(*report.remarks, *remark)))
    return remarked


@dataclass(frozen=True)
class Summary:
    """The summary of one ingest.

    release: the newest release afterwards. published: this ingest published it. broken: a line for each source that
    could not be read to its end; everything complete before the break is stored. moved: where stored trials are now.
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
    moved: Mapping[Trial, Trial] = field(default_factory=dict)
