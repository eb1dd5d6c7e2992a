"""Files that are only partly in the page cache, on a file system that has one: temporary folders may lie in memory."""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.repository.checkout import ROOT
from tests.servers.processes import wait_until

_PAGE = mmap.PAGESIZE
_C_LIBRARY = ctypes.CDLL(None, use_errno=True)


@contextmanager
def folder_on_disk() -> Iterator[Path]:
    """Provide a new folder on the file system of the checkout."""
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        yield Path(folder)


def cache_half(path: Path) -> None:
    """Leave the first half of a file in the page cache, and nothing else of it."""
    size = path.stat().st_size
    n_pages = size // 2 // _PAGE
    file = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)  # no read-ahead

        def is_half_cached() -> bool:
            os.fsync(file)  # pages that aren't written yet stay
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.pread(file, n_pages * _PAGE, 0)
            cached = _cached_pages(file, size)
            return all(cached[:n_pages]) and not any(cached[n_pages:])

        wait_until(is_half_cached, f"half of {path} has left the page cache")
    finally:
        os.close(file)


def _cached_pages(file: int, size: int) -> list[bool]:
    """Return for each page of a file whether it is in the page cache; preadv with RWF_NOWAIT would begin to read it."""
    states = (ctypes.c_ubyte * -(-size // _PAGE))()
    with mmap.mmap(file, size, mmap.MAP_PRIVATE) as mapped:
        start = ctypes.c_char.from_buffer(mapped)
        failed = _C_LIBRARY.mincore(ctypes.byref(start), ctypes.c_size_t(size), states)
        del start  # a mapping that is pointed to can't be closed
    assert not failed, os.strerror(ctypes.get_errno())
    return [bool(state & 1) for state in states]
