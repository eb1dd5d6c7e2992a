"""Reference pictures are small, and a difference that someone would see is found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.pages import PAGES
from tests.browser.pictures import ALLOWED, FOLDER, MOST_BYTES, Drawer, Look, difference, picture, why_incomparable

PAGE = """<!doctype html><title>A page</title><style>
body { background: %s; margin: 20px; font: 16px sans-serif }
div { width: 300px; height: 120px; background: #06c; margin-left: %s }
</style><h1>Steps to target</h1><div></div>"""


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 800, "height": 400})
    yield page
    page.close()


def _drawn(window: Page, ground: str = "white", margin: str = "0") -> bytes:
    window.set_content(PAGE % (ground, margin))
    return picture(window)


def test_pictures_are_kept_of_every_page_and_are_small() -> None:
    kept = {path.name: path.stat().st_size for path in FOLDER.glob("*.png")}
    assert set(kept) == {look.file(shown.name) for shown in PAGES for look in Look}
    assert {name: size for name, size in kept.items() if size > MOST_BYTES} == {}


def test_a_page_that_did_not_change_is_the_same_picture(window: Page) -> None:
    assert difference(_drawn(window), _drawn(window)) == 0


@pytest.mark.parametrize("changed", [{"margin": "20px"}, {"ground": "#222"}])
def test_what_moved_or_changed_its_colour_is_found(window: Page, changed: dict[str, str]) -> None:
    assert difference(_drawn(window), _drawn(window, **changed)) > ALLOWED


def test_another_chromium_and_other_fonts_are_told_apart_from_a_change(drawer: Drawer) -> None:
    assert why_incomparable(drawer, drawer) is None
    assert "Chromium 99," in str(why_incomparable(drawer, drawer.model_copy(update={"chromium": 99})))
    assert "other fonts" in str(why_incomparable(drawer, drawer.model_copy(update={"widths": (1.0,)})))
