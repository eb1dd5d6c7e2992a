"""The files of contributions in the lake's store, below `contributions/`: segments, compressed with zstd.

A file has a name of its own each time it is stored, so that a request that is sent twice never writes over what was
acknowledged. Files that no row names are left by requests that failed, and deleted after a day. Runs that were never
finished are deleted after a time that the operator sets.
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from tempfile import TemporaryFile
from typing import BinaryIO, Self

import zstandard
from sqlalchemy import ColumnElement, and_, delete, exists, or_, select
from sqlalchemy.orm import Session

from losslake.lake.lake import Lake
from losslake_contributions.intake.open_segments import delete_segments
from losslake_contributions.people.links import delete_links
from losslake_contributions.protocol.contributions import Segment
from losslake_contributions.protocol.errors import SegmentBroken
from losslake_contributions.store.database import Database
from losslake_contributions.store.private_files import FOLDER
from losslake_contributions.store.tables import ERASED_FACTS, Contribution, HeldSegment

GRACE = timedelta(days=1)
# Whoever unpacks a file needs memory for a window, which is 2 MB by default. With this one, files are no larger.
_PARAMETERS = zstandard.ZstdCompressionParameters.from_level(3, window_log=17)
_PIECE = 1 << 15
_log = logging.getLogger(__name__)


def store_segment(lake: Lake, run: str, segment: Segment, data: bytes) -> str:
    """Store the JSON lines of a segment, and return the path of the file once it is durable."""
    path = f"{FOLDER}/{run}/{segment.attempt}-{segment.n}-{uuid.uuid4().hex}.jsonl.zst"
    try:
        lake.store.put(path, zstandard.ZstdCompressor(compression_params=_PARAMETERS).compress(data))
        lake.store.sync([path])
    except OSError:
        # Else each attempt would leave a part of the file on a disk that is full.
        with suppress(OSError):
            lake.store.delete([path])
        raise
    return path


def read_segment(lake: Lake, path: str, sha256: str) -> bytes:
    """Return the JSON lines of a stored segment; raise SegmentBroken if they aren't as they were acknowledged."""
    with _opened(lake, path) as segment:
        pieces = [*segment.pieces()]
    _check(path, pieces, sha256)
    return b"".join(pieces)


class SegmentFile:
    """The JSON lines of a stored segment, which are unpacked piece by piece. bytes: of all, once counted."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file = file
        self._path = path
        self.bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def pieces(self) -> Iterator[bytes]:
        """Yield the lines in pieces of any size; raise SegmentBroken if they can't be unpacked."""
        self._file.seek(0)
        try:
            with zstandard.ZstdDecompressor().stream_reader(self._file, _PIECE, closefd=False) as lines:
                while piece := lines.read(_PIECE):
                    yield piece
        except zstandard.ZstdError as error:
            raise SegmentBroken(f"{self._path} can't be unpacked ({error}): restore it") from None


def open_segment(lake: Lake, path: str, sha256: str) -> SegmentFile:
    """Open a stored segment, whose lines are read; raise SegmentBroken if they aren't as they were acknowledged."""
    segment = _opened(lake, path)
    try:
        segment.bytes = _check(path, segment.pieces(), sha256)
    except BaseException:
        segment.__exit__()
        raise
    return segment


def _opened(lake: Lake, path: str) -> SegmentFile:
    try:
        return SegmentFile(_open_file(lake, path), path)
    except FileNotFoundError:
        raise SegmentBroken(f"{path} is missing: restore it") from None


def _check(path: str, pieces: Iterable[bytes], sha256: str) -> int:
    """Return the bytes of lines; raise SegmentBroken if they don't have this digest."""
    digest, n_bytes = hashlib.sha256(), 0
    for piece in pieces:
        n_bytes += len(piece)
        digest.update(piece)
    if digest.hexdigest() != sha256:
        raise SegmentBroken(f"{path} was altered: restore it")
    return n_bytes


def _open_file(lake: Lake, path: str) -> BinaryIO:
    """Open a file of the store, or a copy of it without a name, of which a kill leaves nothing."""
    folder = lake.store.local_folder
    if folder is not None:
        return (folder / path).open("rb")
    data = lake.store.read(path)
    copy = TemporaryFile(dir=lake.folder)  # noqa: SIM115 - closed with the segment
    copy.write(data)
    return copy


def delete_orphans(database: Database, grace: timedelta = GRACE) -> int:
    """Delete the files that no segment names and that are older than the grace time; return their number."""
    lake = database.lake
    before = datetime.now(UTC) - grace
    # Listed before the rows are read: a file whose row comes later than that is younger than the grace time.
    old = {file.path for file in lake.store.list_files(FOLDER) if file.modified < before}
    if not old:
        return 0
    named = database.read(lambda session: set(session.scalars(select(HeldSegment.path))))
    n_deleted = 0
    for path in sorted(old - named):
        try:
            lake.store.delete([path])
            n_deleted += 1
        except OSError as error:
            _log.warning("%s can't be deleted: %s", lake.store.display_name(path), error)
    if n_deleted:
        _log.info("deleted %d files of contributions that were never acknowledged", n_deleted)
    return n_deleted


def delete_unfinished(database: Database, age: timedelta) -> int:
    """Delete the runs without an end that are older, as are their last segment and sign of life; return their number.

    The quota that they have used stays used. Sent again, such a run begins anew.
    """
    before = datetime.now(UTC) - age

    def query(session: Session) -> list[tuple[str, str]]:
        rows = session.execute(select(Contribution.id, Contribution.contributor).where(_is_left(before)))
        return [(run, contributor) for run, contributor in rows]

    n_deleted = 0
    for run, contributor in database.read(query):
        try:
            # The transaction locks its contributor, so that no segment comes in and no end meanwhile.
            paths = database.write(contributor, partial(_delete_run, run=run, before=before))
            if paths is not None:
                n_deleted += 1
                database.lake.store.delete(paths)
        except Exception:  # noqa: BLE001 - whatever it is, the other runs are deleted
            _log.exception("the run %s was never finished and can't be deleted as a whole", run)
    if n_deleted:
        _log.info("deleted %d runs that were never finished", n_deleted)
    return n_deleted


def _is_left(before: datetime) -> ColumnElement[bool]:
    """Return the condition for runs without an end, and without a segment or a sign of life since a time.

    The tombstones of erased runs stay, so that these aren't taken again.
    """
    is_unseen = or_(Contribution.seen_at.is_(None), Contribution.seen_at < before)
    later = exists().where(HeldSegment.contribution == Contribution.id, HeldSegment.received_at >= before)
    is_open = and_(Contribution.end.is_(None), Contribution.submission.is_(None), Contribution.facts != ERASED_FACTS)
    return and_(is_open, Contribution.created_at < before, is_unseen, ~later)


def _delete_run(session: Session, run: str, before: datetime) -> list[str] | None:
    """Delete the rows of a run that is still left; return the paths of its files, None if it has gone on."""
    if session.scalar(select(Contribution.id).where(Contribution.id == run, _is_left(before))) is None:
        return None
    paths = [*session.scalars(select(HeldSegment.path).where(HeldSegment.contribution == run))]
    delete_segments(session, run)
    delete_links(session, [run])
    session.execute(delete(HeldSegment).where(HeldSegment.contribution == run))
    session.execute(delete(Contribution).where(Contribution.id == run))
    return paths
