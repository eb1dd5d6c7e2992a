"""The interface of sources: files with a path and bytes, in a folder, in one file, or in a database.

The file of an archive or a single log is local or streamed from a remote server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Generic, NamedTuple, Protocol, TypeVar

from losslake.lake.checksums import sha256_of
from losslake_ingest.contracts.rules import Rule, SourceBroken

# An ingest promises at most 1 GB of memory. A file is held as a whole, beside what is parsed of it, and beside what was
# read before and is being converted.
LARGEST_FILE = 128 * 2**20
# An archive may unpack to as many bytes, or to so many times its own size: logs reach about 30 times. Of blank lines in
# bzip2, the slowest that was found, a gigabyte takes 27 s of processor time.
_LARGEST_UNPACKED = 2**32
_LARGEST_RATIO = 200

Wanted = Callable[[str], bool]


class Member(NamedTuple):
    """A file of a source. path: within the source, with slashes and no leading one."""

    path: str
    data: bytes


class Refused(NamedTuple):
    """An entry of a source that is not read: the rule that it breaks, and why."""

    path: str
    rule: Rule
    message: str


class Source(Protocol):
    """An opened source. `members` yields its files in order and raises SourceBroken where it can't go on.

    name: as shown in reports and the ledger. is_streamed: its bytes are remote; nothing of it may be published before
    `sha256` has verified them. uses_all_cores: reading it keeps all cores busy. is_bundle: see
    `losslake_ingest.bundles`.
    """

    path: Path
    name: str
    total_bytes: int | None = None
    is_streamed: bool = False
    uses_all_cores: bool = False
    is_bundle: bool = False

    def position(self) -> int:
        """Return the number of bytes read so far, of total_bytes. Called from any thread."""
        return 0

    def sha256(self) -> str | None:
        """Return the SHA-256 of all bytes, None if it isn't a single file. Raises SourceBroken on a mismatch."""
        return None

    def expected_sha256(self) -> str | None:
        """Return the result of `sha256` if it is known before the source is read, else None."""
        return None

    def is_unchanged(self) -> bool:
        """Return True if the source is certainly unmodified since it was opened."""
        return False

    def members(self, wanted: Wanted, first: int | None = None) -> Iterator[Member | Refused]:
        """Yield the files whose path is wanted, in order. first: read only this many bytes of each."""


class PartOfSource(Source):
    """The files of a source for which `belongs` returns True."""

    def __init__(self, source: Source, belongs: Wanted) -> None:
        self._source = source
        self._belongs = belongs
        self.path = source.path
        self.name = source.name

    def members(self, wanted: Wanted, first: int | None = None) -> Iterator[Member | Refused]:
        """Yield the wanted files of this part; see `Source`."""
        yield from self._source.members(lambda path: self._belongs(path) and wanted(path), first)


class SourceFile(Protocol):
    """A file that can be read from its start any number of times.

    name: as shown in reports and the ledger. path: matched by path patterns of mappings; of a streamed file, nothing
    exists there. size: in bytes. top: the name to give to the top folder of an archive; None: its own.
    """

    @property
    def name(self) -> str:
        """The name for reports and the ledger."""

    @property
    def path(self) -> Path:
        """The path that mappings see."""

    @property
    def size(self) -> int:
        """The size in bytes."""

    @property
    def top(self) -> str | None:
        """The name to give to the top folder of an archive, None for its own."""

    @property
    def is_streamed(self) -> bool:
        """True if the file is remote, so that `sha256` verifies it only after all bytes were read."""

    def open(self) -> AbstractContextManager[IO[bytes]]:
        """Open the file at its start; the stream is seekable."""

    def sha256(self) -> str:
        """Return the SHA-256 of all bytes; reads the rest first. Raises SourceBroken on a mismatch."""

    def expected_sha256(self) -> str | None:
        """Return the expected result of `sha256`, None if it isn't known before the file is read."""

    def stamp(self) -> tuple[int, ...]:
        """Return a value that changes when the file is modified; constant for streamed files."""


@dataclass(frozen=True)
class LocalFile:
    """A local file."""

    path: Path

    is_streamed = False
    top = None

    @property
    def name(self) -> str:
        """The path as text."""
        return str(self.path)

    @cached_property
    def size(self) -> int:
        """The size in bytes."""
        return self.path.stat().st_size

    def open(self) -> IO[bytes]:
        """Open the file for reading bytes."""
        return self.path.open("rb")

    def sha256(self) -> str:
        """Return the SHA-256 of the file's bytes."""
        return sha256_of(self.path)

    def expected_sha256(self) -> str:
        """Return the SHA-256 of the file's bytes."""
        return self.sha256()

    def stamp(self) -> tuple[int, ...]:
        """Return device, inode, size and times, which change when the file is modified."""
        status = self.path.stat()
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def path_trick(path: str) -> Refused | None:
    """Return a refusal if an archive entry's path is unsafe, else None."""
    if path.startswith("/") or (len(path) > 1 and path[1] == ":"):
        trick = "the path is absolute"
    elif ".." in path.split("/"):
        trick = "the path leaves the archive through '..'"
    elif "\0" in path or "\\" in path:
        trick = "the path contains a NUL or a backslash"
    else:
        return None
    return Refused(path, Rule.PATH_TRICK, f"{trick}: the entry was skipped")


def most_unpacked(archive_bytes: int) -> int:
    """Return the number of bytes that an archive of this size may unpack to."""
    return max(_LARGEST_UNPACKED, _LARGEST_RATIO * archive_bytes)


def too_large(path: str, size: int) -> Refused:
    """Return the refusal of a file that is too large to read into memory."""
    return Refused(path, Rule.FILE_TOO_LARGE, f"{size:,} bytes; at most {LARGEST_FILE:,} are read: split the file")


def normalize_path(path: str) -> str:
    """Return the path without `./` and doubled slashes."""
    if not ("//" in path or "/./" in path or path.startswith(("./", "/")) or path.endswith(("/", "/.")) or path == "."):
        return path  # the common case
    return "/".join(part for part in path.split("/") if part not in ("", "."))


Item = TypeVar("Item")


class UntilBreak(Generic[Item]):
    """An iterator over items up to the SourceBroken that ends them. broken: the error, once all items are drawn."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = items
        self.broken: SourceBroken | None = None

    def __iter__(self) -> Iterator[Item]:
        try:
            yield from self._items
        except SourceBroken as error:
            self.broken = error

    def raise_break(self) -> None:
        """Raise the error that ended the items, if any."""
        if self.broken is not None:
            raise self.broken
