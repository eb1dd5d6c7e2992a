"""Segments that are still being written: reading their pieces, and deleting these once they aren't needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import zstandard
from sqlalchemy import bindparam, delete, exists, func, select, tuple_
from sqlalchemy.orm import Session

from losslake_contributions.protocol.limits import LARGEST_SEGMENT
from losslake_contributions.store.tables import HeldSegment, OpenSegment, Piece

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


def count_only_open(session: Session, runs: Collection[str]) -> Counter[str]:
    """Return how many open segments each run has at places where it has no segment with a file."""
    counts = Counter[str]()
    for run, n_open in session.execute(_ONLY_OPEN, {"runs": runs}):
        counts[run] = n_open
    return counts


def lines_of(session: Session, run: str, attempt: int, n: int, start: int = 0) -> bytes:
    """Return the JSON lines of an open segment from a byte on, as far as they are held."""
    of_segment = Piece.contribution == run, Piece.attempt == attempt, Piece.n == n
    first = select(func.max(Piece.offset)).where(*of_segment, Piece.offset <= start).scalar_subquery()
    wanted = *of_segment, Piece.offset >= first, Piece.offset + Piece.size > start
    rows = session.execute(select(Piece.offset, Piece.lines).where(*wanted).order_by(Piece.offset))
    found = [(offset, zstandard.decompress(lines, max_output_size=LARGEST_SEGMENT)) for offset, lines in rows]
    return b"".join(lines for _, lines in found)[start - found[0][0] :] if found else b""


def delete_segment(session: Session, segment: OpenSegment) -> None:
    """Delete an open segment and its pieces."""
    of_segment = Piece.contribution == segment.contribution, Piece.attempt == segment.attempt, Piece.n == segment.n
    session.execute(delete(Piece).where(*of_segment).execution_options(synchronize_session=False))
    session.delete(segment)


def delete_segments(session: Session, run: str, places: Collection[tuple[int, int]] | None = None) -> None:
    """Delete the pieces of segments of a run. places: attempt and number of each; None: all."""
    for kind in (Piece, OpenSegment):
        rows = delete(kind).where(kind.contribution == run)
        if places is not None:
            rows = rows.where(tuple_(kind.attempt, kind.n).in_(places))
        session.execute(rows.execution_options(synchronize_session=False))
