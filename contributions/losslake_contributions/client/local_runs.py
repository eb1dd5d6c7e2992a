"""Prepared runs, checked as the service checks them: which can be sent, and why others can't."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from losslake.record.layout import END, RUN, SegmentName, digest_entry
from losslake_contributions.client.prepared_run import PreparedRun
from losslake_contributions.protocol.contributions import Finish, RunFacts, Segment
from losslake_contributions.protocol.limits import LARGEST_FACTS, LARGEST_SEGMENT
from losslake_contributions.protocol.texts import reason_of, run_id
from losslake_schema.errors import LossLakeError


@dataclass(frozen=True)
class LocalRun:
    """A run that can be sent. end: how it ended, with its segments."""

    prepared: PreparedRun
    id: str
    run_json: bytes
    facts: RunFacts
    end: Finish

    def read(self, segment: Segment) -> bytes:
        """Return the JSON lines of a segment; raise LossLakeError if they aren't as they were when the run ended."""
        path = self.prepared.folder / segment.path
        try:
            data = self.prepared.segment(segment.path)
        except OSError as error:
            raise LossLakeError(f"{path} can't be read ({error.strerror})") from None
        if hashlib.sha256(data).hexdigest() != segment.sha256:
            raise LossLakeError(f"{path} has changed since the run ended: restore it, or record the run again")
        return data

    @cached_property
    def bytes(self) -> int:
        """The bytes of all segments."""
        return sum(segment.bytes for segment in self.end.segments)


@dataclass
class LocalRuns:
    """Runs, by id. unfinished: the folders of those without an end. faulty: of others that can't be sent, and why."""

    runs: list[LocalRun] = field(default_factory=list)
    unfinished: list[Path] = field(default_factory=list)
    faulty: list[tuple[Path, str]] = field(default_factory=list)


def local_runs(prepared: Iterable[PreparedRun], with_unfinished: bool = False) -> LocalRuns:
    """Return which of some runs can be sent.

    with_unfinished: also those without an end, as INCOMPLETE with what is there now.
    """
    runs = LocalRuns()
    for run in sorted(prepared, key=lambda each: each.name):
        if run.is_unfinished and not with_unfinished:
            runs.unfinished.append(run.recorded or run.folder)
            continue
        try:
            runs.runs.append(local_run(run))
        except (OSError, LossLakeError) as error:
            reason = f"can't be read ({error.strerror})" if isinstance(error, OSError) else str(error)
            runs.faulty.append((run.folder, reason))
    return runs


def local_run(prepared: PreparedRun) -> LocalRun:
    """Return a run that can be sent; raise LossLakeError if it can't, and OSError."""
    try:
        name = run_id(prepared.name)
    except ValueError as error:
        raise LossLakeError(f"{error}; the folder was renamed") from None
    run_json = prepared.documents()[RUN]
    _check_size(prepared.folder / RUN, len(run_json), LARGEST_FACTS)
    try:
        facts = RunFacts.model_validate_json(run_json)
        end = _end(prepared)
    except ValidationError as error:
        raise LossLakeError(reason_of(error)) from None
    if not end.segments:
        raise LossLakeError("nothing was measured in it")
    return LocalRun(prepared, name, run_json, facts, end)


def _end(prepared: PreparedRun) -> Finish:
    """Return how a run ended; without an end, it is INCOMPLETE. Raises LossLakeError, ValidationError and OSError."""
    if prepared.end is None:
        files = [prepared.folder / path for path in prepared.segments]
        ended_at = max((file.stat().st_mtime for file in files), default=0.0)
        digests = {}
        for path in prepared.segments:
            data = prepared.segment(path)
            _check_size(prepared.folder / path, len(data), LARGEST_SEGMENT)
            digests[path] = digest_entry(data)
        return Finish(status="INCOMPLETE", ended_at=ended_at, n_dropped=0, segments=tuple(_segments(digests)))
    try:
        segments = tuple(_segments(prepared.end["segments"]))
    except (ValueError, AttributeError, KeyError, TypeError):
        raise LossLakeError(f"{prepared.folder / END} isn't as the recorder writes it: record the run again") from None
    fields = {name: value for name, value in prepared.end.items() if name in Finish.model_fields}
    return Finish.model_validate({**fields, "segments": segments})


def _segments(digests: Mapping[str, Mapping[str, object]]) -> Iterator[Segment]:
    """Yield the segments that an end names. Raises ValueError for a path that isn't that of a segment."""
    for path, digest in digests.items():
        name = SegmentName.parse(path)
        if name is None:
            raise ValueError(path)
        fields = {"attempt": name.attempt, "n": name.number, "from_step": name.from_step}
        yield Segment.model_validate({**fields, "bytes": digest["bytes"], "sha256": digest["sha256"]})


def _check_size(path: Path, size: int, most: int) -> None:
    if size > most:
        raise LossLakeError(f"{path} has more than {most:,} bytes")
