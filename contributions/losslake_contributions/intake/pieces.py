"""Intake of pieces of segments that are still being written, and of signs of life.

A piece goes on where what is held ends. One that begins anywhere else changes nothing, and the answer says what is
held: so a request may be repeated, and a client that has lost its place goes on.

A request is taken in portions, each in a transaction of its own, between which other contributors write. A portion
reads and writes sets of rows: a statement for each piece takes many times as long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import zstandard
from sqlalchemy import bindparam, func, insert, or_, select, tuple_, union_all, update
from sqlalchemy.orm import Session

from losslake_contributions.intake.runs import check_free, check_not_erased
from losslake_contributions.intake.segments import check_from_step, check_number, count_only_open
from losslake_contributions.people import quotas
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.errors import ContributionError, unknown_contribution
from losslake_contributions.protocol.limits import LARGEST_SEGMENT, LEAST_PIECE
from losslake_contributions.protocol.pieces import HeldPieces, LivePieces, Piece, RefusedRun
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import ERASED_FACTS, Contribution, HeldSegment, OpenSegment
from losslake_contributions.store.tables import Piece as StoredPiece

BETWEEN_SIGNS = timedelta(seconds=5)
"""Signs of life are written so far apart: each writes the row of its run again, and so up to 256 kB of run.json."""
_PORTION = 100
_Key = tuple[str, int, int]  # run, attempt and n of a segment


def _of_keys(kind: type[OpenSegment] | type[HeldSegment], *columns: Any) -> Any:
    """Return the query for columns of segments, by their keys."""
    key = tuple_(kind.contribution, kind.attempt, kind.n)
    rows = select(kind.contribution, kind.attempt, kind.n, *columns)
    return rows.where(key.in_(bindparam("keys", expanding=True)))


def _from_steps(kind: type[OpenSegment] | type[HeldSegment]) -> Any:
    """Return the query for the from_step of attempts, of which all segments have the same."""
    rows = select(kind.contribution, kind.attempt, func.min(kind.from_step)).group_by(kind.contribution, kind.attempt)
    return rows.where(tuple_(kind.contribution, kind.attempt).in_(bindparam("attempts", expanding=True)))


# Made once: to build them takes a third of the time of a request.
_RUNS = select(
    Contribution.id,
    Contribution.submission,
    Contribution.segments,
    Contribution.is_silent,
    Contribution.end.is_not(None).label("is_finished"),
    (Contribution.facts == ERASED_FACTS).label("is_erased"),
).where(Contribution.id.in_(bindparam("runs", expanding=True)), Contribution.contributor == bindparam("contributor"))
_OPEN = _of_keys(OpenSegment, OpenSegment.from_step, OpenSegment.bytes)
_HELD = _of_keys(HeldSegment, HeldSegment.bytes, HeldSegment.is_partial)
_FROM_STEPS = union_all(_from_steps(OpenSegment), _from_steps(HeldSegment))
_GROW = (
    update(OpenSegment)
    .where(
        OpenSegment.contribution == bindparam("run"),
        OpenSegment.attempt == bindparam("of_attempt"),
        OpenSegment.n == bindparam("number"),
    )
    .values(bytes=bindparam("new_bytes"), charged=OpenSegment.charged + bindparam("more"))
)
_OF_RUNS = update(Contribution).where(Contribution.id.in_(bindparam("runs", expanding=True)))
_REOPEN = _OF_RUNS.values(end=None, finished_at=None, is_silent=False, seen_at=bindparam("now"))
_IS_OLD = or_(Contribution.seen_at.is_(None), Contribution.seen_at < bindparam("before"))
_SEE = _OF_RUNS.where(_IS_OLD).values(seen_at=bindparam("now"))


def add_pieces(
    database: Database, identity: Identity, sent: LivePieces, between_signs: timedelta = BETWEEN_SIGNS
) -> tuple[list[HeldPieces], list[RefusedRun]]:
    """Add pieces, and note which runs are alive; return what is held of their segments, and runs that are refused.

    It is durable when this returns. Raises ContributionError if the quota is used up; what came before that is held.
    """
    held: dict[_Key, HeldPieces] = {}
    refused: dict[str, RefusedRun] = {}
    for start in range(0, max(len(sent.pieces), len(sent.alive)), _PORTION):
        pieces, alive = sent.pieces[start : start + _PORTION], sent.alive[start : start + _PORTION]
        portion = database.write(
            identity.contributor,
            lambda session: _Portion(session, identity, between_signs, {**refused}).add(pieces, alive),  # noqa: B023 - called here
        )
        refused = portion.refused
        held |= portion.answers(pieces)
    return [each for each in held.values() if each.run not in refused], [*refused.values()]


@dataclass
class _Segment:
    """An open segment. charged: bytes that the pieces of this portion count in the quota."""

    from_step: int | None
    bytes: int = 0
    is_new: bool = True
    charged: int = 0


@dataclass
class _Portion:
    """A transaction that adds pieces.

    runs: as they are stored. open, held: segments by key; of held ones the bytes, and whether they are parts.
    n_segments, from_steps: of the runs and attempts that get new segments.
    """

    session: Session
    identity: Identity
    between_signs: timedelta
    refused: dict[str, RefusedRun]
    runs: dict[str, Any] = field(default_factory=dict)
    open: dict[_Key, _Segment] = field(default_factory=dict)
    held: dict[_Key, tuple[int, bool]] = field(default_factory=dict)
    n_segments: Counter[str] = field(default_factory=Counter)
    from_steps: dict[tuple[str, int], int | None] = field(default_factory=dict)
    n_new: int = 0
    added: list[tuple[Piece, bytes]] = field(default_factory=list)
    reopened: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)

    def add(self, pieces: Sequence[Piece], alive: Sequence[str]) -> _Portion:
        """Add what was sent, and return this. Raises ContributionError."""
        self._read(pieces, alive)
        of_runs = [*((piece.run, piece) for piece in pieces), *((run, None) for run in alive)]
        for run, piece in of_runs:
            if run not in self.refused:
                try:
                    self._apply_piece(run, piece)
                except ContributionError as error:
                    self.refused[run] = RefusedRun(run=run, kind=error.kind, detail=str(error))
        self._write()
        return self

    def answers(self, pieces: Sequence[Piece]) -> dict[_Key, HeldPieces]:
        """Return what is held of the segments of pieces."""
        return {key: self._answer(key) for key in map(_key, pieces) if key[0] not in self.refused}

    def _read(self, pieces: Sequence[Piece], alive: Sequence[str]) -> None:
        """Read what is stored of the runs and segments."""
        names = {piece.run for piece in pieces}.union(alive)
        rows = self.session.execute(_RUNS, {"runs": [*names], "contributor": self.identity.contributor})
        self.runs = {row.id: row for row in rows}
        keys = {key for key in map(_key, pieces) if key[0] in self.runs}
        for run, attempt, n, from_step, n_bytes in self.session.execute(_OPEN, {"keys": [*keys]}):
            self.open[run, attempt, n] = _Segment(from_step, n_bytes, is_new=False)
        for run, attempt, n, n_bytes, is_partial in self.session.execute(_HELD, {"keys": [*keys]}):
            self.held[run, attempt, n] = n_bytes, is_partial
        new = keys - self.open.keys()
        if not new:
            return
        attempts = {"attempts": [*{(run, attempt) for run, attempt, _ in new}]}
        for run, attempt, from_step in self.session.execute(_FROM_STEPS, attempts):
            self.from_steps[run, attempt] = from_step
        self.n_segments = count_only_open(self.session, [*{run for run, _, _ in new}])
        self.n_segments.update({run: self.runs[run].segments for run, _, _ in new})

    def _apply_piece(self, run: str, piece: Piece | None) -> None:
        """Append a piece of a run, or note a sign of life. Raises ContributionError."""
        row = self.runs.get(run)
        if row is None:
            raise unknown_contribution(run)
        check_not_erased(run, row.is_erased)
        is_new = piece is not None and self._append(piece)
        is_finished = row.is_finished and run not in self.reopened
        if is_finished and (is_new or row.is_silent):
            check_free(self.session, run, row.submission)
            self.reopened.add(run)
            is_finished = False
        if not is_finished:
            self.seen.add(run)

    def _append(self, piece: Piece) -> bool:
        """Append a piece to its segment; return False if it doesn't go on where what is held ends."""
        key = _key(piece)
        if key in self.held and not self.held[key][1]:
            return False
        segment, data = self.open.get(key), piece.lines.encode()
        n_held = segment.bytes if segment is not None else 0
        if piece.offset != n_held:
            return False
        if n_held + len(data) > LARGEST_SEGMENT:
            raise ContributionError("too-large", f"a segment has at most {LARGEST_SEGMENT:,} bytes: begin a new one")
        check_free(self.session, piece.run, self.runs[piece.run].submission)
        if segment is None:
            segment = self._begin(piece)
        elif segment.from_step != piece.from_step:
            raise ContributionError("conflict", f"attempt {piece.attempt} of {piece.run} has another from_step")
        segment.bytes += len(data)
        segment.charged += charge(len(data))
        self.added.append((piece, data))
        return True

    def _begin(self, piece: Piece) -> _Segment:
        """Return a new open segment for a piece. Raises ContributionError if its run takes no more."""
        key = _key(piece)
        stored = self.from_steps.setdefault(key[:2], piece.from_step)
        check_from_step(piece.run, piece, stored)
        if key not in self.held:
            check_number(piece.run, self.n_segments[piece.run])
            self.n_segments[piece.run] += 1
            self.n_new += 1
        self.open[key] = _Segment(piece.from_step)
        return self.open[key]

    def _write(self) -> None:
        """Write what was added, and count it. Raises ContributionError."""
        grown = {_key(piece): self.open[_key(piece)] for piece, _ in self.added}
        if self.added:
            n_bytes = sum(segment.charged for segment in grown.values())
            quotas.use(self.session, self.identity.token, segments=self.n_new, n_bytes=n_bytes)
            compress = zstandard.ZstdCompressor().compress
            rows = [
                {
                    "contribution": piece.run, "attempt": piece.attempt, "n": piece.n, "offset": piece.offset,
                    "size": len(data), "lines": compress(data),
                }
                for piece, data in self.added
            ]  # fmt: skip
            self.session.execute(insert(StoredPiece), rows)
        new = [
            {
                "contribution": run, "attempt": attempt, "n": n, "from_step": segment.from_step,
                "bytes": segment.bytes, "charged": segment.charged,
            }
            for (run, attempt, n), segment in grown.items()
            if segment.is_new
        ]  # fmt: skip
        longer = [
            {"run": run, "of_attempt": attempt, "number": n, "new_bytes": segment.bytes, "more": segment.charged}
            for (run, attempt, n), segment in grown.items()
            if not segment.is_new
        ]
        if new:
            self.session.execute(insert(OpenSegment), new)
        if longer:
            self.session.connection().execute(_GROW, longer)
        now = datetime.now(UTC)
        connection = self.session.connection()
        if self.reopened:
            connection.execute(_REOPEN, {"runs": [*self.reopened], "now": now})
        if self.seen:
            before = now - self.between_signs
            connection.execute(_SEE, {"runs": [*self.seen], "now": now, "before": before})

    def _answer(self, key: _Key) -> HeldPieces:
        run, attempt, n = key
        n_bytes, is_partial = self.held.get(key, (0, True))
        if is_partial:
            n_bytes = self.open[key].bytes if key in self.open else 0
        return HeldPieces.model_construct(run=run, attempt=attempt, n=n, bytes=n_bytes, is_whole=not is_partial)


def charge(n_bytes: int) -> int:
    """Return the bytes that a piece with so many bytes of lines counts in quotas."""
    return max(LEAST_PIECE, n_bytes)


def _key(piece: Piece) -> _Key:
    return piece.run, piece.attempt, piece.n
