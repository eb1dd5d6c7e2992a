"""A backend that the product doesn't know: shelf:///folder, whose files are read by ranges, as from a bucket."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from losslake.lake.store import folder
from losslake.lake.store.blocks import BlockCache
from losslake.lake.store.folder import FolderStore
from losslake.lake.store.ranged_files import SCHEME as SCHEME_IN_QUERIES
from losslake.lake.store.ranged_files import RangeReader, attach_files
from losslake.lake.store.store import DataFile, MetadataFiles

SCHEME = "shelf://"


def normalize_url(url: str) -> str:
    return url


def open_store(url: str, endpoint: str | None, cache: BlockCache) -> Shelf:
    return Shelf(Path(url.removeprefix(SCHEME)), cache)


def metadata_files(url: str, endpoint: str | None) -> tuple[MetadataFiles, str]:
    return folder.metadata_files(url.removeprefix(SCHEME), endpoint)


@dataclass(frozen=True)
class Shelf(FolderStore):
    """A folder of which readers see only ranges and copies of files."""

    cache: BlockCache

    local_folder = None  # type: ignore[assignment]

    @property
    def url(self) -> str:
        return f"{SCHEME}{self.folder}"

    def url_of(self, path: str) -> str:
        return f"{self.url}/{path}"

    def display_name(self, path: str) -> str:
        return self.url_of(path)

    def open(self, path: str, size: int) -> pa.NativeFile:
        return pa.PythonFile(self._reader(path, size), mode="r")

    def local(self, path: str, size: int) -> Path:
        return self.cache.whole(self.url_of(path), size, lambda target: self._copy(path, target))

    def name_for_queries(self, path: str) -> str:
        return f"{SCHEME_IN_QUERIES}{path}"

    def attach(self, connection: duckdb.DuckDBPyConnection, files: Callable[[], Iterable[DataFile]]) -> None:
        attach_files(connection, files, self._reader)

    def _copy(self, path: str, target: Path) -> None:
        shutil.copyfile(self.folder / path, target)

    def _reader(self, path: str, size: int) -> RangeReader:
        return RangeReader(lambda start, stop: self.range(path, size, start, stop), size)
