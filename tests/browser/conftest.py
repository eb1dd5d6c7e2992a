"""Fixtures: a service over the bundled studies, one Chromium, and windows in which every error fails the test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.browser.chromium import HOST, NAME, chromium, chromium_program
from tests.browser.visit import Site, Visit
from tests.bundled import ARCHIVE, bundled_lake
from tests.repository.checkout import ROOT
from tests.service.running import Running, served


@pytest.fixture(scope="session", autouse=True)
def program() -> str:
    """Return the path of Chromium; without it all tests of this package are skipped."""
    return chromium_program()


@pytest.fixture(scope="session")
def bundled(program: str, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return bundled_lake(tmp_path_factory)


@pytest.fixture(scope="session")
def running(bundled: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Yield the service over the bundled studies, with SQL."""
    folder = tmp_path_factory.mktemp("explorer")
    with served(
        folder, lake=str(bundled.folder), sql_enabled=True, sql_workers=1, log_format="off", allowed_hosts=(HOST,)
    ) as running:
        yield running


# Not for the session: while Playwright runs, no other test of the process can use asyncio.
@pytest.fixture(scope="package")
def browser(program: str, running: Running) -> Iterator[Browser]:
    with chromium(program, running.port) as browser:
        yield browser


@pytest.fixture(scope="package")
def explorer(browser: Browser, running: Running) -> Site:
    """Return the running service with its URL for the browser."""
    return Site(browser, NAME, running.url)


@pytest.fixture(scope="package")
def published(program: str, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Return a lake with what `make run` serves: the bundled studies and all published collections."""
    lake = Lake.create(tmp_path_factory.mktemp("published") / "lake")
    ingest(lake, [ARCHIVE, *sorted((ROOT / "published").glob("*/*.tar"))])
    return lake


@pytest.fixture(scope="package")
def site(published: Lake, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Yield a service over all of that."""
    folder = tmp_path_factory.mktemp("crawled")
    # The browser of the other tests, which may not be there twice, resolves their host to their service.
    with served(folder, lake=str(published.folder), sql_enabled=False, log_format="off") as running:
        yield Site(browser, running.url, running.url)


@pytest.fixture
def visit(explorer: Site) -> Iterator[Visit]:
    """Yield a wide, light window; any error in it fails the test."""
    with explorer.visiting() as visit:
        yield visit
        assert visit.faults == []
