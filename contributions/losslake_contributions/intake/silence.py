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
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from losslake_contributions.intake.segment_files import store_segment
from losslake_contributions.intake.segments import delete_segments, held_segments, hold_segment, lines_of
from losslake_contributions.people import quotas
from losslake_contributions.protocol.contributions import Finish, Gap, Segment
from losslake_contributions.protocol.limits import MOST_SEGMENTS
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Contribution, HeldSegment, OpenSegment

_log = logging.getLogger(__name__)
_Slot = tuple[int, int]


@dataclass(frozen=True)
class _Silent:
    """A run that fell silent. seen_at: its last sign of life. open: from_step and bytes of its open segments, in order.

    excess: those of them that are more than a run may have, which only earlier versions took; they stay open.
    """

    run: str
    contributor: str
    seen_at: datetime
    open: dict[_Slot, tuple[int | None, int]]
    excess: frozenset[_Slot]

    @property
    def to_store(self) -> list[_Slot]:
        """The open segments that become segments with files."""
        return [place for place in self.open if place not in self.excess]


def end_silent_runs(database: Database, silent: timedelta) -> int:
    """Finish the runs without a sign of life for this long; return their number. One that fails is logged."""
    before = datetime.now(UTC) - silent
    query = select(Contribution.id).where(
        Contribution.end.is_(None), Contribution.submission.is_(None), Contribution.seen_at < before
    )
    names = database.read(lambda session: list(session.scalars(query.order_by(Contribution.seen_at))))
    n_ended = 0
    for run in names:
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
    n_lines = sum(_lines(database, run, place).count(b"\n") for place in silent.excess)
    stored: list[tuple[Segment, str]] = []
    try:
        for place in silent.to_store:
            # One after the other: all lines of a run may be more than fits into memory.
            stored.append(_store(database, silent, place))  # noqa: PERF401 - a failure deletes those before it
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
    held = select(HeldSegment.attempt, HeldSegment.n).where(HeldSegment.contribution == run)
    new = sorted(opened.keys() - {(attempt, n) for attempt, n in session.execute(held)})
    excess = frozenset(new[max(0, MOST_SEGMENTS - row.segments) :])
    return _Silent(run, row.contributor, row.seen_at, opened, excess)


def _open_segments(session: Session, run: str) -> dict[_Slot, tuple[int | None, int]]:
    """Return from_step and bytes of the open segments of a run, in order."""
    columns = OpenSegment.attempt, OpenSegment.n, OpenSegment.from_step, OpenSegment.bytes
    rows = select(*columns).where(OpenSegment.contribution == run).order_by(OpenSegment.attempt, OpenSegment.n)
    return {(attempt, n): (from_step, n_bytes) for attempt, n, from_step, n_bytes in session.execute(rows)}


def _lines(database: Database, run: str, place: _Slot) -> bytes:
    return database.read(lambda session: lines_of(session, run, *place))


def _store(database: Database, silent: _Silent, place: _Slot) -> tuple[Segment, str]:
    """Store the lines of an open segment, and return it with the path of its file."""
    lines = _lines(database, silent.run, place)
    segment = Segment.model_construct(
        attempt=place[0], n=place[1], from_step=silent.open[place][0], bytes=len(lines),
        sha256=hashlib.sha256(lines).hexdigest(),
    )  # fmt: skip
    return segment, store_segment(database.lake, silent.run, segment, lines)


def _finish(session: Session, silent: _Silent, stored: Sequence[tuple[Segment, str]], n_lines: int) -> list[str] | None:
    """Finish a run as it was read; return the files that aren't used any more, None if it has gone on.

    n_lines: of the segments that stay open.
    """
    row = session.get(Contribution, silent.run)
    if row is None:
        return None
    held_rows = session.scalars(select(HeldSegment).where(HeldSegment.contribution == silent.run))
    held = {(each.attempt, each.n): each for each in held_rows}
    if row.end is not None or row.submission is not None or _has_gone_on(session, row, silent):
        # Unless this transaction was committed before, and its answer lost.
        named = {each.path for each in held.values()}
        paths = [path for _, path in stored]
        return [path for path in paths if path not in named] if named.intersection(paths) else None
    unused = []
    for segment, path in stored:
        part = held.get((segment.attempt, segment.n))
        if part is not None and part.bytes > segment.bytes:
            # It fell silent before, went on from the first byte, and wasn't sent as far again.
            unused.append(path)
            continue
        if part is not None:
            unused.append(part.path)
        hold_segment(session, row, segment, path, part, is_partial=True)
    quotas.give_back(session, row.token, _surplus(session, silent))
    delete_segments(session, silent.run, silent.to_store if silent.excess else None)
    row.end = _end_of(session, silent, n_lines).model_dump_json()
    row.finished_at, row.is_silent = datetime.now(UTC), True
    return unused


def _surplus(session: Session, silent: _Silent) -> int:
    """Return how many bytes the pieces of the segments that get files have counted more than they have."""
    query = select(OpenSegment.attempt, OpenSegment.n, OpenSegment.charged - OpenSegment.bytes)
    rows = session.execute(query.where(OpenSegment.contribution == silent.run))
    return sum(surplus for attempt, n, surplus in rows if (attempt, n) not in silent.excess)


def _end_of(session: Session, silent: _Silent, n_lines: int) -> Finish:
    """Return the end of a run with the segments that are held. n_lines: of those that stay open."""
    gaps: tuple[Gap, ...] = ()
    if silent.excess:
        n_segments = len(silent.excess)
        reason = f"{n_segments:,} more segments were sent live, and a run has at most {MOST_SEGMENTS:,}: push the run"
        gaps = (Gap(reason=reason, n=n_lines),)
    segments = tuple(held_segments(session, silent.run))
    return Finish(status="INCOMPLETE", ended_at=silent.seen_at.timestamp(), gaps=gaps, segments=segments)


def _has_gone_on(session: Session, row: Contribution, silent: _Silent) -> bool:
    """Return True if a run was heard of since it was read, or a push has replaced pieces by whole segments."""
    return row.seen_at != silent.seen_at or _open_segments(session, row.id) != silent.open
