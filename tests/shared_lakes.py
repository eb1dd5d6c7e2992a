"""Lakes that are made once for all processes that run tests."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from losslake.lake.lake import Lake


def shared_lake(tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Lake:
    """Return a lake, to be read only; whoever asks first has it made. make: fills an empty folder."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            begun = shared.with_suffix(".begun")
            make(begun)
            begun.rename(shared)
    return Lake.open(str(shared))
