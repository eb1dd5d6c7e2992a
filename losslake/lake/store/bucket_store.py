"""A prefix of a bucket as the place for the files of a lake. What is read is kept on this machine, up to a bound."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import duckdb
import pyarrow as pa

from losslake.lake.manifest import DataFile
from losslake.lake.store.blocks import Blocks
from losslake.lake.store.bucket import Bucket
from losslake.lake.store.queries import SCHEME, StoredFiles
from losslake.lake.store.range_reader import RangeReader
from losslake.lake.store.store import StoredFile, Traffic

_AT_ONCE = 16
_FEWEST_TO_LIST = 64


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
