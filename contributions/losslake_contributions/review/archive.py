"""The runs of a submission as one archive of spools, which an ingest reads: the same bytes each time it is read.

It is made while it is read, one segment after the other, and nowhere stored. Its name is that of the submission, never
that of a file on this machine: the lake's ledger has only what stays.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from losslake.record.layout import END, RUN, document_bytes
from losslake_contributions.intake.segment_files import read_segment
from losslake_contributions.intake.segments import segment_of
from losslake_contributions.protocol.contributions import Finish, Segment
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.review.submissions import get_submission, request_of, source_name
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Contribution, HeldSegment
from losslake_ingest.contracts.rules import SourceBroken
from losslake_schema.errors import LossLakeError


@dataclass(frozen=True)
class SpoolFile:
    """A file of a run's spool. path: within the run's folder. read: returns its bytes, or raises LakeBroken."""

    path: str
    size: int
    read: Callable[[], bytes]


class SubmissionArchive:
    """The archive of a submission, as a `SourceFile` of an ingest. failure: why it could not be read to its end."""

    top = None
    is_streamed = True  # so that its place is its name, and nothing is published before `sha256` has verified it

    def __init__(self, database: Database, submission: str) -> None:
        """Raise ContributionError if there is no such submission. No segment is read yet."""
        self._database = database
        self._submission = submission
        self._sha256: str | None = None
        self.name = source_name(submission)
        self.failure: LossLakeError | OSError | None = None
        self.size = sum(len(header) + file.size + padding for header, file, padding in self._members())
        self._end = bytes(-(self.size + 2 * tarfile.BLOCKSIZE) % tarfile.RECORDSIZE + 2 * tarfile.BLOCKSIZE)
        self.size += len(self._end)

    @property
    def path(self) -> Path:
        """A path for mappings; nothing exists there."""
        return Path("/", self.name)

    def open(self) -> IO[bytes]:
        """Open the archive for reading once from start to end. Reading raises SourceBroken if a segment can't be."""
        return cast(IO[bytes], _Reader(self._verified()))

    def sha256(self) -> str:
        """Return the SHA-256 of the archive; raise SourceBroken if it could not be read."""
        if self._sha256 is None and self.failure is None:
            for _ in self._verified():
                pass
        if self._sha256 is None or self.failure is not None:
            raise SourceBroken(str(self.failure))
        return self._sha256

    def expected_sha256(self) -> str | None:
        """Return the SHA-256 of the archive once it was read."""
        return self._sha256

    def stamp(self) -> tuple[int, ...]:
        """Return an empty tuple: `sha256` notices changes."""
        return ()

    def _verified(self) -> Iterator[bytes]:
        """Yield the archive in pieces. Raises SourceBroken if a segment can't be read, or the runs aren't as before."""
        whole, n_bytes = hashlib.sha256(), 0
        try:
            for piece in self._pieces():
                whole.update(piece)
                n_bytes += len(piece)
                yield piece
            if n_bytes != self.size or self._sha256 not in (None, whole.hexdigest()):
                raise ContributionError("conflict", f"the runs of {self._submission} changed while they were read")
        except (LossLakeError, OSError) as error:
            self.failure = error
            raise SourceBroken(str(error)) from error
        self._sha256 = whole.hexdigest()

    def _pieces(self) -> Iterator[bytes]:
        for header, file, padding in self._members():
            yield header
            yield file.read()
            yield bytes(padding)
        yield self._end

    def _members(self) -> Iterator[tuple[bytes, SpoolFile, int]]:
        """Yield the header, the file and the length of the padding of each entry."""
        for run in stored_runs(self._database, self._submission):
            for file in spool_files(self._database, run):
                member = tarfile.TarInfo(f"{run.id}/{file.path}")
                member.size = file.size
                yield member.tobuf(tarfile.PAX_FORMAT), file, -file.size % tarfile.BLOCKSIZE


class _Reader(io.RawIOBase):
    """A file that is read once from start to end."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")
        self._at = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, except at the end, and return the number of bytes."""
        filled = 0
        while filled < len(buffer):
            if not self._rest:
                piece = next(self._pieces, None)
                if piece is None:
                    break
                self._rest = memoryview(piece)
            size = min(len(buffer) - filled, len(self._rest))
            buffer[filled : filled + size] = self._rest[:size]
            self._rest = self._rest[size:]
            filled += size
        self._at += filled
        return filled


@dataclass(frozen=True)
class StoredRun:
    """A run of a submission. facts: its run.json. segments: with the path of their file in the store."""

    id: str
    facts: Mapping[str, Any]
    end: Finish
    segments: tuple[tuple[Segment, str], ...]


def spool_files(database: Database, run: StoredRun) -> Iterator[SpoolFile]:
    """Yield the files of a run's spool; none is read yet."""
    yield _document(RUN, run.facts)
    for segment, path in run.segments:
        yield SpoolFile(segment.path, segment.bytes, partial(read_segment, database.lake, path, segment.sha256))
    digests = {segment.path: {"bytes": segment.bytes, "sha256": segment.sha256} for segment in run.end.segments}
    optional = {name for name in ("gaps", "assumed_rewinds", "other_counters") if not getattr(run.end, name)}
    end = run.end.model_dump(exclude={"segments", *optional})
    yield _document(END, {**end, "segments": digests})


def stored_runs(database: Database, submission: str) -> Iterator[StoredRun]:
    """Yield the runs of a submission by id, each read when it is drawn. Raises ContributionError if there is none."""
    request = database.read(lambda session: request_of(session, get_submission(session, submission)))
    for run in request.contributions:
        yield stored_run(database, run, request.licence)


def stored_run(database: Database, run: str, licence: str) -> StoredRun:
    """Return a finished run. licence: of its submission; it is that of a run that states none."""

    def query(session: Session) -> StoredRun:
        row = session.get_one(Contribution, run)
        if row.end is None:
            raise ContributionError("conflict", f"{run} isn't finished any more")
        rows = select(HeldSegment).where(HeldSegment.contribution == run).order_by(HeldSegment.attempt, HeldSegment.n)
        segments = tuple((segment_of(each), each.path) for each in session.scalars(rows))
        facts = json.loads(row.facts)
        if facts.get("licence") is None:
            facts["licence"] = licence
        return StoredRun(run, facts, Finish.model_validate_json(row.end), segments)

    return database.read(query)


def _document(name: str, document: Mapping[str, Any]) -> SpoolFile:
    """Return a document as the recorder writes it."""
    data = document_bytes(document)
    return SpoolFile(name, len(data), lambda: data)
