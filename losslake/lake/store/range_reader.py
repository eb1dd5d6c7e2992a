"""A file that is had by ranges, as Python reads files."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import cast


class RangeReader(io.RawIOBase):
    """The file, whose bytes don't change."""

    def __init__(self, read_range: Callable[[int, int], bytes], size: int) -> None:
        """read_range: gives the bytes from one position up to another. size: of the file, in bytes."""
        self._read_range = read_range
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        stop = self._size if size is None or size < 0 else min(self._position + size, self._size)
        data = self._read_range(self._position, stop) if stop > self._position else b""
        self._position += len(data)
        return data

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer)).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)
