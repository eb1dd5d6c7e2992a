"""The local machine: number of cores, file locks, atomic writes, syncing files to disk, garbage collection."""

from __future__ import annotations

import fcntl
import gc
import os
import uuid
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def locked(path: Path, busy: Exception | None = None) -> Iterator[None]:
    """Hold the lock of a folder, or of a file, which is created if missing. The lock of a killed process is released.

    busy: raised if the lock is taken, also by another thread, instead of waiting for it.
    """
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if busy is None else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise busy or BlockingIOError from None
        yield
    finally:
        os.close(descriptor)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write a file to, which is renamed to `path` at the end, or deleted on failure."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{uuid.uuid4().hex[:12]}")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def sync_to_disk(top: Path, files: Collection[Path]) -> None:
    """Sync files below `top`, and all folders that lead to them, to disk."""
    folders: set[Path] = set()
    for folder in {file.parent for file in files}:
        while folder not in folders and folder.is_relative_to(top):
            folders.add(folder)
            folder = folder.parent
    if len(files) == 1:
        for path in (*files, *folders):
            _sync(path)
        return
    # A file system syncs the files of several waiting threads together.
    with ThreadPoolExecutor(8, "sync") as pool:
        for paths in (files, folders):
            for _ in pool.map(_sync, paths):
                pass


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def without_collection() -> Iterator[None]:
    """Disable garbage collection, where many objects are made that all stay or are in no reference cycle."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
