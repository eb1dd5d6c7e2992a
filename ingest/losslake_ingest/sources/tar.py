"""Streaming reader of tar archives. Own parser: a published archive has hundreds of thousands of headers.

Reads ustar, GNU (long names, base-256 sizes) and pax (path and size) archives; tests compare it with the standard
library's tarfile. Source: POSIX.1-2017, pax, "ustar Interchange Format".
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from losslake_ingest.contracts.rules import Rule, SourceBroken
from losslake_ingest.sources.member import LARGEST_FILE, Member, Refused, Wanted, normalize_path, path_trick, too_large

BLOCK = 512
_CHUNK = 1 << 22
_LONGEST_HEADER = 1 << 20
_REGULAR = (b"0", b"\0", b"7")
_FOLDER = b"5"
_SYMBOLIC_LINK = b"2"
_KINDS = {b"1": "a hard link", b"2": "a symbolic link", b"3": "a device", b"4": "a device", b"6": "a pipe"}


@dataclass(frozen=True)
class _Header:
    path: str
    size: int
    kind: bytes
    target: str


class _Bytes:
    """A stream with exact reads and skips, over a stream that is read in chunks."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._chunk = b""
        self._at = 0

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes, fewer only at the end of the stream."""
        end = self._at + size
        if end <= len(self._chunk):
            data = self._chunk[self._at : end]
            self._at = end
            return data
        parts = io.BytesIO()  # unlike b"".join, never holds the bytes twice
        missing = size - parts.write(memoryview(self._chunk)[self._at :])
        self._chunk, self._at = b"", 0
        while missing > 0 and (chunk := self._read(_CHUNK)):
            if len(chunk) > missing:
                self._chunk, self._at = chunk, missing
            missing -= parts.write(memoryview(chunk)[:missing])
        return parts.getvalue()

    def skip(self, size: int) -> int:
        """Skip `size` bytes and return how many there were."""
        remaining = size
        while remaining > 0 and (skipped := len(self.read(min(remaining, _CHUNK)))):
            remaining -= skipped
        return size - remaining


def is_tar(start: bytes) -> bool:
    """Return True if the bytes begin with a tar header."""
    try:
        return len(start) >= BLOCK and _parse(start[:BLOCK], {}, "its start") is not None
    except SourceBroken:
        return False


def read_tar(read: Callable[[int], bytes], wanted: Wanted, first: int | None = None) -> Iterator[Member | Refused]:
    """Yield the wanted files of the tar that `read(size)` delivers. Raises SourceBroken if it is cut or damaged.

    Symbolic links to what the same folder of the archive holds are skipped; see `_linked_below`.
    first: return only so many bytes of each file.
    """
    stream = _Bytes(read)
    extended: dict[str, str] = {}
    last = "its start"
    paths: set[str] = set()
    links: dict[_Header, str] = {}
    while True:
        block = stream.read(BLOCK)
        if block == bytes(BLOCK):
            yield from (_not_a_file(link) for link, target in links.items() if target not in paths)
            return
        if len(block) < BLOCK:
            raise SourceBroken(f"the archive is cut short after {last}: it has no end mark")
        header = _parse(block, extended, last)
        padded = -(-header.size // BLOCK) * BLOCK
        if header.kind in b"LKxgNX":
            if header.size > _LONGEST_HEADER:
                size = f"{header.size:,} bytes"
                raise SourceBroken(f"the entry after {last} has a header of {size}: the archive is damaged")
            extended |= _extension(header, _read_exactly(stream, header.size, last), last)
            stream.skip(padded - header.size)
            continue
        extended = {}
        last = header.path
        target = _linked_below(header.path, header.target) if header.kind == _SYMBOLIC_LINK else None
        if target is not None and path_trick(header.path) is None:
            links[header] = target  # which may come later
            continue
        _add_with_folders(normalize_path(header.path), paths)
        entry = _examine(header, wanted)
        n_read = 0
        if isinstance(entry, _Header):
            n_read = header.size if first is None else min(header.size, first)
            yield Member(normalize_path(header.path), _read_exactly(stream, n_read, last))
        elif entry is not None:
            yield entry
        if n_read + stream.skip(padded - n_read) < header.size:
            raise SourceBroken(f"the archive is cut short in {last}")


def _read_exactly(stream: _Bytes, size: int, last: str) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise SourceBroken(f"the archive is cut short in {last}")
    return data


def _examine(header: _Header, wanted: Wanted) -> _Header | Refused | None:
    """Return the header if its file is to be read, a refusal, or None to skip the entry silently."""
    if header.kind == _FOLDER:
        return None
    trick = path_trick(header.path)
    if trick:
        return trick
    if header.kind not in _REGULAR:
        return _not_a_file(header)
    if header.path.endswith("/") or not wanted(normalize_path(header.path)):
        return None
    return too_large(header.path, header.size) if header.size > LARGEST_FILE else header


def _not_a_file(header: _Header) -> Refused:
    kind = _KINDS.get(header.kind, "of an unknown kind")
    return Refused(header.path, Rule.NOT_A_FILE, f"the entry is {kind}, not a file: pack the file itself")


def _linked_below(path: str, target: str) -> str | None:
    """Return the path of what a symbolic link leads to, if that is in the folder of the link, or below it; else None.

    Such a link, as W&B's `latest-run`, is a second name of what is read by its own.
    """
    if target.startswith("/") or ".." in target.split("/") or not normalize_path(target):
        return None
    return normalize_path(f"{path.rpartition('/')[0]}/{target}")


def _add_with_folders(path: str, paths: set[str]) -> None:
    """Add a path and the folders that it is in."""
    while path and path not in paths:
        paths.add(path)
        path = path.rpartition("/")[0]


def _parse(block: bytes, extended: dict[str, str], last: str) -> _Header:
    try:
        if int(block[148:156].strip(b" \0") or b"0", 8) != sum(block) - sum(block[148:156]) + 256:
            raise ValueError
        size = int(extended["size"]) if "size" in extended else _number(block[124:136])
    except ValueError:
        message = f"no valid tar header follows {last}: the archive is damaged there, or isn't a tar"
        raise SourceBroken(message) from None
    if size < 0:
        raise SourceBroken(f"the entry after {last} claims a negative size")
    path = extended.get("path")
    if path is None:
        path = _text(block[:100])
        if block[257:263] == b"ustar\0" and block[345]:
            path = f"{_text(block[345:500])}/{path}"
    kind = block[156:157]
    holds_data = kind in _REGULAR or kind in b"LKxgNX" or kind not in b"123456"
    target = extended.get("linkpath", _text(block[157:257]))
    return _Header(path, size if holds_data else 0, kind, target)


def _number(field: bytes) -> int:
    if field[0] & 0x80:
        return int.from_bytes(field[1:], "big") if field[0] == 0x80 else -1
    return int(field.strip(b" \0") or b"0", 8)


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


def _extension(header: _Header, data: bytes, last: str) -> dict[str, str]:
    """Return the `path`, `linkpath` and `size` that an extension header gives for the next entry."""
    if header.kind in b"LK":
        return {"path" if header.kind == b"L" else "linkpath": _text(data)}
    return _pax(data, last) if header.kind == b"x" else {}


def _pax(data: bytes, last: str) -> dict[str, str]:
    fields = {}
    while data:
        length, space, _ = data.partition(b" ")
        if not (space and length.isdigit() and len(length) < 8 and len(length) + 1 < int(length) <= len(data)):
            raise SourceBroken(f"the entry after {last} has a malformed pax header: the archive is damaged")
        key, _, value = data[len(length) + 1 : int(length) - 1].partition(b"=")
        if key in (b"path", b"linkpath", b"size"):
            fields[key.decode()] = value.decode("utf-8", "backslashreplace")
        data = data[int(length) :]
    return fields
