"""Files of a bucket for DuckDB, which reads them by ranges through the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from io import RawIOBase
from typing import Any

from fsspec import AbstractFileSystem

SCHEME = "losslake://"
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)  # files never change


class StoredFiles(AbstractFileSystem):  # type: ignore[misc]
    """What DuckDB asks of a file system. Names are SCHEME and the file's path; there are no others to be found."""

    protocol = SCHEME.removesuffix("://")
    cachable = False

    def __init__(self, sizes: Callable[[], Mapping[str, int]], open_file: Callable[[str, int], RawIOBase]) -> None:
        """sizes: of the files, in bytes, by path. open_file: opens the one of that path and size."""
        super().__init__()
        self._sizes = sizes
        self._open_file = open_file

    def open(self, path: str, mode: str = "rb", **_: Any) -> RawIOBase:
        return self._open_file(_path(path), self.size(path))

    def size(self, path: str) -> int:
        known = self._sizes().get(_path(path))
        if known is None:
            raise FileNotFoundError(path)
        return known

    def exists(self, path: str, **_: Any) -> bool:
        return _path(path) in self._sizes()

    def glob(self, path: str, **_: Any) -> list[str]:
        return [path] if self.exists(path) else []

    def modified(self, path: str) -> datetime:
        return _LONG_AGO


def _path(name: str) -> str:
    return name.removeprefix(SCHEME)
