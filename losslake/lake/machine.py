"""What this machine offers: cores, and files that are locked, written whole, or on the disk for good."""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

_AT_ONCE = 16  # a file system writes down together what several threads wait for


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a folder, or of a file, which is made if there is none; a killed process holds nothing up.

    Raises BlockingIOError where another process, or another one in here, has it and this one isn't to wait.
    """
    opened = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(opened)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give the path to write a file to, which gets its name once it is whole; where that fails nothing is left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{uuid.uuid4().hex[:12]}")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def on_disk(top: Path, files: Collection[Path]) -> None:
    """Return once these files below `top`, and the names of all folders that lead to them, are on the disk."""
    folders: set[Path] = set()
    for folder in {file.parent for file in files}:
        while folder not in folders and folder.is_relative_to(top):
            folders.add(folder)
            folder = folder.parent
    if len(files) == 1:
        for path in (*files, *folders):
            _sync(path)
        return
    with ThreadPoolExecutor(_AT_ONCE, "sync") as pool:
        for paths in (files, folders):
            for _ in pool.map(_sync, paths):
                pass


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
