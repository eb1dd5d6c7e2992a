"""A folder of this machine as the place for the files of a lake."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from losslake.lake.machine import on_disk
from losslake.lake.store.store import DataFile, StoredFile, Traffic


@dataclass(frozen=True)
class FolderStore:
    """The files below a folder; the methods are those of `losslake.lake.store.store.Store`."""

    folder: Path

    @property
    def url(self) -> str:
        return f"file://{self.folder}"

    @property
    def traffic(self) -> Traffic:
        return Traffic()

    def url_of(self, path: str) -> str:
        return f"file://{self.folder / path}"

    def name_of(self, path: str) -> str:
        return str(self.folder / path)

    def put(self, path: str, data: pa.Buffer | bytes) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    def settle(self, paths: Sequence[str]) -> None:
        on_disk(self.folder, [self.folder / path for path in paths])

    def take(self, local: Path, path: str) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        local.replace(target)

    def read(self, path: str) -> pa.Buffer:
        return pa.py_buffer((self.folder / path).read_bytes())

    def open(self, path: str, size: int) -> pa.NativeFile:
        return pa.memory_map(str(self.folder / path))

    def local(self, path: str, size: int) -> Path:
        return self.folder / path

    def copy_to(self, path: str, target: Path, link: bool) -> None:
        if link:
            os.link(self.folder / path, target)
        else:
            shutil.copyfile(self.folder / path, target)

    def name_for_queries(self, path: str) -> str:
        return str(self.folder / path)

    def attach(self, connection: duckdb.DuckDBPyConnection, files: Callable[[], Iterable[DataFile]]) -> None:
        """Nothing to do: DuckDB reads the files of folders by itself."""

    def missing(self, paths: Sequence[str]) -> str | None:
        return next((path for path in paths if not (self.folder / path).is_file()), None)

    def delete(self, paths: Sequence[str]) -> None:
        for path in paths:
            (self.folder / path).unlink(missing_ok=True)

    def listed(self, prefix: str) -> Iterator[StoredFile]:
        for folder, _, names in os.walk(self.folder / prefix):
            for name in names:
                path = Path(folder, name)
                try:
                    facts = path.stat()
                except FileNotFoundError:
                    continue
                yield StoredFile(
                    path.relative_to(self.folder).as_posix(), facts.st_size, datetime.fromtimestamp(facts.st_mtime, UTC)
                )
