"""A prefix of a bucket as the place for the files of a lake. What is read is kept on this machine, up to a bound.

DuckDB reads the files through a file system of its own, by ranges.
"""

from __future__ import annotations

import io
import os
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

from losslake.lake.store.blocks import Blocks
from losslake.lake.store.bucket import Bucket
from losslake.lake.store.store import DataFile, StoredFile, Traffic

SCHEME = "losslake://"
_AT_ONCE = 16
_FEWEST_TO_LIST = 64
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)  # files never change


class BucketStore:
    """The files below a prefix of a bucket; the methods are those of `losslake.lake.store.store.Store`."""

    def __init__(self, bucket: Bucket, blocks: Blocks) -> None:
        self.bucket = bucket
        self._blocks = blocks

    @property
    def url(self) -> str:
        return self.bucket.url

    @property
    def traffic(self) -> Traffic:
        return Traffic(self.bucket.fetched_bytes, self._blocks.found, self._blocks.fetched)

    def url_of(self, path: str) -> str:
        return f"{self.bucket.url}/{path}"

    def name_of(self, path: str) -> str:
        return self.url_of(path)

    def put(self, path: str, data: pa.Buffer | bytes) -> None:
        self.bucket.put(path, data)

    def settle(self, paths: Sequence[str]) -> None:
        """Nothing to wait for: a file that was put is there for good."""

    def take(self, local: Path, path: str) -> None:
        self.bucket.put(path, local)
        local.unlink()

    def read(self, path: str) -> pa.Buffer:
        return self.bucket.read(path)

    def open(self, path: str, size: int) -> pa.NativeFile:
        return pa.PythonFile(self._reader(path, size), mode="r")

    def range(self, path: str, size: int, start: int, stop: int) -> bytes:
        """Some of the bytes of a file of so many; fetched by the block, and kept."""
        return self._blocks.read(self.url_of(path), size, start, stop, lambda a, b: self.bucket.range(path, a, b))

    def local(self, path: str, size: int) -> Path:
        return self._blocks.whole(self.url_of(path), size, lambda target: self.bucket.copy_to(path, target, size))

    def copy_to(self, path: str, target: Path, link: bool) -> None:
        self.bucket.copy_to(path, target)

    def name_for_queries(self, path: str) -> str:
        return f"{SCHEME}{path}"

    def attach(self, connection: duckdb.DuckDBPyConnection, files: Callable[[], Iterable[DataFile]]) -> None:
        # Connections of one process to one DuckDB file share its file systems.
        if connection.filesystem_is_registered(StoredFiles.protocol):
            return
        sizes = cache(lambda: {file.path: file.bytes for file in files()})
        connection.register_filesystem(StoredFiles(lambda path: sizes().get(path), self._reader))

    def missing(self, paths: Sequence[str]) -> str | None:
        if len(paths) > _FEWEST_TO_LIST:
            there = {file.path for file in self.listed(os.path.commonpath(paths))}
            return next((path for path in paths if path not in there), None)
        with ThreadPoolExecutor(_AT_ONCE, "head") as pool:
            sizes = pool.map(self.bucket.size, paths)
            return next((path for path, size in zip(paths, sizes, strict=True) if size is None), None)

    def delete(self, paths: Sequence[str]) -> None:
        self.bucket.delete(paths)

    def listed(self, prefix: str) -> Iterator[StoredFile]:
        return self.bucket.listed(prefix)

    def _reader(self, path: str, size: int) -> RangeReader:
        return RangeReader(lambda start, stop: self.range(path, size, start, stop), size)


class StoredFiles(AbstractFileSystem):  # type: ignore[misc]
    """What DuckDB asks of a file system. Names are SCHEME and the file's path; there are no others to be found."""

    protocol = SCHEME.removesuffix("://")
    cachable = False

    def __init__(self, size_of: Callable[[str], int | None], open_file: Callable[[str, int], RawIOBase]) -> None:
        """size_of: the bytes of a file, by its path, None for one that isn't there. open_file: opens it, so large."""
        super().__init__()
        self._size_of = size_of
        self._open_file = open_file

    def open(self, path: str, mode: str = "rb", **_: Any) -> RawIOBase:
        if mode != "rb":
            raise PermissionError(f"{path} is only read")
        return self._open_file(path.removeprefix(SCHEME), self.size(path))

    def size(self, path: str) -> int:
        known = self._size_of(path.removeprefix(SCHEME))
        if known is None:
            raise FileNotFoundError(path)
        return known

    def exists(self, path: str, **_: Any) -> bool:
        return self._size_of(path.removeprefix(SCHEME)) is not None

    def isdir(self, path: str) -> bool:
        return False

    def glob(self, path: str, **_: Any) -> list[str]:
        return [path] if self.exists(path) else []

    def modified(self, path: str) -> datetime:
        return _LONG_AGO


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
