"""The runs of a submission as one archive of spools, which an ingest reads: the same bytes each time it is made.

Its name is that of the submission, never that of a file on this machine: the lake's ledger has only what stays.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

from sqlalchemy import select
from sqlalchemy.orm import Session

from losslake_contributions.contract.contributions import Finish, Segment
from losslake_contributions.contract.submissions import SubmissionRequest
from losslake_contributions.errors import unknown_submission
from losslake_contributions.store.contributions import segment_of
from losslake_contributions.store.database import Database
from losslake_contributions.store.files import read_segment
from losslake_contributions.store.submissions import source_name
from losslake_contributions.store.tables import Contribution, HeldSegment, Submission


@dataclass(frozen=True)
class SubmissionArchive:
    """The archive of a submission, as a `SourceFile` of an ingest. file: where its bytes are now."""

    name: str
    file: Path

    top = None
    is_streamed = True  # so that its place is its name, and not where its bytes are

    @property
    def path(self) -> Path:
        """A path for mappings; nothing exists there."""
        return Path("/", self.name)

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.file.stat().st_size

    def open(self) -> IO[bytes]:
        """Open the archive for reading bytes."""
        return self.file.open("rb")

    def sha256(self) -> str:
        """Return the SHA-256 of the archive."""
        return self._sha256

    def expected_sha256(self) -> str:
        """Return the SHA-256 of the archive."""
        return self._sha256

    @cached_property
    def _sha256(self) -> str:
        with self.file.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def stamp(self) -> tuple[int, ...]:
        """Return an empty tuple: the archive doesn't change."""
        return ()


@dataclass(frozen=True)
class StoredRun:
    """A run of a submission. segments: with the path of their file in the store."""

    id: str
    facts: str
    end: Finish
    segments: tuple[tuple[Segment, str], ...]


@contextmanager
def submission_archive(database: Database, submission: str) -> Iterator[SubmissionArchive]:
    """Provide the archive of a submission. Raises LakeBroken if a segment isn't as it was acknowledged."""
    licence, runs = stored_runs(database, submission)
    with tempfile.TemporaryDirectory(prefix="losslake-submission-") as folder:
        file = Path(folder) / "spools.tar"
        with tarfile.open(file, "w", format=tarfile.PAX_FORMAT) as archive:
            for run in runs:
                for name, data in spool_files(database, run, licence):
                    _add(archive, f"{run.id}/{name}", data)
        yield SubmissionArchive(source_name(submission), file)


def spool_files(database: Database, run: StoredRun, licence: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the bytes of each file of a run's spool, one at a time.

    licence: of the submission; it is that of a run that states none.
    """
    facts = json.loads(run.facts)
    if facts.get("licence") is None:
        facts["licence"] = licence
    yield "run.json", _document(facts)
    for segment, path in run.segments:
        yield segment.path, read_segment(database.lake, path, segment.sha256)
    digests = {segment.path: {"bytes": segment.bytes, "sha256": segment.sha256} for segment in run.end.segments}
    end = run.end.model_dump(exclude={"segments"} if run.end.gaps else {"segments", "gaps"})
    yield "end.json", _document({**end, "segments": digests})


def stored_runs(database: Database, submission: str) -> tuple[str, list[StoredRun]]:
    """Return the licence of a submission, and its runs by id."""

    def query(session: Session) -> tuple[str, list[StoredRun]]:
        row = session.get(Submission, submission)
        if row is None:
            raise unknown_submission(submission)
        request = SubmissionRequest.model_validate_json(row.request)
        rows = select(Contribution).where(Contribution.id.in_(request.contributions)).order_by(Contribution.id)
        held = select(HeldSegment).where(HeldSegment.contribution.in_(request.contributions))
        segments: dict[str, list[tuple[Segment, str]]] = {}
        for each in session.scalars(held.order_by(HeldSegment.contribution, HeldSegment.attempt, HeldSegment.n)):
            segments.setdefault(each.contribution, []).append((segment_of(each), each.path))
        return request.licence, [
            StoredRun(row.id, row.facts, Finish.model_validate_json(row.end or ""), tuple(segments.get(row.id, ())))
            for row in session.scalars(rows)
        ]

    return database.read(query)


def _document(document: object) -> bytes:
    """Return a document as the recorder writes it."""
    return json.dumps(document, indent=1, ensure_ascii=False).encode()


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))
