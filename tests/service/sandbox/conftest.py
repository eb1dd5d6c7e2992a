"""Sandboxes over the small lake of the service's tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from losslake.lake.lake import Lake
from tests.service.sandbox.sandbox_client import PYTHON_WORKER, SMALL, UNCHECKED_WORKER, SandboxClient, now


@pytest.fixture(scope="session")
def query(lake: Lake) -> Iterator[SandboxClient]:
    yield from _opened(SandboxClient(lake, SMALL))


@pytest.fixture(scope="session")
def hurried(lake: Lake) -> Iterator[SandboxClient]:
    """Its workers have little time for a statement."""
    yield from _opened(SandboxClient(lake, replace(SMALL, workers=1, seconds=0.6)))


@pytest.fixture(scope="session")
def unchecked(lake: Lake) -> Iterator[SandboxClient]:
    """Its workers run every statement."""
    yield from _opened(SandboxClient(lake, replace(SMALL, workers=1), UNCHECKED_WORKER))


@pytest.fixture(scope="session")
def python_sandbox(lake: Lake) -> Iterator[SandboxClient]:
    """Its workers run Python."""
    yield from _opened(SandboxClient(lake, replace(SMALL, workers=1), PYTHON_WORKER))


def _opened(client: SandboxClient) -> Iterator[SandboxClient]:
    now(client.sandbox.start(client.file, client.data_files))
    yield client
    client.sandbox.close()
