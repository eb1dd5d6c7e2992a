"""Iceberg's own files, each on the disk for good before the catalog names it."""

from __future__ import annotations

import io
from pathlib import Path

from pyiceberg.io import OutputStream
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

from losslake.lake.durable import on_disk


class SyncedFileIO(PyArrowFileIO):
    """What PyIceberg reads and writes local files by."""

    def new_output(self, location: str) -> PyArrowFile:
        output = super().new_output(location)
        return _SyncedFile(location, output._path, output._filesystem)


class _SyncedFile(PyArrowFile):
    def create(self, overwrite: bool = False) -> OutputStream:
        path = Path(self._path)
        path.parent.mkdir(parents=True, exist_ok=True)
        return _SyncedStream(io.FileIO(path, "w" if overwrite else "x"), path)


class _SyncedStream(io.BufferedWriter):
    def __init__(self, raw: io.FileIO, path: Path) -> None:
        super().__init__(raw)
        self._path = path

    def close(self) -> None:
        was_open = not self.closed
        super().close()
        if was_open:
            on_disk(self._path.parent, [self._path])
