"""A store in a local folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from losslake.lake.machine import sync_to_disk
from losslake.lake.store.store import DataFile, StoredFile, Traffic


@dataclass(frozen=True)
class FolderStore:
    """The files below a folder; implements `losslake.lake.store.store.Store`."""

    folder: Path

    @property
    def url(self) -> str:
        """The URL of the folder."""
        return f"file://{self.folder}"

    @property
    def traffic(self) -> Traffic:
        """The counters, which stay 0."""
        return Traffic()

    def url_of(self, path: str) -> str:
        """Return the URL of a file."""
        return f"file://{self.folder / path}"

    def display_name(self, path: str) -> str:
        """Return the name of a file for messages."""
        return str(self.folder / path)

    def put(self, path: str, data: pa.Buffer | bytes) -> None:
        """Write a file."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    def sync(self, paths: Sequence[str]) -> None:
        """Sync files to disk."""
        sync_to_disk(self.folder, [self.folder / path for path in paths])

    def move_in(self, local: Path, path: str) -> None:
        """Move a local file into the store."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        local.replace(target)

    def read(self, path: str) -> pa.Buffer:
        """Return the bytes of a file."""
        return pa.py_buffer((self.folder / path).read_bytes())

    def open(self, path: str, size: int) -> pa.NativeFile:
        """Map a file into memory."""
        return pa.memory_map(str(self.folder / path))

    def local(self, path: str, size: int) -> Path:
        """Return the path of a file."""
        return self.folder / path

    def copy_to(self, path: str, target: Path, link: bool) -> None:
        """Copy or hard-link a file."""
        if link:
            os.link(self.folder / path, target)
        else:
            shutil.copyfile(self.folder / path, target)

    def name_for_queries(self, path: str) -> str:
        """Return the file's name for DuckDB."""
        return str(self.folder / path)

    def attach(self, connection: duckdb.DuckDBPyConnection, files: Callable[[], Iterable[DataFile]]) -> None:
        """Do nothing: DuckDB reads local files by itself."""

    def first_missing(self, paths: Sequence[str]) -> str | None:
        """Return the first missing file, or None."""
        return next((path for path in paths if not (self.folder / path).is_file()), None)

    def delete(self, paths: Sequence[str]) -> None:
        """Delete files; missing ones are ignored."""
        for path in paths:
            (self.folder / path).unlink(missing_ok=True)

    def list_files(self, prefix: str) -> Iterator[StoredFile]:
        """Yield every file below a folder."""
        for folder, _, names in os.walk(self.folder / prefix):
            for name in names:
                path = Path(folder, name)
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                name_in_store = path.relative_to(self.folder).as_posix()
                yield StoredFile(name_in_store, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))
