"""Transfer of segments.

A segment is received bounded in time, in bytes, and in what it unpacks to, before anything is stored. It is sent in
pieces, so that a client that reads slowly holds little memory.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager

import zstandard
from anyio.to_thread import run_sync
from fastapi import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from losslake.lake.lake import Lake
from losslake_contributions.intake.segment_files import SegmentFile, open_segment
from losslake_contributions.people.requests import in_thread
from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.protocol.limits import LARGEST_ENCODED_SEGMENT, LARGEST_SEGMENT
from losslake_contributions.settings import Settings
from losslake_service.shares.places import NoPlace, Places

_PIECE = 1 << 16
_RETRY_SECONDS = 1
# Of 128 MB, the memory that a frame may ask for; level 19 of zstd asks for 8.
_LARGEST_WINDOW = 1 << 27
# A compressor for each response would need more memory than the segment.
_AS_IT_IS = {"Cache-Control": "no-store, no-transform"}


class Uploads:
    """The segments that a process receives at once."""

    def __init__(self, settings: Settings) -> None:
        self._places = Places(settings.uploads, settings.uploads_per_token)
        self._seconds = settings.segment_seconds

    @contextmanager
    def place(self, token: str) -> Iterator[None]:
        """Hold a place for a segment; raise ContributionError if there is none."""
        try:
            self._places.take(token)
        except NoPlace:
            detail = f"too many segments are being sent at once: try again in {_RETRY_SECONDS} s"
            raise ContributionError("too-fast", detail, retry_after=_RETRY_SECONDS) from None
        try:
            yield
        finally:
            self._places.leave(token)

    async def receive(self, request: Request, sha256: str) -> bytes:
        """Return the JSON lines of a request's body; raise ContributionError if they aren't those of the digest."""
        coding = request.headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("zstd", "identity"):
            raise ContributionError("unsupported-encoding", f"a segment is sent with zstd or identity, not {coding!r}")
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > LARGEST_ENCODED_SEGMENT:
            raise _too_large()
        reader = _Unpacked() if coding == "zstd" else _Plain()
        received = 0
        try:
            async with asyncio.timeout(self._seconds):
                async for chunk in request.stream():
                    received += len(chunk)
                    if received > LARGEST_ENCODED_SEGMENT:
                        raise _too_large()
                    for start in range(0, len(chunk), _PIECE):
                        reader.add(chunk[start : start + _PIECE])
        except TimeoutError:
            detail = f"the segment took more than {self._seconds:g} s to arrive: send it faster, or smaller ones"
            raise ContributionError("too-slow", detail) from None
        # Unpacking 16 MB takes some 20 ms.
        data = await run_sync(reader.end)
        if hashlib.sha256(data).hexdigest() != sha256:
            detail = f"the {len(data):,} bytes of the segment don't have this sha256: send it again"
            raise ContributionError("wrong-digest", detail)
        return data


class _Plain:
    """The bytes of a body as they are."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, piece: bytes) -> None:
        """Add a piece; raise ContributionError if it is too much."""
        self._data += piece
        if len(self._data) > LARGEST_SEGMENT:
            raise _too_large()

    def end(self) -> bytes:
        """Return all bytes."""
        return bytes(self._data)


class _Unpacked(_Plain):
    """The bytes that a body of one zstd frame unpacks to, never more than the limit."""

    def __init__(self) -> None:
        super().__init__()
        self._source = bytearray()

    def add(self, piece: bytes) -> None:
        """Add a piece of the compressed bytes; it is unpacked at the end, in bounded steps."""
        self._source += piece

    def end(self) -> bytes:
        """Return all bytes; raise ContributionError for a body that is cut short or isn't zstd."""
        reader = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).stream_reader(bytes(self._source))
        try:
            while piece := reader.read(_PIECE):
                super().add(piece)
        except zstandard.ZstdError as error:
            raise ContributionError("bad-segment", f"the body isn't zstd ({error}): send it again") from None
        return super().end()


def _too_large() -> ContributionError:
    return ContributionError("too-large", f"a segment has at most {LARGEST_SEGMENT:,} bytes: send smaller ones")


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
