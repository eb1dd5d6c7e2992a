"""A store in a prefix of a bucket, with a local cache for what is read.

DuckDB reads ranges of the files through an fsspec file system.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache
from io import RawIOBase
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from fsspec import AbstractFileSystem

from losslake.lake.store.blocks import BlockCache
from losslake.lake.store.bucket import Bucket
from losslake.lake.store.store import DataFile, StoredFile, Traffic

SCHEME = "losslake://"
_MOST_HEAD_REQUESTS = 64  # to look up more files, list their folder
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)  # files never change
_attaching = threading.Lock()


class BucketStore:
    """The files below a prefix of a bucket; implements `losslake.lake.store.store.Store`."""

    def __init__(self, bucket: Bucket, cache: BlockCache) -> None:
        self.bucket = bucket
        self._cache = cache

    @property
    def url(self) -> str:
        """The URL of the prefix."""
        return self.bucket.url

    @property
    def traffic(self) -> Traffic:
        """The counters of this process."""
        return Traffic(self.bucket.fetched_bytes, self._cache.hits, self._cache.misses)

    def url_of(self, path: str) -> str:
        """Return the URL of a file."""
        return f"{self.bucket.url}/{path}"

    def display_name(self, path: str) -> str:
        """Return the name of a file for messages."""
        return self.url_of(path)

    def put(self, path: str, data: pa.Buffer | bytes) -> None:
        """Store a file."""
        self.bucket.put(path, data)

    def sync(self, paths: Sequence[str]) -> None:
        """Do nothing: stored objects are durable."""

    def move_in(self, local: Path, path: str) -> None:
        """Store a local file and delete it there."""
        self.bucket.put(path, local)
        local.unlink()

    def read(self, path: str) -> pa.Buffer:
        """Return the bytes of a file."""
        return self.bucket.read(path)

    def open(self, path: str, size: int) -> pa.NativeFile:
        """Open a file for random access."""
        return pa.PythonFile(self._reader(path, size), mode="r")

    def range(self, path: str, size: int, start: int, stop: int) -> bytes:
        """Return the bytes of a file from start up to stop, through the cache. size: of the file, in bytes."""
        return self._cache.read(self.url_of(path), size, start, stop, lambda a, b: self.bucket.range(path, a, b))

    def local(self, path: str, size: int) -> Path:
        """Return a local copy of a file."""
        return self._cache.whole(self.url_of(path), size, lambda target: self.bucket.copy_to(path, target, size))

    def copy_to(self, path: str, target: Path, link: bool) -> None:
        """Copy a file to a local one."""
        self.bucket.copy_to(path, target)

    def name_for_queries(self, path: str) -> str:
        """Return the file's name for DuckDB."""
        return f"{SCHEME}{path}"

    def attach(self, connection: duckdb.DuckDBPyConnection, files: Callable[[], Iterable[DataFile]]) -> None:
        """Register the file system of this store with a connection."""
        sizes = cache(lambda: {file.path: file.bytes for file in files()})
        stored = StoredFiles(lambda path: sizes().get(path), self._reader)
        # Connections of one process to one DuckDB file share its file systems: DuckDB refuses to register one twice.
        with _attaching:
            if not connection.filesystem_is_registered(stored.protocol):
                connection.register_filesystem(stored)

    def first_missing(self, paths: Sequence[str]) -> str | None:
        """Return the first missing file, or None."""
        if len(paths) > _MOST_HEAD_REQUESTS:
            existing = {file.path for file in self.list_files(os.path.commonpath(paths))}
            return next((path for path in paths if path not in existing), None)
        with ThreadPoolExecutor(16, "head") as pool:
            sizes = pool.map(self.bucket.size, paths)
            return next((path for path, size in zip(paths, sizes, strict=True) if size is None), None)

    def delete(self, paths: Sequence[str]) -> None:
        """Delete files; missing ones are ignored."""
        self.bucket.delete(paths)

    def list_files(self, prefix: str) -> Iterator[StoredFile]:
        """Yield every file below a folder."""
        return self.bucket.list_files(prefix)

    def _reader(self, path: str, size: int) -> RangeReader:
        return RangeReader(lambda start, stop: self.range(path, size, start, stop), size)


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
