"""Runs that were sent live and fell silent: the service finishes them as INCOMPLETE, with what it holds.

Pieces become segments with files of their own, which are partial: a training that goes on, or a push, replaces them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from losslake.record.layout import SegmentName
from losslake_contributions.intake.segment_files import store_segment
from losslake_contributions.intake.segments import delete_segments, held_segments, hold_segment, lines_of
from losslake_contributions.notifications.outbox import notify
from losslake_contributions.people import quotas
from losslake_contributions.protocol.contributions import Finish, Gap, Segment, segment_with
from losslake_contributions.protocol.limits import MOST_SEGMENTS
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Contribution, HeldSegment, OpenSegment

_log = logging.getLogger(__name__)


class _Open(NamedTuple):
    """An open segment. bytes, charged: as in its table."""

    name: SegmentName
    bytes: int
    charged: int


@dataclass(frozen=True)
class _Silent:
    """A run that fell silent. seen_at: its last sign of life. to_store: open segments that become files.

    excess: open segments that are more than a run may have, which only earlier versions took; they stay open.
    """

    run: str
    contributor: str
    seen_at: datetime
    to_store: Sequence[_Open]
    excess: frozenset[_Open]


def end_silent_runs(database: Database, silent: timedelta) -> int:
    """Finish the runs without a sign of life for this long; return their number. One that fails is logged."""
    before = datetime.now(UTC) - silent
    is_open = Contribution.end.is_(None), Contribution.submission.is_(None)
    query = select(Contribution.id).where(*is_open, Contribution.seen_at < before).order_by(Contribution.seen_at)
    n_ended = 0
    for run in database.read(lambda session: session.scalars(query).all()):
        try:
            n_ended += _end_run(database, run, before)
        except Exception:  # noqa: BLE001 - whatever it is, the other runs get their end
            _log.exception("the run %s fell silent and can't be finished: it is tried again", run)
    if n_ended:
        _log.info("finished %d runs as INCOMPLETE, as there was no sign of life any more", n_ended)
    return n_ended


def _end_run(database: Database, run: str, before: datetime) -> bool:
    """Finish a run; return False if it has gone on, or was changed, meanwhile."""
    silent = database.read(partial(_read, run=run, before=before))
    if silent is None:
        return False
    n_lines = sum(_lines(database, run, each).count(b"\n") for each in silent.excess)
    stored: list[tuple[Segment, str]] = []
    try:
        for each in silent.to_store:
            # One after the other: all lines of a run may be more than fits into memory.
            stored.append(_store(database, run, each))  # noqa: PERF401 - a failure deletes those before it
        unused = database.write(silent.contributor, partial(_finish, silent=silent, stored=stored, n_lines=n_lines))
    except DBAPIError:
        raise  # The end may be committed after all. If it isn't, its files are deleted a day later.
    except BaseException:
        database.lake.store.delete([path for _, path in stored])
        raise
    database.lake.store.delete([path for _, path in stored] if unused is None else unused)
    if unused is not None and n_lines:
        detail = f"{len(silent.excess):,} open segments with {n_lines:,} lines are kept, but not in its end"
        _log.warning("the run %s has more than %d segments: %s", run, MOST_SEGMENTS, detail)
    return unused is not None


def _read(session: Session, run: str, before: datetime) -> _Silent | None:
    """Return a run that fell silent; None if it is finished, or was heard of while others were finished."""
    row = session.get(Contribution, run)
    if row is None or row.end is not None or row.seen_at is None or row.seen_at >= before:
        return None
    opened = _open_segments(session, run)
    held = {segment.place for segment in held_segments(session, run)}
    new = [each for each in opened if each.name[:2] not in held]
    excess = frozenset(new[max(0, MOST_SEGMENTS - row.segments) :])
    return _Silent(run, row.contributor, row.seen_at, [each for each in opened if each not in excess], excess)


def _open_segments(session: Session, run: str) -> list[_Open]:
    """Return the open segments of a run, in order."""
    columns = OpenSegment.attempt, OpenSegment.n, OpenSegment.from_step, OpenSegment.bytes, OpenSegment.charged
    rows = select(*columns).where(OpenSegment.contribution == run).order_by(OpenSegment.attempt, OpenSegment.n)
    return [
        _Open(SegmentName(attempt, n, from_step), n_bytes, charged)
        for attempt, n, from_step, n_bytes, charged in session.execute(rows)
    ]


def _lines(database: Database, run: str, opened: _Open) -> bytes:
    return database.read(lambda session: lines_of(session, run, *opened.name[:2]))


def _store(database: Database, run: str, opened: _Open) -> tuple[Segment, str]:
    """Store the lines of an open segment, and return it with the path of its file."""
    lines = _lines(database, run, opened)
    segment = segment_with(opened.name, lines)
    return segment, store_segment(database.lake, run, segment, lines)


def _finish(session: Session, silent: _Silent, stored: Sequence[tuple[Segment, str]], n_lines: int) -> list[str] | None:
    """Finish a run as it was read; return the files that aren't used any more, None if it has gone on.

    n_lines: of the segments that stay open.
    """
    row = session.get(Contribution, silent.run)
    if row is None:
        return None
    rows = session.scalars(select(HeldSegment).where(HeldSegment.contribution == silent.run))
    parts = {part.place: part for part in rows}
    if row.end is not None or row.submission is not None or _has_gone_on(session, row, silent):
        # Unless this transaction was committed before, and its answer lost.
        named = {part.path for part in parts.values()}
        paths = [path for _, path in stored]
        return [path for path in paths if path not in named] if named.intersection(paths) else None
    unused = []
    for segment, path in stored:
        part = parts.get(segment.place)
        if part is not None and part.bytes > segment.bytes:
            # It fell silent before, went on from the first byte, and wasn't sent as far again.
            unused.append(path)
            continue
        if part is not None:
            unused.append(part.path)
        hold_segment(session, row, segment, path, part, is_partial=True)
    # The pieces have counted more bytes than their lines have.
    quotas.give_back(session, row.token, sum(each.charged - each.bytes for each in silent.to_store))
    delete_segments(session, silent.run, [each.name[:2] for each in silent.to_store] if silent.excess else None)
    row.end = _end_of(session, silent, n_lines).model_dump_json()
    row.finished_at, row.is_silent = datetime.now(UTC), True
    notify(session, row.contributor, "silent", row.id, occasion=silent.seen_at.isoformat())
    return unused


def _end_of(session: Session, silent: _Silent, n_lines: int) -> Finish:
    """Return the end of a run with the segments that are held. n_lines: of those that stay open."""
    more = f"{len(silent.excess):,} more segments were sent live"
    gap = Gap(reason=f"{more}, and a run has at most {MOST_SEGMENTS:,}: push the run", n=n_lines)
    gaps, segments = (gap,) if silent.excess else (), tuple(held_segments(session, silent.run))
    return Finish(status="INCOMPLETE", ended_at=silent.seen_at.timestamp(), gaps=gaps, segments=segments)


def _has_gone_on(session: Session, row: Contribution, silent: _Silent) -> bool:
    """Return True if a run was heard of since it was read, or a push has replaced pieces by whole segments."""
    opened = sorted([*silent.to_store, *silent.excess])
    return row.seen_at != silent.seen_at or _open_segments(session, row.id) != opened
