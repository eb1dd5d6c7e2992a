"""Clean-up: files that no segment names, runs that were never finished, and links that ended long ago."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from functools import partial

from sqlalchemy import ColumnElement, and_, delete, exists, or_, select
from sqlalchemy.orm import Session

from losslake_contributions.intake.segments import delete_segments
from losslake_contributions.people.links import delete_ended_links, delete_links
from losslake_contributions.store.database import Database
from losslake_contributions.store.private_files import FOLDER
from losslake_contributions.store.tables import ERASED_FACTS, Contribution, HeldSegment

GRACE = timedelta(days=1)
_AGE_OF_ENDED_LINKS = timedelta(days=30)
_log = logging.getLogger(__name__)


def clean_contributions(database: Database, unfinished_days: float) -> None:
    """Delete runs that were never finished, unless the days are 0, files that no segment names, and old links."""
    if unfinished_days:
        delete_unfinished(database, timedelta(days=unfinished_days))
    delete_orphans(database)
    delete_ended_links(database, _AGE_OF_ENDED_LINKS)


def delete_orphans(database: Database, grace: timedelta = GRACE) -> int:
    """Delete the files that no segment names and that are older than the grace time; return their number.

    Requests that failed leave them.
    """
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

    query = select(Contribution.id, Contribution.contributor).where(_is_abandoned(before))
    n_deleted = 0
    for run, contributor in database.read(lambda session: session.execute(query).all()):
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


def _is_abandoned(before: datetime) -> ColumnElement[bool]:
    """Return the condition for runs without an end, and without a segment or a sign of life since a time.

    The tombstones of erased runs stay, so that these aren't taken again.
    """
    is_unseen = or_(Contribution.seen_at.is_(None), Contribution.seen_at < before)
    later = exists().where(HeldSegment.contribution == Contribution.id, HeldSegment.received_at >= before)
    is_open = and_(Contribution.end.is_(None), Contribution.submission.is_(None), Contribution.facts != ERASED_FACTS)
    return and_(is_open, Contribution.created_at < before, is_unseen, ~later)


def _delete_run(session: Session, run: str, before: datetime) -> list[str] | None:
    """Delete the rows of a run that is still abandoned; return the paths of its files, None if it has gone on."""
    if session.scalar(select(Contribution.id).where(Contribution.id == run, _is_abandoned(before))) is None:
        return None
    paths = [*session.scalars(select(HeldSegment.path).where(HeldSegment.contribution == run))]
    delete_segments(session, run)
    delete_links(session, [run])
    session.execute(delete(HeldSegment).where(HeldSegment.contribution == run))
    session.execute(delete(Contribution).where(Contribution.id == run))
    return paths
