"""A running service over the bundled studies, one Chromium, and windows in which nothing may go wrong."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from losslake.lake.lake import Lake
from tests.browser.chromium import NAME, chromium, chromium_program
from tests.browser.pictures import DRAWN_BY, FOLDER, UPDATE, Drawer, drawer_here
from tests.browser.visit import Site, Visit
from tests.bundled import bundled_lake
from tests.service.running import Running, served


@pytest.fixture(scope="session", autouse=True)
def program() -> str:
    """Chromium; without it nothing of this package runs, nor is anything made for it."""
    return chromium_program()


@pytest.fixture(scope="session")
def bundled(program: str, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return bundled_lake(tmp_path_factory)


@pytest.fixture(scope="session")
def running(bundled: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The service over the bundled studies, with SQL."""
    folder = tmp_path_factory.mktemp("explorer")
    with served(folder, lake=str(bundled.folder), sql_enabled=True, log_format="off") as running:
        yield running


# Not for the session: while Playwright runs, no other test of the process can use asyncio.
@pytest.fixture(scope="package")
def browser(program: str, running: Running) -> Iterator[Browser]:
    with chromium(program, running.port) as browser:
        yield browser


@pytest.fixture(scope="package")
def explorer(browser: Browser, running: Running) -> Site:
    """The running service, as the browser knows it."""
    return Site(browser, NAME, running.url)


@pytest.fixture(scope="package")
def drawer(browser: Browser) -> Drawer:
    """What draws pictures here."""
    found = drawer_here(browser)
    if os.environ.get(UPDATE):
        FOLDER.mkdir(exist_ok=True)
        DRAWN_BY.write_text(found.model_dump_json(indent=1) + "\n")
    return found


@pytest.fixture
def visit(explorer: Site) -> Iterator[Visit]:
    """A wide, light window; whatever goes wrong in it fails the test."""
    with explorer.visiting() as visit:
        yield visit
        assert visit.faults == []
