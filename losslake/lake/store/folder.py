"""Lakes in a local folder."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

import duckdb
import pyarrow as pa

from losslake.lake.machine import atomic_write, sync_to_disk
from losslake.lake.store.blocks import BlockCache
from losslake.lake.store.store import DataFile, MetadataFiles, StoredFile, Traffic

SCHEME = "file://"


def normalize_url(url: str) -> str:
    """Return the URL of a folder, with an absolute path. url: or a path, relative or with a tilde."""
    parts = urlsplit(url)
    path = unquote(parts.path) if parts.scheme else url
    return f"{SCHEME}{Path(path).expanduser().absolute()}"


def open_store(url: str, endpoint: str | None, cache: BlockCache) -> FolderStore:  # noqa: ARG001 - the interface's
    """Return the store in a folder, which needs neither endpoint nor cache."""
    return FolderStore(Path(url.removeprefix(SCHEME)))


def metadata_files(url: str, endpoint: str | None) -> tuple[MetadataFiles, str]:  # noqa: ARG001 - the interface's
    """Return the local file system, and the path of the file."""
    return _Disk(Path()), url.removeprefix(SCHEME)


@dataclass(frozen=True)
class FolderStore:
    """The files below a folder; implements `losslake.lake.store.store.Store`."""

    folder: Path

    @property
    def url(self) -> str:
        """The URL of the folder."""
        return f"{SCHEME}{self.folder}"

    @property
    def traffic(self) -> Traffic:
        """The counters, which stay 0."""
        return Traffic()

    @property
    def local_folder(self) -> Path:
        """The folder."""
        return self.folder

    def url_of(self, path: str) -> str:
        """Return the URL of a file."""
        return f"{SCHEME}{self.folder / path}"

    def hadoop_url(self, path: str) -> str:
        """Return the path of a file or folder."""
        return str(self.folder / path)

    def signer(self, endpoint: str | None = None) -> None:
        """Return None: clients can't read from a folder."""

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
        """Move a local file into the store, also from another file system."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            local.replace(target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with atomic_write(target) as unfinished:
                shutil.copyfile(local, unfinished)
            local.unlink()

    def read(self, path: str) -> pa.Buffer:
        """Return the bytes of a file."""
        return pa.py_buffer((self.folder / path).read_bytes())

    def open(self, path: str, size: int) -> pa.NativeFile:
        """Map a file into memory."""
        return pa.memory_map(f"{self.folder}/{path}")  # joined by pathlib, it takes longer than to map it

    def range(self, path: str, size: int, start: int, stop: int) -> bytes:
        """Return the bytes of a file from start up to stop."""
        with (self.folder / path).open("rb") as file:
            file.seek(start)
            return file.read(stop - start)

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


class _Disk(FolderStore):
    """The files of this machine, by their absolute paths."""

    def size(self, path: str) -> int | None:
        """Return the size of a file in bytes, or None if it doesn't exist."""
        try:
            return Path(path).stat().st_size
        except FileNotFoundError:
            return None
