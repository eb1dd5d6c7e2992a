"""A running service over the bundled studies, one Chromium, and windows in which nothing may go wrong."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from schema.lake import Lake
from tests.browser.chromium import NAME, chromium, chromium_program
from tests.browser.pictures import DRAWN_BY, FOLDER, UPDATE, Drawer, drawer_here
from tests.browser.visit import Site, Visit
from tests.bundled import bundled_lake
from tests.service.running import served


@pytest.fixture(scope="package", autouse=True)
def program() -> str:
    """Chromium; without it nothing of this package runs, nor is anything made for it."""
    return chromium_program()


@pytest.fixture(scope="package")
def bundled(program: str, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return bundled_lake(tmp_path_factory)


@pytest.fixture(scope="package")
def port() -> int:
    """A free one, where the service will be: Chromium is told before, and may not need it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        found: int = listening.getsockname()[1]
        return found


# For the package, not for the session: while Playwright runs, no other test of the process can use asyncio.
@pytest.fixture(scope="package")
def browser(program: str, port: int) -> Iterator[Browser]:
    with chromium(program, port) as browser:
        yield browser


@pytest.fixture(scope="package")
def explorer(browser: Browser, bundled: Lake, port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The service over the bundled studies, with SQL."""
    folder = tmp_path_factory.mktemp("explorer")
    with served(folder, lake=str(bundled.folder), port=port, sql_enabled=True, log_format="off") as running:
        yield Site(browser, NAME, running.url)


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
