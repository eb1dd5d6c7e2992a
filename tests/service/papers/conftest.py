"""A lake that holds a small archive of the paper's shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.run import ingest
from schema.lake import Lake
from service.release_view import ReleaseView
from tests.service.papers import synthetic_archive


def made_lake(folder: Path, only: frozenset[str] | None = None) -> Lake:
    """A lake with the archive, or with some of its workloads."""
    archive = synthetic_archive.write(folder / "batch_science.tar", only)
    lake = Lake.create(folder / "lake")
    summary = ingest(lake, [archive])
    assert not summary.quarantined, summary.quarantined
    return lake


@pytest.fixture(scope="session")
def paper_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return made_lake(tmp_path_factory.mktemp("paper"))


@pytest.fixture(scope="session")
def paper_view(paper_lake: Lake) -> ReleaseView:
    return ReleaseView.open(paper_lake, paper_lake.release())
