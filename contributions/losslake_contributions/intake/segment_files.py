"""The files of contributions in the lake's store, below `contributions/`: segments, compressed with zstd.

A file has a name of its own each time it is stored, so that a request that is sent twice never writes over what was
acknowledged.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from tempfile import TemporaryFile
from typing import BinaryIO

import zstandard

from losslake.lake.lake import Lake
from losslake_contributions.protocol.contributions import Segment
from losslake_contributions.protocol.errors import SegmentBroken
from losslake_contributions.store.private_files import FOLDER

# Whoever unpacks a file needs memory for a window, which is 2 MB by default. With this one, files are no larger.
_PARAMETERS = zstandard.ZstdCompressionParameters.from_level(3, window_log=17)
_PIECE = 1 << 15


def store_segment(lake: Lake, run: str, segment: Segment, data: bytes) -> str:
    """Store the JSON lines of a segment, and return the path of the file once it is durable."""
    path = f"{FOLDER}/{run}/{segment.attempt}-{segment.n}-{uuid.uuid4().hex}.jsonl.zst"
    try:
        lake.store.put(path, zstandard.ZstdCompressor(compression_params=_PARAMETERS).compress(data))
        lake.store.sync([path])
    except OSError:
        # Else each attempt would leave a part of the file on a disk that is full.
        with suppress(OSError):
            lake.store.delete([path])
        raise
    return path


def read_segment(lake: Lake, path: str, sha256: str) -> bytes:
    """Return the JSON lines of a stored segment; raise SegmentBroken if they aren't as they were acknowledged."""
    with _open(lake, path) as file:
        pieces = [*pieces_of(file, path)]
    _check(path, pieces, sha256)
    return b"".join(pieces)


def open_segment(lake: Lake, path: str, sha256: str) -> tuple[BinaryIO, int]:
    """Open the file of a stored segment, whose lines are read; return it with the bytes of its lines.

    Raises SegmentBroken if they aren't as they were acknowledged.
    """
    file = _open(lake, path)
    try:
        return file, _check(path, pieces_of(file, path), sha256)
    except BaseException:
        file.close()
        raise


def pieces_of(file: BinaryIO, path: str) -> Iterator[bytes]:
    """Yield the lines in the file of a segment, in pieces of any size; raise SegmentBroken if it can't be unpacked."""
    file.seek(0)
    try:
        with zstandard.ZstdDecompressor().stream_reader(file, _PIECE, closefd=False) as lines:
            while piece := lines.read(_PIECE):
                yield piece
    except zstandard.ZstdError as error:
        raise SegmentBroken(f"{path} can't be unpacked ({error}): restore it") from None


def _check(path: str, pieces: Iterable[bytes], sha256: str) -> int:
    """Return the bytes of lines; raise SegmentBroken if they don't have this digest."""
    digest, n_bytes = hashlib.sha256(), 0
    for piece in pieces:
        n_bytes += len(piece)
        digest.update(piece)
    if digest.hexdigest() != sha256:
        raise SegmentBroken(f"{path} was altered: restore it")
    return n_bytes


def _open(lake: Lake, path: str) -> BinaryIO:
    """Open a file of the store, or a copy of it without a name, of which a kill leaves nothing."""
    folder = lake.store.local_folder
    try:
        if folder is not None:
            return (folder / path).open("rb")
        data = lake.store.read(path)
    except FileNotFoundError:
        raise SegmentBroken(f"{path} is missing: restore it") from None
    copy = TemporaryFile(dir=lake.folder)  # noqa: SIM115 - closed with the segment
    copy.write(data)
    return copy
