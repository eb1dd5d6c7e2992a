"""Texts of logs and URLs are never interpreted: no script runs, nothing is loaded, no CSP rule is broken."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page
from starlette.routing import compile_path

from losslake_service.web.pages.kinds import PAGES as KINDS
from tests.browser.hostile import TRAPS, WORKLOAD, Trap, hostile_lake
from tests.browser.visit import NARROW, Site, Visit
from tests.service.running import served

pytestmark = pytest.mark.slow

# Elements that no template writes.
INJECTED = (
    "[onerror], [onload], [onclick], [src='x'], [href^='javascript:' i], [src^='javascript:' i], base, iframe, object, "
    "script:not([src]):not([type='application/ld+json'], [type='application/json'])"
)
# A fragment has no icon of its own: opened as a page, it would have the browser look for one in vain.
_SHOW = "async (path) => { document.body.innerHTML = await (await fetch(path)).text(); }"
WAYS = [compile_path(kind.path)[0] for kind in KINDS if not kind.is_fragment]


@pytest.fixture(scope="module")
def hostile(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    """Yield a narrow window on the service over the hostile lake."""
    folder = tmp_path_factory.mktemp("hostile")
    lake = hostile_lake(folder)
    with (
        served(folder, lake=str(lake.folder), sql_enabled=True, log_format="off") as running,
        Site(browser, running.url, running.url).visiting(NARROW) as visit,
    ):
        yield visit


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_hostile_text_is_never_interpreted(hostile: Visit, trap: Trap) -> None:
    hostile.faults.clear()
    hostile.expected_statuses = {trap.status} - {200}
    page = hostile.open(trap.path)
    _visit_charts(page)
    assert trap.says in page.locator("main").inner_text()
    assert page.locator(INJECTED).evaluate_all("(found) => found.map((each) => each.outerHTML)") == []
    assert page.evaluate("() => document.scrollingElement.scrollWidth - innerWidth") == 0
    assert hostile.faults == []


def test_hostile_text_in_the_stops_of_the_slider_is_never_interpreted(hostile: Visit) -> None:
    hostile.faults.clear()
    page = hostile.open("/")
    page.evaluate(_SHOW, f"/target-stops/{quote(str(WORKLOAD))}")
    hostile.settle("ol li")
    assert "<script>" in str(page.locator("ol li").first.get_attribute("data-title"))
    assert page.locator(INJECTED).evaluate_all("(found) => found.map((each) => each.outerHTML)") == []
    assert hostile.faults == []


def _visit_charts(page: Page) -> None:
    """Focus the first marks of every chart by keyboard, and hover over each: both describe the mark."""
    for plot in page.locator(".chart .plot[tabindex]").all():
        plot.focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
            place = plot.locator(".ring").bounding_box()
            assert place is not None
            page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)


def test_every_page_has_a_hostile_case() -> None:
    tried = [unquote(urlsplit(trap.path).path) for trap in TRAPS]
    assert [way.pattern for way in WAYS if not any(map(way.match, tried))] == []
