"""What a source of logs is: files with a path and their bytes, in a folder, in one file, or in a database.

The file behind an archive or a single log lies on a disk of this machine or is streamed from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Generic, NamedTuple, Protocol, TypeVar

from losslake.lake.manifest import sha256_of
from losslake_ingest.rules import Rule, SourceBroken

LARGEST_FILE = 256 * 2**20

Wanted = Callable[[str], bool]


class Member(NamedTuple):
    """A file of a source, with its path inside it (slashes, no leading one)."""

    path: str
    data: bytes


class Refused(NamedTuple):
    """An entry of a source that is not read: which rule it breaks, and why."""

    path: str
    rule: Rule
    message: str


class Source(Protocol):
    """An opened source. Iterating yields its files in order and raises SourceBroken where it can't go on.

    name: as reports and the ledger show it. is_streamed: whether its bytes come from elsewhere; then nothing of it may
    be stored before `sha256` has verified them. takes_all_cores: whether reading it keeps all cores busy.
    """

    path: Path
    name: str
    total_bytes: int | None = None
    is_streamed: bool = False
    takes_all_cores: bool = False

    def position(self) -> int:
        """Bytes read so far, of total_bytes."""
        return 0

    def sha256(self) -> str | None:
        """Of all its bytes, None where it is no single file; raises SourceBroken when they aren't as promised."""
        return None

    def expected_sha256(self) -> str | None:
        """What `sha256` will say, where that can be told before the source is read as one; else None."""
        return None

    def is_as_opened(self) -> bool:
        """Return True if nobody has written to it since it was opened; False where nothing tells."""
        return False

    def members(self, wanted: Wanted, first: int | None = None) -> Iterator[Member | Refused]:
        """The files whose path is wanted; others are passed over unread. first: only so many bytes of each."""


class PartOfSource(Source):
    """The files of a source for which `belongs` holds."""

    def __init__(self, source: Source, belongs: Wanted) -> None:
        self._source = source
        self._belongs = belongs
        self.path = source.path
        self.name = source.name

    def members(self, wanted: Wanted, first: int | None = None) -> Iterator[Member | Refused]:
        yield from self._source.members(lambda path: self._belongs(path) and wanted(path), first)


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
        """Whether the bytes come from elsewhere, so that `sha256` verifies them only when all have been read."""

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
        status = self.path.stat()
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def path_trick(path: str) -> Refused | None:
    """Return the refusal of an archive's entry whose path must not be followed; None for an honest one."""
    if path.startswith("/") or (len(path) > 1 and path[1] == ":"):
        trick = "the path is absolute"
    elif ".." in path.split("/"):
        trick = "the path leads out of the archive by '..'"
    elif "\0" in path or "\\" in path:
        trick = "the path holds a NUL or a backslash"
    else:
        return None
    return Refused(path, Rule.PATH_TRICK, f"{trick}: the entry was passed over")


def too_large(path: str, size: int) -> Refused:
    """Return the refusal of a file beyond the largest that is read into memory."""
    return Refused(path, Rule.FILE_TOO_LARGE, f"{size:,} bytes; at most {LARGEST_FILE:,} are read: split the file")


def plain(path: str) -> str:
    """Return the path without `./` and doubled slashes."""
    if not ("//" in path or "/./" in path or path.startswith(("./", "/")) or path.endswith(("/", "/.")) or path == "."):
        return path  # as nearly all of them are
    return "/".join(part for part in path.split("/") if part not in ("", "."))


Item = TypeVar("Item")


class UntilBreak(Generic[Item]):
    """The items of a source that come before it breaks off; broken is the break, once they are drawn."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = items
        self.broken: SourceBroken | None = None

    def __iter__(self) -> Iterator[Item]:
        try:
            yield from self._items
        except SourceBroken as error:
            self.broken = error

    def tell(self) -> None:
        """Raise the break, if there was one."""
        if self.broken is not None:
            raise self.broken
