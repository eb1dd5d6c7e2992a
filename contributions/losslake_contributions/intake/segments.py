"""Segments of runs: held as files, or as pieces while they are still being written, and named by the end of a run.

Each step may be repeated and gives the same result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

import zstandard
from sqlalchemy import bindparam, delete, exists, func, select, tuple_
from sqlalchemy.orm import Session

from losslake.lake.lake import Lake
from losslake_contributions.intake.runs import check_free, check_not_erased, owned, readable
from losslake_contributions.intake.segment_files import store_segment
from losslake_contributions.notifications.outbox import notify
from losslake_contributions.people import quotas
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.contributions import Finish, HeldSegments, Place, Segment
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.protocol.limits import LARGEST_SEGMENT, MOST_SEGMENTS
from losslake_contributions.protocol.pieces import Piece as LivePiece
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Contribution, HeldSegment, OpenSegment, Piece

_MOST_NAMED = 20
_IS_HELD = exists().where(
    HeldSegment.contribution == OpenSegment.contribution,
    HeldSegment.attempt == OpenSegment.attempt,
    HeldSegment.n == OpenSegment.n,
)
_ONLY_OPEN = (
    select(OpenSegment.contribution, func.count())
    .where(OpenSegment.contribution.in_(bindparam("runs", expanding=True)), ~_IS_HELD)
    .group_by(OpenSegment.contribution)
)


def check_slot(session: Session, identity: Identity, run: str, segment: Segment) -> HeldSegment | None:
    """Return the same segment if it is held, else None. Its bytes aren't compared: they may not be here yet.

    Raises ContributionError if it can't go to its place, whatever its bytes are.
    """
    row = owned(session, identity, run)
    check_not_erased(run, row.is_erased)
    stored = session.get(HeldSegment, (run, *segment.place))
    if stored is not None and not stored.is_partial:
        if (stored.sha256, stored.from_step) != (segment.sha256, segment.from_step):
            why = "other bytes" if stored.sha256 != segment.sha256 else f"from_step={stored.from_step}"
            where = f"segment {segment.attempt}/{segment.n} of {run}"
            raise ContributionError("conflict", f"{where} is held with {why}: a segment never changes")
        return stored
    check_free(session, run, row.submission)
    if stored is None and session.get(OpenSegment, (run, *segment.place)) is None:
        check_number(run, row.segments + count_only_open(session, [run])[run])
    for kind in (HeldSegment, OpenSegment):
        others = select(kind.from_step).where(kind.contribution == run, kind.attempt == segment.attempt)
        for from_step in session.scalars(others.limit(1)):
            check_from_step(run, segment, from_step)
    return None


def check_number(run: str, n_segments: int) -> None:
    """Raise ContributionError if a run takes no more segments. n_segments: those that it has, open ones included."""
    if n_segments >= MOST_SEGMENTS:
        raise ContributionError("too-large", f"{run} has {MOST_SEGMENTS:,} segments: it takes no more")


def check_from_step(run: str, segment: Segment | LivePiece, stored: int | None) -> None:
    """Raise ContributionError if a segment says another from_step than those that are held of its attempt."""
    if stored != segment.from_step:
        detail = f"attempt {segment.attempt} of {run} is held with from_step={stored}"
        raise ContributionError("conflict", f"{detail}: all segments of an attempt have the same")


def add_segment(database: Database, identity: Identity, run: str, segment: Segment, data: bytes) -> bool:
    """Store a segment whose digest was checked; return False if it is held already. A finished run is open again.

    It takes the place of its pieces. It is durable when this returns. Raise ContributionError if it can't go to its
    place, or the quota is used up.
    """
    segment = segment.model_copy(update={"bytes": len(data)})
    if database.read(lambda session: check_slot(session, identity, run, segment)) is not None:
        return False
    path = store_segment(database.lake, run, segment, data)

    def work(session: Session) -> tuple[bool, list[str]]:
        stored = check_slot(session, identity, run, segment)
        if stored is not None:
            # By this request, if the answer to its commit was lost.
            return stored.path == path, [] if stored.path == path else [path]
        return True, _replace_pieces(session, identity, segment, path, run)

    try:
        is_new, unused = database.write(identity.contributor, work)
    except ContributionError:
        database.lake.store.delete([path])
        raise
    database.lake.store.delete(unused)
    return is_new


def _replace_pieces(session: Session, identity: Identity, segment: Segment, path: str, run: str) -> list[str]:
    """Add a whole segment in place of its pieces; return the files that aren't used any more."""
    key = run, *segment.place
    opened, part = session.get(OpenSegment, key), session.get(HeldSegment, key)
    unused = [part.path] if part is not None else []
    n_more = max(0, segment.bytes - sum(each.bytes for each in (opened, part) if each is not None))
    if opened is not None:
        quotas.give_back(session, identity.token, opened.charged - opened.bytes)
        delete_segments(session, run, [segment.place])
    is_new = opened is None and part is None
    quotas.use(session, identity.token, segments=int(is_new), n_bytes=n_more)
    row = session.get_one(Contribution, run)
    row.end, row.finished_at, row.is_silent = None, None, False
    hold_segment(session, row, segment, path, part)
    return unused


def hold_segment(
    session: Session, row: Contribution, segment: Segment, path: str, part: HeldSegment | None, is_partial: bool = False
) -> None:
    """Add a segment whose file is stored to a run, in place of the part of it that is held."""
    if part is None:
        row.segments += 1
        part = HeldSegment(contribution=row.id, attempt=segment.attempt, n=segment.n, bytes=0)
        session.add(part)
    row.bytes += segment.bytes - part.bytes
    part.from_step, part.bytes, part.sha256, part.path = segment.from_step, segment.bytes, segment.sha256, path
    part.received_at, part.is_partial = datetime.now(UTC), is_partial


def finish(database: Database, identity: Identity, run: str, end: Finish) -> None:
    """Finish a contribution; the same again changes nothing.

    Raise ContributionError if a segment isn't held, or differs, or it was submitted as it was finished before.
    """
    end = end.model_copy(update={"segments": tuple(sorted(end.segments, key=lambda each: each.place))})
    text = end.model_dump_json()

    def work(session: Session) -> list[str]:
        row = owned(session, identity, run)
        if row.end == text:
            return []
        check_not_erased(run, row.is_erased)
        check_free(session, run, row.submission)
        unused = _settle_partial(session, row, end.segments)
        # Another end has to wait for the rest of partial ones.
        whole = select(HeldSegment).where(HeldSegment.contribution == run, ~HeldSegment.is_partial)
        _check_whole(run, end.segments, {each.place: segment_of(each) for each in session.scalars(whole)})
        delete_segments(session, run)
        quotas.use(session, identity.token, document_bytes=len(text.encode()))
        row.end, row.finished_at, row.is_silent = text, datetime.now(UTC), False
        if end.status == "INFEASIBLE" and row.seen_at is not None:
            notify(session, row.contributor, "diverged", run, detail="it ended as INFEASIBLE")
        return unused

    database.lake.store.delete(database.write(identity.contributor, work))


def _settle_partial(session: Session, row: Contribution, named: Sequence[Segment]) -> list[str]:
    """Keep the partial segments that an end names as they are, forget the others; return the files of these.

    The end says what a run consists of: the training's machine may have lost lines that it had sent.
    """
    unused = []
    by_place = {segment.place: segment for segment in named}
    for part in session.scalars(select(HeldSegment).where(HeldSegment.contribution == row.id, HeldSegment.is_partial)):
        segment = by_place.get(part.place)
        if segment == segment_of(part):
            part.is_partial = False
        elif segment is None:
            unused.append(part.path)
            row.segments -= 1
            row.bytes -= part.bytes
            session.delete(part)
    session.flush()
    return unused


def _check_whole(run: str, named: Sequence[Segment], stored: Mapping[Place, Segment]) -> None:
    """Raise ContributionError unless the segments that are named are those that are held."""
    missing = [f"{attempt}/{n}" for attempt, n in (each.place for each in named) if (attempt, n) not in stored]
    if missing:
        detail = f"{len(missing):,} segments of {run} are missing: send {_some(missing)}, then finish it again"
        raise ContributionError("incomplete", detail, missing=missing)
    differing = [f"{each.attempt}/{each.n}" for each in named if each != stored[each.place]]
    if differing:
        detail = f"segments of {run} are held with other bytes or from_step: {_some(differing)}"
        raise ContributionError("conflict", detail, differing=differing)
    extra = [f"{attempt}/{n}" for attempt, n in sorted(stored.keys() - {each.place for each in named})]
    if extra:
        raise ContributionError("conflict", f"segments of {run} are held that its end doesn't name: {_some(extra)}")


def _some(places: Sequence[str]) -> str:
    return ", ".join(places[:_MOST_NAMED]) + (" …" if len(places) > _MOST_NAMED else "")


def held(database: Database, identity: Identity, run: str) -> HeldSegments:
    """Return the segments that are held of a contribution. Raise ContributionError as `status` does."""

    def query(session: Session) -> HeldSegments:
        row = readable(session, identity, run)
        return HeldSegments.model_construct(id=run, state=row.state, segments=tuple(held_segments(session, run)))

    return database.read(query)


def held_segments(session: Session, run: str) -> list[Segment]:
    """Return the segments that are held of a run, by attempt and number."""
    query = select(HeldSegment).where(HeldSegment.contribution == run).order_by(HeldSegment.attempt, HeldSegment.n)
    return [segment_of(row) for row in session.scalars(query)]


def segment_of(row: HeldSegment) -> Segment:
    """Return a held segment as documents have it."""
    return Segment.model_construct(
        attempt=row.attempt, n=row.n, from_step=row.from_step, bytes=row.bytes, sha256=row.sha256
    )


def segment_file(database: Database, identity: Identity, run: str, attempt: int, n: int) -> tuple[Lake, str, str]:
    """Return the lake, the path and the SHA-256 of a held segment. Raise ContributionError if there is none."""

    def query(session: Session) -> tuple[str, str]:
        readable(session, identity, run)
        row = session.get(HeldSegment, (run, attempt, n))
        if row is None:
            raise ContributionError("unknown-segment", f"{run} has no segment {attempt}/{n}: see GET …/segments")
        if not row.path:
            raise ContributionError("unknown-segment", f"segment {attempt}/{n} of {run} was erased")
        return row.path, row.sha256

    return (database.lake, *database.read(query))


def count_only_open(session: Session, runs: Collection[str]) -> Counter[str]:
    """Return how many open segments each run has at places where it has no segment with a file."""
    return Counter(dict(session.execute(_ONLY_OPEN, {"runs": runs}).all()))


def lines_of(session: Session, run: str, attempt: int, n: int, start: int = 0) -> bytes:
    """Return the JSON lines of an open segment from a byte on, as far as they are held."""
    of_segment = Piece.contribution == run, Piece.attempt == attempt, Piece.n == n
    first = select(func.max(Piece.offset)).where(*of_segment, Piece.offset <= start).scalar_subquery()
    wanted = *of_segment, Piece.offset >= first, Piece.offset + Piece.size > start
    rows = session.execute(select(Piece.offset, Piece.lines).where(*wanted).order_by(Piece.offset))
    pieces = [(offset, zstandard.decompress(lines, max_output_size=LARGEST_SEGMENT)) for offset, lines in rows]
    return b"".join(lines for _, lines in pieces)[start - pieces[0][0] :] if pieces else b""


def delete_segments(session: Session, run: str, places: Collection[Place] | None = None) -> None:
    """Delete the open segments of a run, and their pieces. places: of some; None: all."""
    for kind in (Piece, OpenSegment):
        rows = delete(kind).where(kind.contribution == run)
        if places is not None:
            rows = rows.where(tuple_(kind.attempt, kind.n).in_(places))
        session.execute(rows.execution_options(synchronize_session=False))
