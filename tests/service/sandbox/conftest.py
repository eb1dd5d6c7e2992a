"""Sandboxes over the small lake of the service's tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from losslake.lake.lake import Lake
from tests.service.sandbox.asking import SMALL, TAKEN, UNCHECKED, Asked, now


@pytest.fixture(scope="session")
def ask(lake: Lake) -> Iterator[Asked]:
    yield from _opened(Asked(lake, SMALL))


@pytest.fixture(scope="session")
def hurried(lake: Lake) -> Iterator[Asked]:
    """Its workers have little time for a statement."""
    yield from _opened(Asked(lake, replace(SMALL, workers=1, seconds=0.6)))


@pytest.fixture(scope="session")
def unchecked(lake: Lake) -> Iterator[Asked]:
    """Its workers run every statement."""
    yield from _opened(Asked(lake, replace(SMALL, workers=1), UNCHECKED))


@pytest.fixture(scope="session")
def taken(lake: Lake) -> Iterator[Asked]:
    """Its workers run Python."""
    yield from _opened(Asked(lake, replace(SMALL, workers=1), TAKEN))


def _opened(asked: Asked) -> Iterator[Asked]:
    now(asked.sandbox.start(asked.file, asked.data_files))
    yield asked
    asked.sandbox.close()
