"""Waiting until files are on the disk for good, so that what is published outlives a failure of the machine."""

from __future__ import annotations

import os
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_AT_ONCE = 16  # a file system writes down together what several threads wait for


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
