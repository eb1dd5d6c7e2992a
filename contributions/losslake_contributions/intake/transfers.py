"""Transfer of segments.

A segment is received bounded in time, in bytes, and in what it unpacks to, before anything is stored. It is sent in
pieces, so that a client that reads slowly holds little memory.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO

import zstandard
from anyio.to_thread import run_sync
from fastapi import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from losslake.lake.lake import Lake
from losslake_contributions.intake.segment_files import open_segment, pieces_of
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
        most = LARGEST_ENCODED_SEGMENT if coding == "zstd" else LARGEST_SEGMENT
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > most:
            raise _too_large()
        body = bytearray()
        try:
            async with asyncio.timeout(self._seconds):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > most:
                        raise _too_large()
        except TimeoutError:
            detail = f"the segment took more than {self._seconds:g} s to arrive: send it faster, or smaller ones"
            raise ContributionError("too-slow", detail) from None
        # Unpacking 16 MB takes some 20 ms.
        data = await run_sync(_unpacked if coding == "zstd" else bytes, body)
        if hashlib.sha256(data).hexdigest() != sha256:
            detail = f"the {len(data):,} bytes of the segment don't have this sha256: send it again"
            raise ContributionError("wrong-digest", detail)
        return data


def _unpacked(body: bytearray) -> bytes:
    """Return what a zstd frame unpacks to; raise ContributionError if it is too much, cut short or isn't zstd."""
    data = bytearray()
    reader = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).stream_reader(body)
    try:
        while piece := reader.read(_PIECE):
            data += piece
            if len(data) > LARGEST_SEGMENT:
                raise _too_large()
    except zstandard.ZstdError as error:
        raise ContributionError("bad-segment", f"the body isn't zstd ({error}): send it again") from None
    return bytes(data)


def _too_large() -> ContributionError:
    return ContributionError("too-large", f"a segment has at most {LARGEST_SEGMENT:,} bytes: send smaller ones")


async def send_segment(file: tuple[Lake, str, str], headers: Mapping[str, str], media_type: str) -> StreamingResponse:
    """Return a response with a segment; raise LakeBroken if its file isn't as it was acknowledged."""
    opened, n_bytes = await in_thread(open_segment, *file, kind="bulk")
    length = {"Content-Length": str(n_bytes)}
    return _SegmentResponse(opened, file[1], {**headers, **_AS_IT_IS, **length}, media_type)


class _SegmentResponse(StreamingResponse):
    """A response with the JSON lines of a segment, which closes its file."""

    def __init__(self, file: BinaryIO, path: str, headers: Mapping[str, str], media_type: str) -> None:
        self._file = file
        super().__init__(self._pieces(path), 200, headers, media_type)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        with self._file:
            await super().__call__(scope, receive, send)

    async def _pieces(self, path: str) -> AsyncIterator[bytes]:
        pieces = pieces_of(self._file, path)
        while piece := await in_thread(next, pieces, b"", kind="bulk"):
            yield piece
