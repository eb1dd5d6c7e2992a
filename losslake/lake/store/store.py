"""The interface of stores. Files are stored whole and never change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

import duckdb
import pyarrow as pa

from losslake_schema.names import Study, Workload

Method = Literal["GET", "HEAD"]
# Return a URL that allows anyone to request a file for some seconds. May request credentials from a server.
SignUrl = Callable[[str, int, Method], str]


@dataclass(frozen=True)
class StoredFile:
    """A file as listed by a store. path: relative to the lake."""

    path: str
    bytes: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a lake. path: relative to the lake. The columns of the partition are None in a small table.

    batch_size: CHANGES for the study of that name.
    """

    table: str
    path: str
    bytes: int
    sha256: str
    rows: int
    collection: str | None = None
    dataset: str | None = None
    model: str | None = None
    optimizer: str | None = None
    batch_size: int | None = None

    @property
    def study(self) -> Study | None:
        """The study whose partition the file is in, or None."""
        if None in (self.collection, self.dataset, self.model, self.optimizer, self.batch_size):
            return None
        assert self.collection and self.dataset and self.model and self.optimizer and self.batch_size is not None
        return Study(Workload(self.collection, self.dataset, self.model, self.optimizer), self.batch_size)


@dataclass(frozen=True)
class Traffic:
    """Counters of a store since the start of this process.

    bytes: fetched from it. hits, misses: requested blocks and whole files that were in the local cache, or were not.
    """

    bytes: int = 0
    hits: int = 0
    misses: int = 0


class MetadataFiles(Protocol):
    """Files that are read and written whole: those of Iceberg's metadata."""

    def size(self, path: str) -> int | None:
        """Return the size of a file in bytes, or None if it doesn't exist."""

    def read(self, path: str) -> pa.Buffer | bytes:
        """Return the bytes of a file."""

    def put(self, path: str, data: bytes) -> None:
        """Write a file. It is durable once the store of the lake has synced it."""

    def delete(self, paths: Sequence[str]) -> None:
        """Delete files; missing ones are ignored."""


class Store(Protocol):
    """The files of a lake, by paths with slashes, relative to it.

    Methods that read raise FileNotFoundError for a missing file, and OSError if the store fails after all retries.
    """

    def __hash__(self) -> int: ...

    @property
    def url(self) -> str:
        """The URL of the store for users and other engines, without a trailing slash."""

    @property
    def local_folder(self) -> Path | None:
        """The folder of the files if they are on this machine, by the same paths; otherwise None."""

    @property
    def traffic(self) -> Traffic:
        """The counters of this process; 0 for local files."""

    def url_of(self, path: str) -> str:
        """Return the URL of a file, as in Iceberg's metadata."""

    def hadoop_url(self, path: str) -> str:
        """Return the URL or path of a file or folder for Hadoop, and so for Spark."""

    def signer(self, endpoint: str | None = None) -> SignUrl | None:
        """Return the function that signs URLs of files, or None if clients can't read from the store.

        endpoint: where clients reach the store, if not where this process does.
        """

    def display_name(self, path: str) -> str:
        """Return the name of a file for messages."""

    def put(self, path: str, data: pa.Buffer | bytes) -> None:
        """Store a file. It is durable and visible to others only after `sync`."""

    def sync(self, paths: Sequence[str]) -> None:
        """Return once these stored files are durable."""

    def move_in(self, local: Path, path: str) -> None:
        """Move a finished local file into the store."""

    def read(self, path: str) -> pa.Buffer:
        """Return the bytes of a file, read from the store without the cache."""

    def open(self, path: str, size: int) -> pa.NativeFile:
        """Open a file for random access: only what is read is fetched, and only once. size: in bytes."""

    def range(self, path: str, size: int, start: int, stop: int) -> bytes:
        """Return the bytes of a file from start up to stop, through the cache. size: of the file, in bytes."""

    def local(self, path: str, size: int) -> Path:
        """Return the path of a local copy of a file, to be read soon: it may be evicted. size: in bytes."""

    def copy_to(self, path: str, target: Path, link: bool) -> None:
        """Copy a file to a new local one. link: create a hard link if possible."""

    def name_for_queries(self, path: str) -> str:
        """Return the name by which DuckDB reads the file on an attached connection."""

    def attach(self, connection: duckdb.DuckDBPyConnection, files: Callable[[], Iterable[DataFile]]) -> None:
        """Let a connection and its cursors read these files by their names for queries.

        files: called only when a file is read, since listing a large release takes seconds.
        """

    def first_missing(self, paths: Sequence[str]) -> str | None:
        """Return the first of these files that doesn't exist, or None if all exist."""

    def delete(self, paths: Sequence[str]) -> None:
        """Delete files; missing ones are ignored."""

    def list_files(self, prefix: str) -> Iterator[StoredFile]:
        """Yield every file below the folder `prefix`, in any order."""
