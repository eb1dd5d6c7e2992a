"""The recorded runs in a folder: which are finished, what they consist of, and why one can't be sent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from losslake.record.spool import END, FORMAT, RUN, SEGMENT
from losslake_contributions.client.spool import digest_entry
from losslake_contributions.protocol.contributions import Finish, RunFacts, Segment
from losslake_contributions.protocol.limits import LARGEST_FACTS, LARGEST_SEGMENT
from losslake_contributions.protocol.texts import reason_of, run_id
from losslake_schema.errors import LossLakeError

_LARGEST_END = 1 << 22


@dataclass(frozen=True)
class LocalRun:
    """A run in a folder. end: how it ended, with its segments."""

    folder: Path
    id: str
    run_json: bytes
    facts: RunFacts
    end: Finish

    def read(self, segment: Segment) -> bytes:
        """Return the JSON lines of a segment; raise LossLakeError if they aren't as they were when the run ended."""
        path = self.folder / segment.path
        try:
            data = path.read_bytes()
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
    """The runs below a folder. unfinished: without an end. faulty: others that can't be sent, with the reason."""

    runs: list[LocalRun] = field(default_factory=list)
    unfinished: list[Path] = field(default_factory=list)
    faulty: list[tuple[Path, str]] = field(default_factory=list)


def find_runs(folder: Path, with_unfinished: bool = False) -> LocalRuns:
    """Return the recorded runs below a folder, by id; raise LossLakeError if there is no such folder.

    with_unfinished: also those without an end, as INCOMPLETE with what is there now.
    """
    if not folder.is_dir():
        raise LossLakeError(f"{folder} is not a folder: give the one in which runs were recorded")
    runs = LocalRuns()
    for path in sorted(folder.rglob(RUN)):
        place = path.parent
        try:
            start = path.open("rb").read(100)
            if path.is_symlink() or FORMAT.encode() not in start:
                continue  # run.json of another tool
            if not (place / END).exists() and not with_unfinished:
                runs.unfinished.append(place)
                continue
            runs.runs.append(_run(place))
        except OSError as error:
            runs.faulty.append((place, f"can't be read ({error.strerror})"))
        except LossLakeError as error:
            runs.faulty.append((place, str(error)))
    runs.runs.sort(key=lambda run: run.id)
    for first, second in zip(runs.runs, runs.runs[1:], strict=False):
        if first.id == second.id:
            raise LossLakeError(f"{first.folder} and {second.folder} are the same run: take one of them away")
    return runs


def _run(folder: Path) -> LocalRun:
    """Return the run in a folder; raise LossLakeError if it can't be sent."""
    try:
        name = run_id(folder.name)
    except ValueError as error:
        raise LossLakeError(f"{error}; the folder was renamed") from None
    run_json = _read(folder / RUN, LARGEST_FACTS)
    try:
        facts = RunFacts.model_validate_json(run_json)
        end = _end(folder)
    except ValidationError as error:
        raise LossLakeError(reason_of(error)) from None
    if not end.segments:
        raise LossLakeError("nothing was measured in it")
    return LocalRun(folder, name, run_json, facts, end)


def _end(folder: Path) -> Finish:
    """Return how a run ended; without an end, it is INCOMPLETE. Raises LossLakeError and ValidationError."""
    path = folder / END
    if not path.exists():
        files = [file for file in sorted(folder.glob("*/*.jsonl")) if file.is_file() and not file.is_symlink()]
        ended_at = max((file.stat().st_mtime for file in files), default=0.0)
        digests = {file.relative_to(folder).as_posix(): digest_entry(_read(file, LARGEST_SEGMENT)) for file in files}
        segments = tuple(_segments(digests))
        return Finish(status="INCOMPLETE", ended_at=ended_at, n_dropped=0, segments=segments)
    try:
        document = json.loads(_read(path, _LARGEST_END))
        named = document.pop("segments")
        segments = tuple(_segments(named))
    except (ValueError, AttributeError, KeyError, TypeError):
        raise LossLakeError(f"{path} isn't as the recorder writes it: record the run again") from None
    fields = {name: value for name, value in document.items() if name in Finish.model_fields}
    return Finish.model_validate_json(json.dumps({**fields, "segments": [each.model_dump() for each in segments]}))


def _segments(named: dict[str, dict[str, object]]) -> Iterator[Segment]:
    for path, digest in named.items():
        match = SEGMENT.fullmatch(path)
        if match is None:
            raise ValueError(path)
        step = int(match["step"]) if match["step"] is not None else None
        yield Segment.model_validate(
            {
                "attempt": int(match["attempt"]), "n": int(match["number"]), "from_step": step,
                "bytes": digest["bytes"], "sha256": digest["sha256"],
            }
        )  # fmt: skip


def _read(path: Path, most: int) -> bytes:
    if path.stat().st_size > most:
        raise LossLakeError(f"{path} has more than {most:,} bytes")
    return path.read_bytes()
