"""An on-disk cache of what was fetched from a bucket, up to a size limit, shared by the processes of a machine.

Files never change, so the cache is never stale. Its unit is a block of a file, or a whole file; the least recently used
is evicted first.
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

from losslake.lake.machine import atomic_write

BLOCK_BYTES = 1 << 20
_CHECKS_PER_LIMIT = 16
_SHARE_AFTER_EVICTION = 0.9
_SECONDS_SAFE = 60.0  # never evict entries used this recently: another process may be about to open them

# Fetches the bytes of a file from one position up to another.
Fetch = Callable[[int, int], bytes]


class SizeLimit:
    """A size limit for a folder, enforced by deleting the least recently used entries. Thread-safe."""

    def __init__(
        self, entries: Callable[[], Iterable[tuple[float, int, Path]]], max_bytes: float, safe_s: float
    ) -> None:
        """entries: yields last use, bytes and path of each entry. safe_s: keep entries used in the last seconds."""
        self._entries = entries
        self._max_bytes = max_bytes
        self._safe_s = safe_s
        self._written = 0
        self._lock = threading.Lock()

    def account(self, n_bytes: int) -> None:
        """Count bytes that were written, and enforce the limit after each sixteenth of it."""
        with self._lock:
            self._written += n_bytes
            is_due = self._written > self._max_bytes / _CHECKS_PER_LIMIT
            if is_due:
                self._written = 0
        if is_due:
            self.evict()

    def evict(self) -> None:
        """Delete the least recently used entries until nine tenths of the limit are left, if the total exceeds it."""
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        if total <= self._max_bytes:
            return
        latest = time.time() - self._safe_s
        for used_at, size, path in entries:
            if total <= self._max_bytes * _SHARE_AFTER_EVICTION or used_at > latest:
                break
            with suppress(OSError):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
                total -= size


def touch(file: Path | int, after_s: float) -> None:
    """Set the modification time of a file, open file or folder to now, unless it is less than after_s ago."""
    if time.time() - os.stat(file).st_mtime > after_s:  # noqa: PTH116 - Path has none for open files
        os.utime(file)


class BlockCache:
    """A cache of blocks and whole files in a folder. Thread-safe; several processes can share the folder."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        """max_bytes: approximate limit, which each process may exceed by a sixteenth.

        hits, misses: number of requested blocks and whole files that were in the cache, and that were not.
        """
        self._folder = folder
        self._limit = SizeLimit(self._entries_in_folder, max_bytes, _SECONDS_SAFE)
        self._lock = threading.Lock()
        self.hits = self.misses = 0

    def read(self, file: str, size: int, start: int, stop: int, fetch: Fetch) -> bytes:
        """Return the bytes of a file from start up to stop; fetch missing blocks first. size: of the file, in bytes."""
        stop = min(stop, size)
        if start >= stop:
            return b""
        numbers = range(start // BLOCK_BYTES, (stop - 1) // BLOCK_BYTES + 1)
        ranges = {n: _part(n, start, stop) for n in numbers}
        parts = {n: self._cached(self._block(file, n), part) for n, part in ranges.items()}
        missing = [n for n, data in parts.items() if data is None]
        self._count(len(numbers) - len(missing), len(missing))
        for run in _runs(missing):
            first = run[0] * BLOCK_BYTES
            data = fetch(first, min((run[-1] + 1) * BLOCK_BYTES, size))
            for n in run:
                block = data[n * BLOCK_BYTES - first :][:BLOCK_BYTES]
                parts[n] = block[ranges[n].start : ranges[n].stop]
                self._store(self._block(file, n), block)
        pieces = [data for data in parts.values() if data is not None]
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def whole(self, file: str, size: int, fetch: Callable[[Path], None]) -> Path:
        """Return the path of a whole file in the cache; fetch it first if it is missing. size: in bytes."""
        path = self._folder / "files" / f"{_digest(file)}{Path(file).suffix}"
        with suppress(FileNotFoundError):
            if path.stat().st_size == size:
                touch(path, _SECONDS_SAFE / 2)
                self._count(1, 0)
                return path
        self._count(0, 1)
        with atomic_write(path) as unfinished:
            fetch(unfinished)
        self._limit.account(size)
        return path

    def _count(self, hits: int, misses: int) -> None:
        with self._lock:
            self.hits += hits
            self.misses += misses

    def _block(self, file: str, number: int) -> Path:
        digest = _digest(file)
        return self._folder / "blocks" / digest[:2] / f"{digest}-{number}"

    def _cached(self, path: Path, part: range) -> bytes | None:
        """Return a part of a block, or None if the block is not in the cache."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            data = os.pread(descriptor, len(part), part.start)
            touch(descriptor, _SECONDS_SAFE / 2)
        except OSError:
            return None
        finally:
            os.close(descriptor)
        return data if len(data) == len(part) else None

    def _store(self, path: Path, data: bytes) -> None:
        """Store a block; ignore a full disk."""
        with suppress(OSError), atomic_write(path) as unfinished:
            unfinished.write_bytes(data)
        self._limit.account(len(data))

    def _entries_in_folder(self) -> Iterator[tuple[float, int, Path]]:
        for part in ("blocks", "files"):
            for folder, _, names in os.walk(self._folder / part):
                for name in names:
                    path = Path(folder, name)
                    with suppress(OSError):
                        status = path.stat()
                        yield status.st_mtime, status.st_size, path


def _digest(file: str) -> str:
    return hashlib.sha256(file.encode()).hexdigest()[:40]


def _part(number: int, start: int, stop: int) -> range:
    """Return the range of a block between two positions of the file, relative to the start of the block."""
    first = number * BLOCK_BYTES
    return range(max(start - first, 0), min(stop - first, BLOCK_BYTES))


def _runs(numbers: list[int]) -> Iterator[list[int]]:
    """Yield runs of consecutive numbers."""
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        yield [number for _, number in run]
