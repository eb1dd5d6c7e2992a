"""Intake of pieces of segments that are still being written, and of signs of life.

A piece goes on where what is held ends. One that begins anywhere else changes nothing, and the answer says what is
held: so a request may be repeated, and a client that has lost its place goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import zstandard
from sqlalchemy import ColumnElement, bindparam, insert, select, tuple_
from sqlalchemy.orm import Session

from losslake_contributions.contract.limits import LARGEST_SEGMENT
from losslake_contributions.contract.live import HeldPieces, LivePieces, Piece, RefusedRun
from losslake_contributions.errors import ContributionError, unknown_contribution
from losslake_contributions.store import quotas
from losslake_contributions.store.contributions import check_attempt, check_free, check_not_erased
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Contribution, HeldSegment, OpenSegment
from losslake_contributions.store.tables import Piece as StoredPiece
from losslake_contributions.store.tokens import Identity

_Place = tuple[str, int, int]


def _at(kind: type[OpenSegment] | type[HeldSegment]) -> ColumnElement[_Place]:
    """Return the place of a row as a value of SQL."""
    return tuple_(kind.contribution, kind.attempt, kind.n)


# Made once: to build them takes a third of the time of a request.
_RUNS = select(Contribution).where(
    Contribution.id.in_(bindparam("runs", expanding=True)), Contribution.contributor == bindparam("contributor")
)
_OPEN = select(OpenSegment).where(_at(OpenSegment).in_(bindparam("places", expanding=True)))
_WHOLE = select(HeldSegment).where(_at(HeldSegment).in_(bindparam("places", expanding=True)))
_ADD = insert(StoredPiece)


def add_pieces(database: Database, identity: Identity, sent: LivePieces) -> tuple[list[HeldPieces], list[RefusedRun]]:
    """Add pieces, and note which runs are alive; return what is held of their segments, and runs that are refused.

    It is durable when this returns. Raises ContributionError if the quota is used up.
    """
    return database.write(identity.contributor, lambda session: _Intake(session, identity).take(sent))


@dataclass
class _Intake:
    """A transaction that adds pieces. held, whole: open and whole segments, by place."""

    session: Session
    identity: Identity
    runs: dict[str, Contribution] = field(default_factory=dict)
    held: dict[_Place, OpenSegment] = field(default_factory=dict)
    whole: dict[_Place, HeldSegment] = field(default_factory=dict)
    refused: dict[str, RefusedRun] = field(default_factory=dict)
    added: list[tuple[Piece, bytes]] = field(default_factory=list)

    def take(self, sent: LivePieces) -> tuple[list[HeldPieces], list[RefusedRun]]:
        """Add what was sent. Raises ContributionError."""
        self._load(sent)
        for piece in sent.pieces:
            self._try(piece.run, piece)
        for run in sent.alive:
            self._try(run, None)
        self._store()
        places = dict.fromkeys((piece.run, piece.attempt, piece.n) for piece in sent.pieces)
        return [self._answer(place) for place in places if place[0] not in self.refused], [*self.refused.values()]

    def _load(self, sent: LivePieces) -> None:
        """Read what is stored of the runs and segments."""
        names = {piece.run for piece in sent.pieces} | set(sent.alive)
        own = {"runs": list(names), "contributor": self.identity.contributor}
        self.runs = {row.id: row for row in self.session.scalars(_RUNS, own)}
        places = {"places": list({(piece.run, piece.attempt, piece.n) for piece in sent.pieces})}
        for part in self.session.scalars(_OPEN, places):
            self.held[part.contribution, part.attempt, part.n] = part
        for whole in self.session.scalars(_WHOLE, places):
            self.whole[whole.contribution, whole.attempt, whole.n] = whole

    def _try(self, run: str, piece: Piece | None) -> None:
        """Take a piece, or a sign of life, unless its run is refused."""
        if run in self.refused:
            return
        try:
            self._take(run, piece)
        except ContributionError as error:
            self.refused[run] = RefusedRun(run=run, kind=error.kind, detail=str(error))

    def _take(self, run: str, piece: Piece | None) -> None:
        row = self.runs.get(run)
        if row is None:
            raise unknown_contribution(run)
        check_not_erased(row)
        is_new = piece is not None and self._append(row, piece)
        if row.end is not None and (is_new or row.is_silent):
            check_free(self.session, row)
            row.end, row.finished_at, row.is_silent = None, None, False
        if row.end is None:
            row.seen_at = datetime.now(UTC)

    def _append(self, row: Contribution, piece: Piece) -> bool:
        """Append a piece to its segment; return False if it doesn't go on where what is held ends."""
        place = piece.run, piece.attempt, piece.n
        if place in self.whole and not self.whole[place].is_partial:
            return False
        segment, data = self.held.get(place), piece.lines.encode()
        n_held = segment.bytes if segment is not None else 0
        if piece.offset != n_held:
            return False
        if n_held + len(data) > LARGEST_SEGMENT:
            raise ContributionError("too-large", f"a segment has at most {LARGEST_SEGMENT:,} bytes: begin a new one")
        check_free(self.session, row)
        if segment is None:
            check_attempt(self.session, piece.run, piece.attempt, piece.from_step)
            segment = OpenSegment(
                contribution=piece.run, attempt=piece.attempt, n=piece.n, from_step=piece.from_step, bytes=0
            )
            self.session.add(segment)
            self.session.flush()
            self.held[place] = segment
        elif segment.from_step != piece.from_step:
            raise ContributionError("conflict", f"attempt {piece.attempt} of {piece.run} has another from_step")
        segment.bytes += len(data)
        self.added.append((piece, data))
        return True

    def _store(self) -> None:
        """Store the pieces that were added, and count them. Raises ContributionError."""
        if not self.added:
            return
        quotas.use(self.session, self.identity.token, n_bytes=sum(len(data) for _, data in self.added))
        compress = zstandard.ZstdCompressor().compress
        rows = [
            {
                "contribution": piece.run, "attempt": piece.attempt, "n": piece.n, "offset": piece.offset,
                "size": len(data), "lines": compress(data),
            }
            for piece, data in self.added
        ]  # fmt: skip
        self.session.execute(_ADD, rows)

    def _answer(self, place: _Place) -> HeldPieces:
        run, attempt, n = place
        whole, part = self.whole.get(place), self.held.get(place)
        is_whole = whole is not None and not whole.is_partial
        n_bytes = whole.bytes if whole is not None and is_whole else part.bytes if part is not None else 0
        return HeldPieces.model_construct(run=run, attempt=attempt, n=n, bytes=n_bytes, is_whole=is_whole)
