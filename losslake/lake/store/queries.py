"""Files of a bucket for DuckDB, which reads them by ranges through the store."""

from __future__ import annotations

from collections.abc import Callable
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

    def __init__(self, size_of: Callable[[str], int | None], open_file: Callable[[str, int], RawIOBase]) -> None:
        """size_of: the bytes of a file, by its path, None for one that isn't there. open_file: opens it, so large."""
        super().__init__()
        self._size_of = size_of
        self._open_file = open_file

    def open(self, path: str, mode: str = "rb", **_: Any) -> RawIOBase:
        if mode != "rb":
            raise PermissionError(f"{path} is only read")
        return self._open_file(_path(path), self.size(path))

    def size(self, path: str) -> int:
        known = self._size_of(_path(path))
        if known is None:
            raise FileNotFoundError(path)
        return known

    def exists(self, path: str, **_: Any) -> bool:
        return self._size_of(_path(path)) is not None

    def isdir(self, path: str) -> bool:
        return False

    def glob(self, path: str, **_: Any) -> list[str]:
        return [path] if self.exists(path) else []

    def modified(self, path: str) -> datetime:
        return _LONG_AGO


def _path(name: str) -> str:
    return name.removeprefix(SCHEME)
