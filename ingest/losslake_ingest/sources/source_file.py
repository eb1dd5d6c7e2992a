"""The one file that an archive or a log is: on a disk of this machine, or streamed from elsewhere."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Protocol

from losslake.lake.manifest import sha256_of


class SourceFile(Protocol):
    """A file that can be read from its start as often as need be.

    name: as reports and the ledger show it. path: its place, by which mappings put runs; where the file is streamed
    there is nothing at it. size: in bytes.
    """

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> Path: ...

    @property
    def size(self) -> int: ...

    @property
    def is_streamed(self) -> bool:
        """Whether the bytes come from elsewhere, so that `sha256` vouches for them only when all have been read."""

    def open(self) -> AbstractContextManager[IO[bytes]]:
        """The bytes from the start; seekable."""

    def sha256(self) -> str:
        """Of all bytes, read now as far as they weren't; raises SourceBroken when they are not what was promised."""

    def expected_sha256(self) -> str | None:
        """What `sha256` will say if it raises nothing; None where only reading it as a source can tell."""

    def stamp(self) -> tuple[int, ...]:
        """Changes when somebody writes to the file; that of a streamed one never does, `sha256` watches over it."""


@dataclass(frozen=True)
class LocalFile:
    """A file on a disk of this machine."""

    path: Path

    is_streamed = False

    @property
    def name(self) -> str:
        return str(self.path)

    @cached_property
    def size(self) -> int:
        return self.path.stat().st_size

    def open(self) -> IO[bytes]:
        return self.path.open("rb")

    def sha256(self) -> str:
        return sha256_of(self.path)

    def expected_sha256(self) -> str:
        return self.sha256()

    def stamp(self) -> tuple[int, ...]:
        found = self.path.stat()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
