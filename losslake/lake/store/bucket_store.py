"""A store in a prefix of a bucket, with a local cache for what is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pyarrow as pa

from losslake.lake.store.blocks import BlockCache
from losslake.lake.store.bucket import Bucket
from losslake.lake.store.ranged_files import SCHEME, RangeReader, attach_files
from losslake.lake.store.store import DataFile, SignUrl, StoredFile, Traffic

_MOST_HEAD_REQUESTS = 64  # to look up more files, list their folder


class BucketStore:
    """The files below a prefix of a bucket; implements `losslake.lake.store.store.Store`."""

    local_folder = None

    def __init__(
        self, bucket: Bucket, cache: BlockCache, bucket_at: Callable[[str], Bucket], hadoop_scheme: str
    ) -> None:
        """bucket_at: returns the same prefix at another endpoint. hadoop_scheme: of its URLs for Hadoop."""
        self._bucket = bucket
        self._cache = cache
        self._bucket_at = bucket_at
        self._hadoop_scheme = hadoop_scheme

    @property
    def url(self) -> str:
        """The URL of the prefix."""
        return self._bucket.url

    @property
    def traffic(self) -> Traffic:
        """The counters of this process."""
        return Traffic(self._bucket.fetched_bytes, self._cache.hits, self._cache.misses)

    def url_of(self, path: str) -> str:
        """Return the URL of a file."""
        return f"{self._bucket.url}/{path}"

    def hadoop_url(self, path: str) -> str:
        """Return the URL of a file or folder for Hadoop."""
        return f"{self._hadoop_scheme}://{self.url_of(path).partition('://')[2]}"

    def display_name(self, path: str) -> str:
        """Return the name of a file for messages."""
        return self.url_of(path)

    def put(self, path: str, data: pa.Buffer | bytes) -> None:
        """Store a file."""
        self._bucket.put(path, data)

    def sync(self, paths: Sequence[str]) -> None:
        """Do nothing: stored objects are durable."""

    def move_in(self, local: Path, path: str) -> None:
        """Store a local file and delete it there."""
        self._bucket.put(path, local)
        local.unlink()

    def read(self, path: str) -> pa.Buffer:
        """Return the bytes of a file."""
        return self._bucket.read(path)

    def open(self, path: str, size: int) -> pa.NativeFile:
        """Open a file for random access."""
        return pa.PythonFile(self._reader(path, size), mode="r")

    def range(self, path: str, size: int, start: int, stop: int) -> bytes:
        """Return the bytes of a file from start up to stop, through the cache. size: of the file, in bytes."""
        return self._cache.read(self.url_of(path), size, start, stop, lambda a, b: self._bucket.range(path, a, b))

    def signer(self, endpoint: str | None = None) -> SignUrl:
        """Return the function that signs URLs of files."""
        return (self._bucket_at(endpoint) if endpoint else self._bucket).signed_url

    def local(self, path: str, size: int) -> Path:
        """Return a local copy of a file."""
        return self._cache.whole(self.url_of(path), size, lambda target: self._bucket.copy_to(path, target, size))

    def copy_to(self, path: str, target: Path, link: bool) -> None:
        """Copy a file to a local one."""
        self._bucket.copy_to(path, target)

    def name_for_queries(self, path: str) -> str:
        """Return the file's name for DuckDB."""
        return f"{SCHEME}{path}"

    def attach(self, connection: duckdb.DuckDBPyConnection, files: Callable[[], Iterable[DataFile]]) -> None:
        """Register the file system of this store with a connection."""
        attach_files(connection, files, self._reader)

    def first_missing(self, paths: Sequence[str]) -> str | None:
        """Return the first missing file, or None."""
        if len(paths) > _MOST_HEAD_REQUESTS:
            existing = {file.path for file in self.list_files(os.path.commonpath(paths))}
            return next((path for path in paths if path not in existing), None)
        with ThreadPoolExecutor(16, "head") as pool:
            sizes = pool.map(self._bucket.size, paths)
            return next((path for path, size in zip(paths, sizes, strict=True) if size is None), None)

    def delete(self, paths: Sequence[str]) -> None:
        """Delete files; missing ones are ignored."""
        self._bucket.delete(paths)

    def list_files(self, prefix: str) -> Iterator[StoredFile]:
        """Yield every file below a folder."""
        return self._bucket.list_files(prefix)

    def _reader(self, path: str, size: int) -> RangeReader:
        return RangeReader(lambda start, stop: self.range(path, size, start, stop), size)
