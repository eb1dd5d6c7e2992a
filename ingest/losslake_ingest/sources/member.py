"""What a source is made of: files with a path and their bytes.

A part of a source: those of its files that one format is to read.
Reading a source to where it breaks off, and telling of the break after everything that was whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Generic, NamedTuple, Protocol, TypeVar

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
    be stored before `sha256` has vouched for them. takes_all_cores: whether reading it keeps all cores busy.
    """

    path: Path
    name: str
    total_bytes: int | None
    is_streamed: bool
    takes_all_cores: bool

    def position(self) -> int:
        """Bytes read so far, of total_bytes."""

    def sha256(self) -> str | None:
        """Of all its bytes, None where it is no single file; raises SourceBroken when they aren't as promised."""

    def expected_sha256(self) -> str | None:
        """What `sha256` will say, where that can be told before the source is read as one; else None."""

    def is_as_opened(self) -> bool:
        """Whether nobody has written to it since it was opened, as far as can be told; False where nothing tells."""

    def members(self, wanted: Wanted, first: int | None = None) -> Iterator[Member | Refused]:
        """The files whose path is wanted; others are passed over unread. first: only so many bytes of each."""


def path_trick(path: str) -> str | None:
    """Why a path of an archive must not be followed; None for an honest one."""
    if path.startswith("/") or (len(path) > 1 and path[1] == ":"):
        return "the path is absolute"
    if ".." in path.split("/"):
        return "the path leads out of the archive by '..'"
    if "\0" in path or "\\" in path:
        return "the path holds a NUL or a backslash"
    return None


def too_large(path: str, size: int) -> Refused:
    """The refusal of a file beyond the largest that is read into memory."""
    return Refused(path, Rule.FILE_TOO_LARGE, f"{size:,} bytes; at most {LARGEST_FILE:,} are read: split the file")


def plain(path: str) -> str:
    """The path without `./` and doubled slashes."""
    if not ("//" in path or "/./" in path or path.startswith(("./", "/")) or path.endswith(("/", "/.")) or path == "."):
        return path  # as nearly all of them are
    return "/".join(part for part in path.split("/") if part not in ("", "."))


class PartOfSource:
    """The files of a source for which `belongs` holds."""

    def __init__(self, source: Source, belongs: Wanted) -> None:
        self._source = source
        self._belongs = belongs
        self.path = source.path
        self.name = source.name
        self.is_streamed = source.is_streamed
        self.takes_all_cores = source.takes_all_cores
        self.total_bytes = source.total_bytes

    def position(self) -> int:
        return self._source.position()

    def sha256(self) -> str | None:
        return self._source.sha256()

    def expected_sha256(self) -> str | None:
        return self._source.expected_sha256()

    def is_as_opened(self) -> bool:
        return self._source.is_as_opened()

    def members(self, wanted: Wanted, first: int | None = None) -> Iterator[Member | Refused]:
        yield from self._source.members(lambda path: self._belongs(path) and wanted(path), first)


Item = TypeVar("Item")


class UntilBreak(Generic[Item]):
    """The items that come before the break; broken is the break, once they are drawn."""

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
