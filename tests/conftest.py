"""For every test: no deadline for examples, since a busy machine is not a fault; little collection of garbage.

And the servers that tests of several packages share, each started for the first test that asks for it.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.servers.postgresql import PostgreSQL
    from tests.servers.s3 import S3

settings.register_profile("losslake", deadline=None)
settings.load_profile("losslake")
gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what was imported and collected alone: to look through it again and again takes a tenth of the time."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """A PostgreSQL server for all tests: each takes a database of its own, new_database(), and leaves the server up."""
    from tests.servers.postgresql import postgresql_server

    with postgresql_server() as server:
        yield server


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """An object store for all tests: each takes a place of its own with new_warehouse()."""
    from tests.servers.s3 import s3_server

    with s3_server(tmp_path_factory.mktemp("s3")) as store:
        yield store
