"""The bundled lake, and a service of it, opened with the library."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import losslake
from losslake.library.lake import Lake
from tests.bundled import bundled_lake
from tests.service.running import served


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return losslake.open(bundled_lake(tmp_path_factory).folder)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    lake = bundled_lake(tmp_path_factory).folder
    with served(lake, lake=str(lake), sql_enabled=True, sql_workers=1) as running:
        yield losslake.open(running.url)
