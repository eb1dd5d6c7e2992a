"""Segments that are still being written: reading their pieces, and deleting these once they aren't needed."""

from __future__ import annotations

import zstandard
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from losslake_contributions.contract.limits import LARGEST_SEGMENT
from losslake_contributions.store.tables import OpenSegment, Piece


def lines_of(session: Session, run: str, attempt: int, n: int, start: int = 0) -> bytes:
    """Return the JSON lines of an open segment from a byte on, as far as they are held."""
    of_segment = Piece.contribution == run, Piece.attempt == attempt, Piece.n == n
    first = select(func.max(Piece.offset)).where(*of_segment, Piece.offset <= start).scalar_subquery()
    wanted = *of_segment, Piece.offset >= first, Piece.offset + Piece.size > start
    rows = session.execute(select(Piece.offset, Piece.lines).where(*wanted).order_by(Piece.offset))
    found = [(offset, zstandard.decompress(lines, max_output_size=LARGEST_SEGMENT)) for offset, lines in rows]
    return b"".join(lines for _, lines in found)[start - found[0][0] :] if found else b""


def delete_segment(session: Session, run: str, attempt: int, n: int) -> int:
    """Delete the pieces of a segment; return how many bytes of JSON lines they had."""
    segment = session.get(OpenSegment, (run, attempt, n))
    if segment is None:
        return 0
    session.execute(delete(Piece).where(Piece.contribution == run, Piece.attempt == attempt, Piece.n == n))
    session.delete(segment)
    return segment.bytes


def delete_segments(session: Session, run: str) -> None:
    """Delete the pieces of all segments of a run."""
    session.execute(delete(Piece).where(Piece.contribution == run))
    session.execute(delete(OpenSegment).where(OpenSegment.contribution == run))
