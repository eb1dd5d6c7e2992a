"""Decompression of streams, recognized by their first bytes, on all cores if the format allows it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import rapidgzip
import zstandard

from losslake.lake.machine import cores
from losslake_ingest.contracts.rules import SourceBroken
from losslake_ingest.sources.member import SourceFile, most_unpacked

_MAGIC = {
    b"BZh": "bzip2",
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstandard",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
}
_DAMAGE = (
    RuntimeError, ValueError, IndexError, OverflowError, EOFError, OSError,
    zlib.error, lzma.LZMAError, zstandard.ZstdError,
)  # fmt: skip
# Not gzip: rapidgzip needs 3 GB for 2 GB of zeros.
PARALLEL = {"bzip2": rapidgzip.IndexedBzip2File}
_SMALL_READ = 1 << 16
_LARGEST_WINDOW = 2**27  # bytes; `xz -9` needs 2**26, `zstd --long` 2**27
_SERIAL: dict[str, Callable[[IO[bytes]], Any]] = {
    "bzip2": bz2.BZ2File,
    "gzip": lambda file: gzip.GzipFile(fileobj=file),
    "xz": lambda file: _Xz(file),
    "zstandard": lambda file: zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).stream_reader(
        file, read_across_frames=True
    ),
}


def kind_of(start: bytes) -> str:
    """Return the compression that the first bytes indicate: bzip2, gzip, xz, zstandard, zip, or plain."""
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), "plain")


class _Xz(AbstractContextManager["_Xz"]):
    """An xz file. Unlike lzma.LZMAFile, it needs no more memory than the limit, whatever the file asks for."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._start()

    def _start(self) -> None:
        self._decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_LARGEST_WINDOW)

    def __exit__(self, *_: object) -> None: ...

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end. Raises LZMAError and EOFError."""
        while True:
            if not self._decoder.eof:
                chunk = self._file.read(_SMALL_READ) if self._decoder.needs_input else b""
                if self._decoder.needs_input and not chunk:
                    raise EOFError("it ends within a stream")
                data = self._decoder.decompress(chunk, size)
            else:
                rest = self._decoder.unused_data.lstrip(b"\0") or self._file.read(_SMALL_READ).lstrip(b"\0")
                if not rest:
                    return b""
                self._start()
                data = self._decoder.decompress(rest, size)
            if data:
                return data

    read1 = read


class Decompressed:
    """The decompressed bytes of a file, read once from start to end.

    bzip2 is decompressed on all cores. If that fails, the standard library continues at the same position in
    small steps, so that every byte before the damage is delivered. Streamed files are read by the standard library from
    the start: rapidgzip can deadlock on Python file objects, since it joins its threads while it holds the GIL.
    """

    def __init__(self, file: IO[bytes], kind: str, path: Path | None, most: int, stack: ExitStack) -> None:
        self._path = path
        self._kind = kind
        self._file = file
        self._stack = stack
        self._delivered = self._position = 0
        self._is_slow = path is None and kind in PARALLEL
        self._most = most
        self._stream = self._open_stream()

    def _open_stream(self) -> Any:
        if self._kind == "plain":
            return self._file
        if self._kind in PARALLEL and not self._is_slow:
            stream = PARALLEL[self._kind](str(self._path), parallelization=cores())
        else:
            stream = _SERIAL[self._kind](self._file)
        return self._stack.enter_context(stream)

    def position(self) -> int:
        """Return the approximate number of compressed bytes read so far, from any thread."""
        return self._position

    def _tell(self) -> int:
        if not self._is_slow and self._kind in PARALLEL:
            try:
                return int(self._stream.tell_compressed()) // 8
            except (RuntimeError, ValueError):
                return 0
        return self._file.tell()

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end. Raises SourceBroken if the stream is damaged, cut or too long."""
        try:
            data = self._next(size)
        except SourceBroken:
            if self._is_slow or self._kind == "plain":
                raise
            data = self._read_slowly()
        if self._delivered // _SMALL_READ != (self._delivered + len(data)) // _SMALL_READ:
            self._position = self._tell()
        self._delivered += len(data)
        if self._kind != "plain" and self._delivered > self._most:
            raise SourceBroken(f"the archive unpacks to more than {self._most:,} bytes: split it")
        return data

    def _next(self, size: int) -> bytes:
        try:
            data: bytes = self._stream.read1(_SMALL_READ) if self._is_slow else self._stream.read(size)
        except _DAMAGE as error:
            raise SourceBroken(f"the {self._kind} stream is damaged or cut short ({error})") from None
        return data

    def _read_slowly(self) -> bytes:
        """Continue at the same position with the standard library, in small steps."""
        self._is_slow = True
        self._file.seek(0)
        self._stream = self._open_stream()
        remaining = self._delivered
        while remaining > 0 and (passed := self._next(_SMALL_READ)):
            remaining -= len(passed)
        return passed[remaining:] if remaining < 0 else self._next(_SMALL_READ)


@contextmanager
def decompress(file: SourceFile, kind: str) -> Iterator[Decompressed]:
    """Open a file for decompressed reading, as a context manager."""
    with ExitStack() as stack:
        path, most = None if file.is_streamed else file.path, most_unpacked(file.size)
        yield Decompressed(stack.enter_context(file.open()), kind, path, most, stack)
