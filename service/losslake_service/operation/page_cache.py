"""What the kernel holds of a file in memory, so that who must not wait for the disk doesn't."""

from __future__ import annotations

import os

from starlette.concurrency import run_in_threadpool

# As far as Linux reads ahead by default: pages between two that are there are hardly ever missing.
_STEP = 1 << 18
_NO_WAIT: int | None = getattr(os, "RWF_NOWAIT", None)


async def bring_into_memory(file: int, offset: int, count: int) -> None:
    """Have a thread read so many bytes of a file from the disk if they aren't in memory yet."""
    if not _is_in_memory(file, offset, count):
        await run_in_threadpool(_read, file, offset, count)


def _is_in_memory(file: int, offset: int, count: int) -> bool:
    """Whether the pages looked at are; False if this system or file system can't tell."""
    if _NO_WAIT is None:
        return False
    byte = bytearray(1)
    try:
        for place in (*range(offset, offset + count, _STEP), offset + count - 1):
            os.preadv(file, (byte,), place, _NO_WAIT)
    except OSError:
        return False
    return True


def _read(file: int, offset: int, count: int) -> None:
    end = offset + count
    for place in range(offset, end, _STEP):
        os.pread(file, min(_STEP, end - place), place)
