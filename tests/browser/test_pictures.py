"""Reference pictures are small, and visible differences are detected."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.pages import PAGES
from tests.browser.pictures import (
    ALLOWED,
    FOLDER,
    MOST_BYTES,
    Window,
    chromium_version,
    difference,
    picture,
    why_incomparable,
)
from tests.browser.visit import MILLISECONDS, Visit

PAGE = """<!doctype html><title>A page</title><style>
body { background: %s; margin: 20px; font: 16px sans-serif }
div { width: 300px; height: 120px; background: #06c; margin-left: %s }
</style><h1>Steps to target</h1><div></div>"""


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 800, "height": 400})
    page.set_default_timeout(MILLISECONDS)
    yield page
    page.close()


def _drawn(window: Page, ground: str = "white", margin: str = "0") -> bytes:
    window.set_content(PAGE % (ground, margin))
    return picture(window)


def test_every_page_has_small_pictures() -> None:
    sizes = {path.name: path.stat().st_size for path in FOLDER.glob("*.png")}
    assert set(sizes) == {window.file(shown.name) for shown in PAGES for window in Window}
    assert {name: size for name, size in sizes.items() if size > MOST_BYTES} == {}


@pytest.mark.slow
def test_unchanged_page_has_no_difference(window: Page) -> None:
    assert difference(_drawn(window), _drawn(window)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("changed", [{"margin": "20px"}, {"ground": "#222"}])
def test_moved_or_recoloured_content_is_a_difference(window: Page, changed: dict[str, str]) -> None:
    assert difference(_drawn(window), _drawn(window, **changed)) > ALLOWED


@pytest.mark.slow
def test_other_chromium_version_is_not_a_difference(browser: Browser) -> None:
    assert why_incomparable(browser, chromium_version(browser)) is None
    assert "drawn by Chromium 99," in str(why_incomparable(browser, "99"))


@pytest.mark.slow
def test_pages_use_the_shipped_fonts(visit: Visit) -> None:
    page = visit.open("/sql")
    families = "() => [...document.fonts].filter((font) => font.status === 'loaded').map((font) => font.family)"
    assert sorted(page.evaluate(families)) == ["Liberation Mono", "Liberation Sans", "Liberation Sans"]
