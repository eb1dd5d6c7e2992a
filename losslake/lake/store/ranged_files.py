"""Files of a store for DuckDB, which reads ranges of them through an fsspec file system."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from io import RawIOBase
from typing import Any

import duckdb
from fsspec import AbstractFileSystem

from losslake.lake.store.store import DataFile

SCHEME = "losslake://"
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)  # files never change
_attaching = threading.Lock()


def attach_files(
    connection: duckdb.DuckDBPyConnection,
    files: Callable[[], Iterable[DataFile]],
    open_file: Callable[[str, int], RawIOBase],
) -> None:
    """Let a connection and its cursors read these files, by SCHEME and their paths.

    files: called only when a file is read. open_file: opens a path, given its size.
    """
    sizes = cache(lambda: {file.path: file.bytes for file in files()})
    stored = StoredFiles(lambda path: sizes().get(path), open_file)
    # Connections of one process to one DuckDB file share its file systems: DuckDB refuses to register one twice.
    with _attaching:
        if not connection.filesystem_is_registered(stored.protocol):
            connection.register_filesystem(stored)


class StoredFiles(AbstractFileSystem):  # type: ignore[misc]
    """The files of a store as an fsspec file system for DuckDB. A name is SCHEME and the path of the file."""

    protocol = SCHEME.removesuffix("://")
    cachable = False

    def __init__(self, size_of: Callable[[str], int | None], open_file: Callable[[str, int], RawIOBase]) -> None:
        """size_of: returns the bytes of a file, None if it doesn't exist. open_file: opens a path, given its size."""
        super().__init__()
        self._size_of = size_of
        self._open_file = open_file

    def open(self, path: str, mode: str = "rb", **_: Any) -> RawIOBase:
        """Open a file for reading."""
        if mode != "rb":
            raise PermissionError(f"{path} is read-only")
        return self._open_file(path.removeprefix(SCHEME), self.size(path))

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        size = self._size_of(path.removeprefix(SCHEME))
        if size is None:
            raise FileNotFoundError(path)
        return size

    def exists(self, path: str, **_: Any) -> bool:
        """Return True if the file exists."""
        return self._size_of(path.removeprefix(SCHEME)) is not None

    def isdir(self, path: str) -> bool:
        """Return False: only files are known."""
        return False

    def glob(self, path: str, **_: Any) -> list[str]:
        """Return the file itself if it exists."""
        return [path] if self.exists(path) else []

    def modified(self, path: str) -> datetime:
        """Return a constant time."""
        return _LONG_AGO


class RangeReader(io.RawIOBase):
    """A file object over a function that reads ranges."""

    def __init__(self, read_range: Callable[[int, int], bytes], size: int) -> None:
        """read_range: returns the bytes from one position up to another. size: of the file, in bytes."""
        self._read_range = read_range
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position and return it."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        """Return bytes from the position on, by default all."""
        stop = self._size if size is None or size < 0 else min(self._position + size, self._size)
        data = self._read_range(self._position, stop) if stop > self._position else b""
        self._position += len(data)
        return data
