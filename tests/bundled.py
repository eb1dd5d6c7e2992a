"""A lake of the bundled studies, ingested once for all processes that run tests."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest

ARCHIVE = Path(__file__).parents[1] / "studies" / "data" / "bundled.tar.bz2"


def bundled_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The lake, to be read only; whoever asks first makes it."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "bundled"
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            made = Lake.create(shared.with_suffix(".begun"))
            assert not ingest(made, [ARCHIVE]).quarantined
            made.folder.rename(shared)
    return Lake.open(str(shared))
