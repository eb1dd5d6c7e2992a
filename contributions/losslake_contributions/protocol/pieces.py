"""Documents of runs that are sent while they train: pieces of segments that are still being written."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from losslake_contributions.protocol.limits import LARGEST_PIECE, LARGEST_SEGMENT, MOST_PIECES
from losslake_contributions.protocol.texts import Document, Ordinal, RunId, Step


def _whole_lines(text: str) -> str:
    if not text.endswith("\n"):
        raise ValueError("a piece has whole lines: it ends with \\n")
    return text


class Piece(Document):
    """Whole JSON lines of a segment of a run, from a byte of the segment on. from_step: of its attempt."""

    run: RunId
    attempt: Ordinal
    n: Ordinal
    from_step: Step | None = None
    offset: Annotated[int, Field(ge=0, lt=LARGEST_SEGMENT)]
    lines: Annotated[str, Field(max_length=LARGEST_PIECE), AfterValidator(_whole_lines)]


class LivePieces(Document):
    """New lines of some runs. alive: runs that are being recorded, whether there is anything new or not."""

    pieces: Annotated[tuple[Piece, ...], Field(max_length=MOST_PIECES, strict=False)] = ()
    alive: Annotated[tuple[RunId, ...], Field(max_length=MOST_PIECES, strict=False)] = ()


class HeldPieces(Document):
    """The bytes that are held of a segment, after which the next piece goes on. is_whole: it takes no pieces."""

    run: RunId
    attempt: Ordinal
    n: Ordinal
    bytes: int
    is_whole: bool


class RefusedRun(Document):
    """A run of which nothing is taken. kind: of the problem, as in problem documents."""

    run: RunId
    kind: str
    detail: str


class LiveAnswer(Document):
    """The state of the segments that were sent. seconds: until more should be sent."""

    held: Annotated[tuple[HeldPieces, ...], Field(strict=False)]
    refused: Annotated[tuple[RefusedRun, ...], Field(strict=False)]
    seconds: float
