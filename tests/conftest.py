"""For every test: a few examples without a deadline, and little collection of garbage.

And the servers that tests of several packages share, each started for the first test that asks for it.
"""

from __future__ import annotations

import atexit
import gc
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    from tests.servers.postgresql import PostgreSQL
    from tests.servers.s3 import S3

# In `make test`, and in `make slow`.
FEW, MANY = 10, 100
# What takes longest begins first, so that no process is left with it alone at the end. While one process makes the lake
# of the bundled studies, another does what needs none; all that needs a browser is together, so it is started once.
LONGEST = (
    "tests/browser/test_pages.py",
    "tests/service/test_serve.py",
    "tests/ingest/test_elsewhere.py",
    "tests/browser/",
    "tests/conformance/",
    "tests/ingest/test_crashes.py",
    "tests/service/sandbox/",
    "tests/losslake/questions/release/test_releases.py",
    "tests/studies/",
    "tests/losslake/figures/papers/",
    "tests/cli/",
    "tests/bench/",
    "tests/service/routes/",
    "tests/losslake/figures/",
    "tests/ingest/test_releases.py",
)
# Tests below these folders share what takes seconds to start: a browser, processes for SQL. One process runs them all.
TOGETHER = ("tests/browser/", "tests/service/sandbox/")
pytest_plugins = [
    "tests.leftovers", "tests.without_proxies", "tests.copied_lakes", "tests.without_history", "tests.made_up_lake",
    "tests.failed_workers",
]  # fmt: skip

# A busy machine is not a fault, so nothing has a deadline. A commit has the same examples each time; `make fuzz` looks
# for new ones. Properties of which an example takes long name their part of these numbers.
settings.register_profile("losslake", deadline=None, max_examples=FEW, derandomize=True, database=None)
settings.register_profile("slow", settings.get_profile("losslake"), max_examples=MANY)
settings.register_profile("fuzz", deadline=None, max_examples=MANY, derandomize=False)
settings.load_profile("losslake")
# Most of what a test makes lives until the test ends.
OBJECTS_TO_COLLECT = 50_000
gc.disable()
# A shell lets what it starts in the background ignore Ctrl-C, and every process that this one starts would as well.
signal.signal(signal.SIGINT, signal.default_int_handler)


class ByFile(LoadFileScheduling):  # type: ignore[misc]
    """Give the tests of a file, or of a folder of TOGETHER, to one process."""

    def _split_scope(self, nodeid: str) -> str:
        own: str = super()._split_scope(nodeid)
        return next((folder for folder in TOGETHER if nodeid.startswith(folder)), own)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the longest files first."""

    def place(item: pytest.Item) -> int:
        return next((number for number, name in enumerate(LONGEST) if item.nodeid.startswith(name)), len(LONGEST))

    items.sort(key=place)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what was imported and collected alone: to look through it again and again takes a tenth of the time."""
    gc.freeze()
    # DuckDB's bindings print what is left of theirs when Python ends. pytest collects five times before that.
    atexit.register(gc.unfreeze)
    gc.set_threshold(OBJECTS_TO_COLLECT)
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
