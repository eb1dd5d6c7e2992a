"""Signing in with a provider of another site in Chromium, and the page of one's tokens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Page

from losslake.lake.lake import Lake
from tests.browser.accessibility import violations
from tests.browser.visit import HEIGHT, MILLISECONDS, NARROW, NARROW_HEIGHT, WIDE
from tests.contributions.people.provider import local_provider, presets, registered
from tests.contributions.running import RunningService
from tests.servers.processes import free_port

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service whose provider is at another name, and so at another site for browsers."""
    with ExitStack() as stack:
        provider = stack.enter_context(local_provider())
        provider.host = "localhost"
        settings = {**registered("orcid", "github"), "presets": presets(provider)}
        port = free_port()
        lake = Lake.create(tmp_path_factory.mktemp("sign-in") / "lake")
        service = RunningService(lake, port, {**settings, "public_url": f"http://127.0.0.1:{port}"})
        stack.callback(service.end)
        service.start()
        yield service.url


def is_whole(page: Page) -> bool:
    """True if no part of the page is beyond the window, sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.mark.parametrize(("width", "height"), [(WIDE, HEIGHT), (NARROW, NARROW_HEIGHT)])
def test_person_signs_in_makes_a_token_and_revokes_it(browser: Browser, address: str, width: int, height: int) -> None:
    with browser.new_context(viewport={"width": width, "height": height}) as context:
        context.set_default_timeout(MILLISECONDS)
        page, faults = context.new_page(), list[str]()
        context.on("console", lambda message: faults.append(message.text))
        context.on("weberror", lambda error: faults.append(str(error)))
        page.goto(f"{address}/sign-in?next=/tokens")
        assert violations(page) == []
        assert is_whole(page)
        page.get_by_role("link", name="Sign in with ORCID").click()
        page.wait_for_url(f"{address}/tokens")  # with a cookie that is Strict, though the provider led here
        assert [(each.get("sameSite"), each.get("httpOnly")) for each in context.cookies()] == [("Strict", True)]
        page.get_by_role("button", name="Make a token").click()
        page.get_by_role("heading", name="Your new token").wait_for()
        assert violations(page) == []
        assert is_whole(page)
        page.get_by_role("button", name="Revoke").first.click()
        page.get_by_role("cell", name="revoked").first.wait_for()
        assert "export LOSSLAKE_TOKEN" not in page.locator("main").inner_text()
        assert faults == []
