"""What every place for the files of a lake can do. Files are put whole and never change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

import duckdb
import pyarrow as pa

from losslake_schema.names import Study, Workload


@dataclass(frozen=True)
class StoredFile:
    """A file as a store lists it; path: relative to the lake."""

    path: str
    bytes: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of the lake; path is relative to the lake; the partition is None in a small table."""

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
        """The study whose partition the file is in."""
        if None in (self.collection, self.dataset, self.model, self.optimizer, self.batch_size):
            return None
        assert self.collection and self.dataset and self.model and self.optimizer and self.batch_size is not None
        return Study(Workload(self.collection, self.dataset, self.model, self.optimizer), self.batch_size)


@dataclass(frozen=True)
class Traffic:
    """What this process has had of a store so far.

    bytes: that came from it. found, fetched: blocks and whole files that were kept on this machine when they were asked
    for, and those that weren't.
    """

    bytes: int = 0
    found: int = 0
    fetched: int = 0


class Store(Protocol):
    """The files of a lake by path, with slashes, relative to it.

    Whatever reads raises FileNotFoundError for a file that isn't there, and OSError when the store fails to the last
    try.
    """

    def __hash__(self) -> int: ...

    @property
    def url(self) -> str:
        """Where the files are, for people and for other engines: file:// or s3://, without a slash at the end."""

    @property
    def traffic(self) -> Traffic:
        """What this process has had of it; nothing where the files are on this machine."""

    def url_of(self, path: str) -> str:
        """The URL of a file, as Iceberg's metadata names it."""

    def name_of(self, path: str) -> str:
        """A file as people are told of it."""

    def put(self, path: str, data: pa.Buffer | bytes) -> None:
        """Store a file, which others see whole or not at all once `settle` was called for it."""

    def settle(self, paths: Sequence[str]) -> None:
        """Return once these files, which were put, are there for good."""

    def take(self, local: Path, path: str) -> None:
        """Store a finished file of this machine, which is gone from there then."""

    def read(self, path: str) -> pa.Buffer:
        """The bytes of a file, fresh from the store."""

    def open(self, path: str, size: int) -> pa.NativeFile:
        """A file of so many bytes, for reading at random; nothing of it is fetched that isn't read, nor twice."""

    def local(self, path: str, size: int) -> Path:
        """A file of so many bytes as one of this machine, to be read soon: it may be forgotten later."""

    def copy_to(self, path: str, target: Path, link: bool) -> None:
        """Copy a file to a new one of this machine, as a hard link if asked and possible."""

    def name_for_queries(self, path: str) -> str:
        """What DuckDB reads the file by, on a connection that it was attached to."""

    def attach(self, connection: duckdb.DuckDBPyConnection, files: Callable[[], Iterable[DataFile]]) -> None:
        """Let a connection, and its cursors, read these files by their names for queries.

        files: asked for only once they are read, since the list of a large release takes seconds.
        """

    def missing(self, paths: Sequence[str]) -> str | None:
        """One of these files that isn't there; None if all are."""

    def delete(self, paths: Sequence[str]) -> None:
        """Delete files; those that aren't there are passed over."""

    def listed(self, prefix: str) -> Iterator[StoredFile]:
        """Every file whose path begins with these folders, in any order."""
