"""The data files of a release, as a worker for SQL gets to them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from losslake.lake.lake import WAREHOUSE, Lake
from losslake.lake.store.bucket_store import BucketStore
from losslake.lake.store.folder import FolderStore
from losslake_schema.database import Release
from losslake_service.sandbox.workers import DataFiles


class BucketData:
    """Those of a release in a bucket, by ranges that are kept on this machine; see `StoredData`."""

    def __init__(self, lake: Lake, store: BucketStore, release: Release) -> None:
        self._lake = lake
        self._store = store
        self._release = release

    def size(self, path: str) -> int | None:
        return self._sizes.get(path)

    def read(self, path: str, start: int, stop: int) -> bytes:
        return self._store.range(path, self._sizes[path], start, stop)

    @cached_property
    def _sizes(self) -> Mapping[str, int]:
        return {file.path: file.bytes for file in self._lake.files(self._release)}


def data_files_of(lake: Lake, release: Release) -> DataFiles:
    """The folder of all data files, or who gives ranges of those of the release."""
    store = lake.store
    if isinstance(store, FolderStore):
        return Path(store.folder, WAREHOUSE)
    assert isinstance(store, BucketStore)
    return BucketData(lake, store, release)
