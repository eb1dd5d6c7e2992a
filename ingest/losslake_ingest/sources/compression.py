"""Compressed streams, recognized by their first bytes and decompressed on all cores where the format allows it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import rapidgzip
import zstandard

from losslake.lake.machine import cores
from losslake_ingest.rules import SourceBroken
from losslake_ingest.sources.member import SourceFile

_MAGIC = {
    b"BZh": "bzip2",
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstandard",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
}
_DAMAGE = (
    RuntimeError,
    ValueError,
    IndexError,
    OverflowError,
    EOFError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    zstandard.ZstdError,
)
PARALLEL = {"bzip2": rapidgzip.IndexedBzip2File, "gzip": rapidgzip.RapidgzipFile}
_SMALL_READ = 1 << 16
_LARGEST_ZSTANDARD_WINDOW = 2**27
_SERIAL: dict[str, Callable[[IO[bytes]], Any]] = {
    "bzip2": bz2.BZ2File,
    "gzip": lambda file: gzip.GzipFile(fileobj=file),
    "xz": lzma.LZMAFile,
    "zstandard": lambda file: zstandard.ZstdDecompressor(max_window_size=_LARGEST_ZSTANDARD_WINDOW).stream_reader(
        file, read_across_frames=True
    ),
}


def kind_of(start: bytes) -> str:
    """Return what the first bytes of a file say it is: bzip2, gzip, xz, zstandard, zip, or plain."""
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), "plain")


class Decompressed:
    """The decompressed bytes of a file, read once from its start to its end.

    bzip2 and gzip are decompressed on all cores. When that fails, the standard library reads on from the same place in
    small steps, so that every byte before the damage is delivered. What is streamed is read so from the start:
    rapidgzip can wait for ever for a file that Python reads (it ends its threads while it holds Python's lock).
    """

    def __init__(self, file: IO[bytes], kind: str, path: Path | None, stack: ExitStack) -> None:
        self._path = path
        self._kind = kind
        self._file = file
        self._stack = stack
        self._delivered = 0
        self._is_slow = path is None and kind in PARALLEL
        self._stream = self._opened()

    def _opened(self) -> Any:
        if self._kind == "plain":
            return self._file
        if self._kind in PARALLEL and not self._is_slow:
            stream = PARALLEL[self._kind](str(self._path), parallelization=cores())
        else:
            stream = _SERIAL[self._kind](self._file)
        return self._stack.enter_context(stream)

    def position(self) -> int:
        """Bytes of the compressed file read so far, about."""
        if not self._is_slow and self._kind in PARALLEL:
            try:
                return int(self._stream.tell_compressed()) // 8
            except (RuntimeError, ValueError):
                return 0
        return self._file.tell()

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`; empty at the end. Raises SourceBroken where the stream is damaged or cut."""
        try:
            data = self._next(size)
        except SourceBroken:
            if self._is_slow or self._kind == "plain":
                raise
            data = self._read_slowly()
        self._delivered += len(data)
        return data

    def _next(self, size: int) -> bytes:
        try:
            data: bytes = self._stream.read1(_SMALL_READ) if self._is_slow else self._stream.read(size)
        except _DAMAGE as error:
            raise SourceBroken(f"the {self._kind} stream is damaged or cut short ({error})") from None
        return data

    def _read_slowly(self) -> bytes:
        """Go on from the same place with the standard library, a little at a time."""
        self._is_slow = True
        self._file.seek(0)
        self._stream = self._opened()
        remaining = self._delivered
        while remaining > 0 and (passed := self._next(_SMALL_READ)):
            remaining -= len(passed)
        return passed[remaining:] if remaining < 0 else self._next(_SMALL_READ)


@contextmanager
def decompressed(file: SourceFile, kind: str) -> Iterator[Decompressed]:
    """Open a file for decompressed reading."""
    with ExitStack() as stack:
        opened = stack.enter_context(file.open())
        yield Decompressed(opened, kind, None if file.is_streamed else file.path, stack)
