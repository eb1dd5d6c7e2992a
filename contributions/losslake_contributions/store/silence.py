"""Runs that were sent live and fell silent: the service finishes them as INCOMPLETE, with what it holds.

Pieces become segments with files of their own, which are partial: a training that goes on, or a push, replaces them.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from sqlalchemy import select
from sqlalchemy.orm import Session

from losslake_contributions.contract.contributions import Finish, Segment
from losslake_contributions.store.contributions import forget_segment, held_segments, hold_segment
from losslake_contributions.store.database import Database
from losslake_contributions.store.files import store_segment
from losslake_contributions.store.open_segments import delete_segments, lines_of
from losslake_contributions.store.tables import Contribution, HeldSegment, OpenSegment

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Silent:
    """A run that fell silent, and the lines of its open segments. seen_at: its last sign of life."""

    run: str
    contributor: str
    seen_at: datetime
    parts: Sequence[tuple[Segment, bytes]]


def end_silent_runs(database: Database, silent: timedelta) -> int:
    """Finish the runs without a sign of life for this long; return their number."""
    before = datetime.now(UTC) - silent
    query = select(Contribution.id).where(
        Contribution.end.is_(None), Contribution.submission.is_(None), Contribution.seen_at < before
    )
    names = database.read(lambda session: list(session.scalars(query)))
    n_ended = sum(_end_run(database, run) for run in names)
    if n_ended:
        _log.info("finished %d runs as INCOMPLETE, as there was no sign of life any more", n_ended)
    return n_ended


def _end_run(database: Database, run: str) -> bool:
    """Finish a run; return False if it has gone on, or was changed, meanwhile."""
    silent = database.read(partial(_read, run=run))
    if silent is None:
        return False
    paths = [store_segment(database.lake, run, segment, lines) for segment, lines in silent.parts]
    unused = database.write(silent.contributor, partial(_finish, silent=silent, paths=paths))
    database.lake.store.delete(paths if unused is None else unused)
    return unused is not None


def _read(session: Session, run: str) -> _Silent | None:
    """Return a run with the lines of its open segments; None if it is finished."""
    row = session.get(Contribution, run)
    if row is None or row.end is not None or row.seen_at is None:
        return None
    parts = []
    for each in session.scalars(select(OpenSegment).where(OpenSegment.contribution == run)):
        lines = lines_of(session, run, each.attempt, each.n)
        digest = hashlib.sha256(lines).hexdigest()
        segment = Segment.model_construct(
            attempt=each.attempt, n=each.n, from_step=each.from_step, bytes=len(lines), sha256=digest
        )
        parts.append((segment, lines))
    return _Silent(run, row.contributor, row.seen_at, parts)


def _finish(session: Session, silent: _Silent, paths: Sequence[str]) -> list[str] | None:
    """Finish a run as it was read; return the files that aren't used any more, None if it has gone on."""
    row = session.get(Contribution, silent.run)
    if row is None:
        return None
    if row.end is not None or row.submission is not None or _has_gone_on(session, row, silent):
        # Unless this transaction was committed before, and its answer lost.
        held = set(session.scalars(select(HeldSegment.path).where(HeldSegment.contribution == silent.run)))
        return [path for path in paths if path not in held] if held.intersection(paths) else None
    unused = []
    for (segment, _), path in zip(silent.parts, paths, strict=True):
        part = session.get(HeldSegment, (silent.run, segment.attempt, segment.n))
        if part is not None and part.bytes > segment.bytes:
            # It fell silent before, went on from the first byte, and wasn't sent as far again.
            unused.append(path)
            continue
        if part is not None:
            unused.append(part.path)
            forget_segment(session, part)
        hold_segment(session, row, segment, path, is_partial=True)
    delete_segments(session, silent.run)
    segments = tuple(held_segments(session, silent.run))
    end = Finish(status="INCOMPLETE", ended_at=silent.seen_at.timestamp(), n_dropped=0, segments=segments)
    row.end, row.finished_at, row.is_silent = end.model_dump_json(), datetime.now(UTC), True
    return unused


def _has_gone_on(session: Session, row: Contribution, silent: _Silent) -> bool:
    """Return True if a run was heard of since it was read, or a push has replaced pieces by whole segments."""
    query = select(OpenSegment.attempt, OpenSegment.n).where(OpenSegment.contribution == row.id)
    places = {(attempt, n) for attempt, n in session.execute(query)}
    return row.seen_at != silent.seen_at or places != {(part.attempt, part.n) for part, _ in silent.parts}
