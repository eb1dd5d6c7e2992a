"""A running service over the bundled studies, one Chromium, and windows in which nothing may go wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from schema.lake import Lake
from tests.browser.chromium import NAME, chromium, chromium_program
from tests.browser.visit import Visit, visiting
from tests.bundled import bundled_lake
from tests.service.running import Running, served


@pytest.fixture(scope="package", autouse=True)
def program() -> str:
    """Chromium; without it nothing of this package runs, nor is anything made for it."""
    return chromium_program()


@pytest.fixture(scope="package")
def bundled(program: str, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return bundled_lake(tmp_path_factory)


@pytest.fixture(scope="package")
def explorer(bundled: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The service, with SQL."""
    folder = tmp_path_factory.mktemp("explorer")
    with served(folder, lake=str(bundled.folder), sql_enabled=True, log_format="off") as running:
        yield running


# For the package, not for the session: while Playwright runs, no other test of the process can use asyncio.
@pytest.fixture(scope="package")
def browser(explorer: Running) -> Iterator[Browser]:
    with chromium(explorer.port) as browser:
        yield browser


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """A wide, light window; whatever goes wrong in it fails the test."""
    with visiting(browser, NAME) as visit:
        yield visit
        assert visit.faults == []
