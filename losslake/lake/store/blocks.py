"""What was fetched from a bucket, kept in a folder of this machine up to a bound, for all processes together.

Files never change, so what is kept is never stale. The unit is a block of a file, or a whole file; what was used least
lately goes first.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from losslake.lake.machine import written_whole

BLOCK_BYTES = 1 << 20
_LOOKS_PER_BOUND = 16
_SHARE_LEFT = 0.9
_SECONDS_SAFE = 60.0  # what was used so lately stays: somebody may be about to open it

Fetch = Callable[[int, int], bytes]
"""Gets the bytes of a file from one position up to another."""


class Bound:
    """Keeps what lies in a folder below a bound: what was used least lately goes first. To be shared by threads."""

    def __init__(
        self, entries: Callable[[], Iterable[tuple[float, int, Path]]], most_bytes: float, safe_s: float
    ) -> None:
        """entries: lists when each thing was used, its bytes and where it is. safe_s: what was used so lately stays."""
        self._entries = entries
        self._most_bytes = most_bytes
        self._safe_s = safe_s
        self._written = 0
        self._counting = threading.Lock()

    def account(self, n_bytes: int) -> None:
        """Note that so many bytes were written; after each sixteenth of the bound all is looked at."""
        with self._counting:
            self._written += n_bytes
            is_time = self._written > self._most_bytes / _LOOKS_PER_BOUND
            if is_time:
                self._written = 0
        if is_time:
            self.forget()

    def forget(self) -> None:
        """Delete what was used least lately, down to nine tenths of the bound, if all together is beyond it."""
        kept = sorted(self._entries())
        total = sum(size for _, size, _ in kept)
        if total <= self._most_bytes:
            return
        latest = time.time() - self._safe_s
        for used_at, size, path in kept:
            if total <= self._most_bytes * _SHARE_LEFT or used_at > latest:
                break
            with suppress(OSError):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
                total -= size


def touch(file: Path | int, after_s: float) -> None:
    """Note that a file or folder, by its path or open, is in use, by its time of change; not more often than that."""
    if time.time() - os.stat(file).st_mtime > after_s:  # noqa: PTH116 - Path has none for open files
        os.utime(file)


class Blocks:
    """Blocks and whole files below a folder; to be shared by threads, and its folder by processes."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        """most_bytes: to keep, about: each process may go a sixteenth beyond it before it looks.

        found, fetched: how many blocks and whole files were here when they were asked for, and how many weren't.
        """
        self._folder = folder
        self._bound = Bound(self._all, most_bytes, _SECONDS_SAFE)
        self._counting = threading.Lock()
        self.found = self.fetched = 0

    def read(self, file: str, size: int, start: int, stop: int, fetch: Fetch) -> bytes:
        """The bytes of a file of so many from one position up to another; what isn't here is fetched first."""
        stop = min(stop, size)
        if start >= stop:
            return b""
        numbers = range(start // BLOCK_BYTES, (stop - 1) // BLOCK_BYTES + 1)
        wanted = {n: _part(n, start, stop) for n in numbers}
        found = {n: self._kept(self._block(file, n), part) for n, part in wanted.items()}
        missing = [n for n, data in found.items() if data is None]
        self._count(len(numbers) - len(missing), len(missing))
        for run in _runs(missing):
            first = run[0] * BLOCK_BYTES
            data = fetch(first, min((run[-1] + 1) * BLOCK_BYTES, size))
            for n in run:
                block = data[n * BLOCK_BYTES - first :][:BLOCK_BYTES]
                found[n] = block[wanted[n].start : wanted[n].stop]
                self._keep(self._block(file, n), block)
        parts = [data for data in found.values() if data is not None]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def whole(self, file: str, size: int, fetch: Callable[[Path], None]) -> Path:
        """A file of so many bytes as one below the folder, fetched to there first unless it is here."""
        path = self._folder / "files" / f"{_digest(file)}{Path(file).suffix}"
        with suppress(FileNotFoundError):
            if path.stat().st_size == size:
                touch(path, _SECONDS_SAFE / 2)
                self._count(1, 0)
                return path
        self._count(0, 1)
        with written_whole(path) as unfinished:
            fetch(unfinished)
        self._bound.account(size)
        return path

    def _count(self, found: int, fetched: int) -> None:
        with self._counting:
            self.found += found
            self.fetched += fetched

    def _block(self, file: str, number: int) -> Path:
        digest = _digest(file)
        return self._folder / "blocks" / digest[:2] / f"{digest}-{number}"

    def _kept(self, path: Path, part: range) -> bytes | None:
        """That part of a block, if the block is here."""
        try:
            opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            data = os.pread(opened, len(part), part.start)
            touch(opened, _SECONDS_SAFE / 2)
        except OSError:
            return None
        finally:
            os.close(opened)
        return data if len(data) == len(part) else None

    def _keep(self, path: Path, data: bytes) -> None:
        """Keep a block; where the disk is full it is only not kept."""
        with suppress(OSError), written_whole(path) as unfinished:
            unfinished.write_bytes(data)
        self._bound.account(len(data))

    def _all(self) -> Iterator[tuple[float, int, Path]]:
        for part in ("blocks", "files"):
            for folder, _, names in os.walk(self._folder / part):
                for name in names:
                    path = Path(folder, name)
                    with suppress(OSError):
                        facts = path.stat()
                        yield facts.st_mtime, facts.st_size, path


def _digest(file: str) -> str:
    return hashlib.sha256(file.encode()).hexdigest()[:40]


def _part(number: int, start: int, stop: int) -> range:
    """The bytes of a block that lie between two positions of the file, counted from the block's beginning."""
    first = number * BLOCK_BYTES
    return range(max(start - first, 0), min(stop - first, BLOCK_BYTES))


def _runs(numbers: list[int]) -> Iterator[list[int]]:
    """Consecutive numbers together."""
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        yield [number for _, number in run]
