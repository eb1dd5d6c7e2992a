"""The lake of the bundled studies."""

from __future__ import annotations

import pytest

from losslake.lake.lake import Lake
from tests.bundled import bundled_lake


@pytest.fixture(scope="session")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return bundled_lake(tmp_path_factory)
