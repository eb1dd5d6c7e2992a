"""A lake with a small archive of the paper's shape."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from tests.losslake.figures.papers import synthetic_archive


def create_lake(folder: Path, only: frozenset[str] | None = None) -> Lake:
    """Create a lake with the archive, or with some of its workloads."""
    archive = synthetic_archive.write(folder / "batch_science.tar", only)
    lake = Lake.create(folder / "lake")
    summary = ingest(lake, [archive])
    assert not summary.quarantined, summary.quarantined
    return lake


@pytest.fixture(scope="session")
def paper_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Return the lake, created once by the first worker."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "paper"
    with (shared / "paper.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            folder.mkdir()
            lake = create_lake(folder)
            ReleaseView.open(lake, lake.release())
    return Lake.open(folder / "lake")


@pytest.fixture(scope="session")
def paper_view(paper_lake: Lake) -> ReleaseView:
    return ReleaseView.open(paper_lake, paper_lake.release())
