"""A tar archive as a stream: headers are read by us, since a published archive has hundreds of thousands of them.

Reads ustar, GNU (long names, base-256 sizes) and pax (path and size) archives; tests compare it with the standard
library's tarfile. Source: POSIX.1-2017, pax, "ustar Interchange Format".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from losslake_ingest.rules import Rule, SourceBroken
from losslake_ingest.sources.member import LARGEST_FILE, Member, Refused, Wanted, path_trick, plain, too_large

BLOCK = 512
_CHUNK = 1 << 22
_LONGEST_HEADER = 1 << 20
_REGULAR = (b"0", b"\0", b"7")
_FOLDER = b"5"
_KINDS = {b"1": "a hard link", b"2": "a symbolic link", b"3": "a device", b"4": "a device", b"6": "a pipe"}


@dataclass(frozen=True)
class _Header:
    path: str
    size: int
    kind: bytes


class _Bytes:
    """Exact reads and skips over a stream whose reads come in chunks."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._chunk = b""
        self._at = 0

    def take(self, size: int) -> bytes:
        """The next `size` bytes, fewer only at the end of the stream."""
        end = self._at + size
        if end <= len(self._chunk):
            taken = self._chunk[self._at : end]
            self._at = end
            return taken
        parts = [self._chunk[self._at :]]
        missing = size - len(parts[0])
        self._chunk, self._at = b"", 0
        while missing > 0 and (chunk := self._read(_CHUNK)):
            parts.append(chunk[:missing])
            if len(chunk) > missing:
                self._chunk, self._at = chunk, missing
            missing -= len(parts[-1])
        return b"".join(parts)

    def skip(self, size: int) -> int:
        """Pass over `size` bytes without keeping them; returns how many there were."""
        left = size
        while left > 0 and (passed := len(self.take(min(left, _CHUNK)))):
            left -= passed
        return size - left


def is_tar(start: bytes) -> bool:
    """Return True if a file begins with a tar header."""
    try:
        return len(start) >= BLOCK and _parse(start[:BLOCK], {}, "its start") is not None
    except SourceBroken:
        return False


def read_tar(read: Callable[[int], bytes], wanted: Wanted, first: int | None = None) -> Iterator[Member | Refused]:
    """Yield the wanted files of the tar that `read(size)` delivers; raises SourceBroken where it is cut or damaged.

    first: only so many bytes of each file, the rest passed over.
    """
    stream = _Bytes(read)
    extended: dict[str, str] = {}
    last = "its start"
    while True:
        block = stream.take(BLOCK)
        if block == bytes(BLOCK):
            return
        if len(block) < BLOCK:
            raise SourceBroken(f"the archive is cut short after {last}: it has no end mark")
        header = _parse(block, extended, last)
        padded = -(-header.size // BLOCK) * BLOCK
        if header.kind in b"LKxgNX":
            extended |= _extension(header, _whole(stream, header.size, last), last)
            stream.skip(padded - header.size)
            continue
        extended = {}
        last = header.path
        entry = _examine(header, wanted)
        taken = 0
        if isinstance(entry, _Header):
            taken = header.size if first is None else min(header.size, first)
            yield Member(plain(header.path), _whole(stream, taken, last))
        elif entry is not None:
            yield entry
        if taken + stream.skip(padded - taken) < header.size:
            raise SourceBroken(f"the archive is cut short in {last}")


def _whole(stream: _Bytes, size: int, last: str) -> bytes:
    data = stream.take(size)
    if len(data) < size:
        raise SourceBroken(f"the archive is cut short in {last}")
    return data


def _examine(header: _Header, wanted: Wanted) -> _Header | Refused | None:
    """The header itself if its file is to be read, a refusal, or None to pass over it in silence."""
    if header.kind == _FOLDER:
        return None
    trick = path_trick(header.path)
    if trick:
        return trick
    if header.kind not in _REGULAR:
        kind = _KINDS.get(header.kind, "of an unknown kind")
        return Refused(header.path, Rule.NOT_A_FILE, f"the entry is {kind}, not a file: pack the file itself")
    if header.path.endswith("/") or not wanted(plain(header.path)):
        return None
    return too_large(header.path, header.size) if header.size > LARGEST_FILE else header


def _parse(block: bytes, extended: dict[str, str], last: str) -> _Header:
    try:
        stated = int(block[148:156].strip(b" \0") or b"0", 8)
        if stated != sum(block) - sum(block[148:156]) + 256:
            raise ValueError
        size = int(extended["size"]) if "size" in extended else _number(block[124:136])
    except ValueError:
        raise SourceBroken(
            f"what follows {last} is no tar header: the archive is damaged there, or is no tar"
        ) from None
    if size < 0:
        raise SourceBroken(f"the entry after {last} claims a negative size")
    path = extended.get("path")
    if path is None:
        path = _text(block[:100])
        if block[257:263] == b"ustar\0" and block[345]:
            path = f"{_text(block[345:500])}/{path}"
    kind = block[156:157]
    holds_data = kind in _REGULAR or kind in b"LKxgNX" or kind not in b"123456"
    return _Header(path, size if holds_data else 0, kind)


def _number(field: bytes) -> int:
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big") if field[0] == 0x80 else -1
    return int(field.strip(b" \0") or b"0", 8)


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


def _extension(header: _Header, data: bytes, last: str) -> dict[str, str]:
    """What an extension header says of the entry after it: its `path`, its `size`."""
    if header.size > _LONGEST_HEADER:
        raise SourceBroken(f"the entry after {last} has a header of {header.size:,} bytes: the archive is damaged")
    if header.kind == b"L":
        return {"path": _text(data)}
    return _pax(data, last) if header.kind == b"x" else {}


def _pax(data: bytes, last: str) -> dict[str, str]:
    found = {}
    while data:
        length, space, _ = data.partition(b" ")
        if not (space and length.isdigit() and len(length) < 8 and len(length) + 1 < int(length) <= len(data)):
            raise SourceBroken(f"the entry after {last} has a malformed pax header: the archive is damaged")
        key, _, value = data[len(length) + 1 : int(length) - 1].partition(b"=")
        if key in (b"path", b"size"):
            found[key.decode()] = value.decode("utf-8", "backslashreplace")
        data = data[int(length) :]
    return found
