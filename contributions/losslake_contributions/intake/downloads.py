"""Sending of stored segments: in pieces, so that a client that reads slowly holds little memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from losslake.lake.lake import Lake
from losslake_contributions.intake.segment_files import SegmentFile, open_segment
from losslake_contributions.people.requests import in_thread

# A compressor for each response would need more memory than the segment.
_AS_IT_IS = {"Cache-Control": "no-store, no-transform"}


async def send_segment(file: tuple[Lake, str, str], headers: Mapping[str, str], media_type: str) -> StreamingResponse:
    """Return a response with a segment; raise LakeBroken if its file isn't as it was acknowledged."""
    segment = await in_thread(open_segment, *file, kind="bulk")
    return _SegmentResponse(segment, headers, media_type)


class _SegmentResponse(StreamingResponse):
    """A response with the JSON lines of a segment, which closes its file."""

    def __init__(self, segment: SegmentFile, headers: Mapping[str, str], media_type: str) -> None:
        self._segment = segment
        length = {"Content-Length": str(segment.bytes)}
        super().__init__(self._pieces(), 200, {**headers, **_AS_IT_IS, **length}, media_type)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        with self._segment:
            await super().__call__(scope, receive, send)

    async def _pieces(self) -> AsyncIterator[bytes]:
        pieces = self._segment.pieces()
        while piece := await in_thread(next, pieces, b"", kind="bulk"):
            yield piece
