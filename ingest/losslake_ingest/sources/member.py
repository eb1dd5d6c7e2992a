"""What a source is made of: files with a path and their bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from losslake_ingest.rules import Rule

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
