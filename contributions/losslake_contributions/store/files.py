"""The files of contributions in the lake's store, below `contributions/`: segments, compressed with zstd.

A file has a name of its own each time it is stored, so that a request that is sent twice never writes over what was
acknowledged. Files that no row names are left by requests that failed, and deleted after a day. Runs that were never
finished are deleted after a time that the operator sets.
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from datetime import UTC, datetime, timedelta
from functools import partial

import zstandard
from sqlalchemy import ColumnElement, and_, delete, exists, or_, select
from sqlalchemy.orm import Session

from losslake.lake.lake import Lake
from losslake_contributions.contract.contributions import Segment
from losslake_contributions.contract.limits import LARGEST_SEGMENT
from losslake_contributions.errors import SegmentBroken
from losslake_contributions.store.database import Database
from losslake_contributions.store.open_segments import delete_segments
from losslake_contributions.store.tables import ERASED_FACTS, Contribution, HeldSegment

FOLDER = "contributions"
DRAFTS = "drafts"  # on this machine, made again as needed
GRACE = timedelta(days=1)
_LEVEL = 3
_log = logging.getLogger(__name__)


def store_segment(lake: Lake, run: str, segment: Segment, data: bytes) -> str:
    """Store the JSON lines of a segment, and return the path of the file once it is durable."""
    path = f"{FOLDER}/{run}/{segment.attempt}-{segment.n}-{uuid.uuid4().hex}.jsonl.zst"
    lake.store.put(path, zstandard.ZstdCompressor(_LEVEL).compress(data))
    lake.store.sync([path])
    return path


def read_segment(lake: Lake, path: str, sha256: str) -> bytes:
    """Return the JSON lines of a stored segment; raise SegmentBroken if they aren't as they were acknowledged."""
    try:
        data = zstandard.ZstdDecompressor().decompress(bytes(lake.store.read(path)), max_output_size=LARGEST_SEGMENT)
    except FileNotFoundError:
        raise SegmentBroken(f"{path} is missing: restore it") from None
    except zstandard.ZstdError as error:
        raise SegmentBroken(f"{path} can't be unpacked ({error}): restore it") from None
    if hashlib.sha256(data).hexdigest() != sha256:
        raise SegmentBroken(f"{path} was altered: restore it")
    return data


def delete_orphans(database: Database, grace: timedelta = GRACE) -> int:
    """Delete the files that no segment names and that are older than the grace time; return their number."""
    lake = database.lake
    before = datetime.now(UTC) - grace
    # Listed before the rows are read: a file whose row comes later than that is younger than the grace time.
    old = {file.path for file in lake.store.list_files(FOLDER) if file.modified < before}
    if not old:
        return 0
    named = database.read(lambda session: set(session.scalars(select(HeldSegment.path))))
    orphans = sorted(old - named)
    lake.store.delete(orphans)
    if orphans:
        _log.info("deleted %d files of contributions that were never acknowledged", len(orphans))
    return len(orphans)


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
        # The transaction locks its contributor, so that no segment comes in and no end meanwhile.
        paths = database.write(contributor, partial(_delete_run, run=run, before=before))
        if paths is not None:
            database.lake.store.delete(paths)
            n_deleted += 1
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
    session.execute(delete(HeldSegment).where(HeldSegment.contribution == run))
    session.execute(delete(Contribution).where(Contribution.id == run))
    return paths
