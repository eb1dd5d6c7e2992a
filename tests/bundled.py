"""A lake of the bundled studies, ingested once for all processes that run tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.shared_lakes import shared_lake

ARCHIVE = Path(__file__).parents[1] / "studies" / "data" / "bundled.tar.bz2"


def bundled_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The lake, to be read only; whoever asks first makes it."""
    return shared_lake(tmp_path_factory, "bundled", _make)


def _make(folder: Path) -> None:
    assert not ingest(Lake.create(folder), [ARCHIVE]).quarantined
