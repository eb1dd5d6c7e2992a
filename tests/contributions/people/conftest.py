"""A provider with which people sign in, as it is before each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contributions.people.provider import LocalProvider, local_provider


@pytest.fixture(scope="module")
def running() -> Iterator[LocalProvider]:
    with local_provider() as found:
        yield found


@pytest.fixture
def provider(running: LocalProvider) -> LocalProvider:
    running.reset()
    return running
