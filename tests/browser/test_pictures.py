"""Pages look as they did, on the machine that drew the reference pictures. `make pictures` draws them anew."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.pages import PAGES, Shown
from tests.browser.pictures import (
    ALLOWED,
    DRAWN_BY,
    FOLDER,
    MOST_BYTES,
    UPDATE,
    Drawer,
    difference,
    drawer,
    picture,
    why_incomparable,
)
from tests.browser.visit import NARROW, WIDE, Scheme, Site

STABLE = [shown for shown in PAGES if shown.is_stable]
LOOKS: dict[str, tuple[int, Scheme]] = {"": (WIDE, "light"), "-narrow": (NARROW, "dark")}
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


@pytest.fixture(scope="module")
def here(browser: Browser) -> Drawer:
    found = drawer(browser)
    if os.environ.get(UPDATE):
        FOLDER.mkdir(exist_ok=True)
        DRAWN_BY.write_text(found.model_dump_json(indent=1) + "\n")
    return found


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("shown", STABLE, ids=lambda shown: shown.name)
def test_a_page_looks_as_it_did(explorer: Site, here: Drawer, shown: Shown, look: str) -> None:
    reference = FOLDER / f"{shown.name}{look}.png"
    width, scheme = LOOKS[look]
    if not os.environ.get(UPDATE) and (why := why_incomparable(here, Drawer.model_validate_json(DRAWN_BY.read_text()))):
        pytest.skip(why)
    with explorer.visiting(width, scheme) as visit:
        drawn = picture(visit.open(shown.path, shown.ready))
    if os.environ.get(UPDATE):
        reference.write_bytes(drawn)
    assert reference.exists(), f"there is no {reference.name}: run `make pictures`"
    share = difference(reference.read_bytes(), drawn)
    assert share <= ALLOWED, f"{share:.1%} of {reference.name} looks different: if it should, run `make pictures`"


def test_pictures_are_kept_of_stable_pages_only_and_are_small() -> None:
    kept = {path.name: path.stat().st_size for path in FOLDER.glob("*.png")}
    assert set(kept) == {f"{shown.name}{look}.png" for shown in STABLE for look in LOOKS}
    assert {name: size for name, size in kept.items() if size > MOST_BYTES} == {}


def test_a_page_that_did_not_change_is_the_same_picture(window: Page) -> None:
    assert difference(_drawn(window), _drawn(window)) == 0


@pytest.mark.parametrize("changed", [{"margin": "20px"}, {"ground": "#222"}])
def test_what_moved_or_changed_its_colour_is_found(window: Page, changed: dict[str, str]) -> None:
    assert difference(_drawn(window), _drawn(window, **changed)) > ALLOWED


def test_another_chromium_and_other_fonts_are_told_apart_from_a_change(here: Drawer) -> None:
    assert why_incomparable(here, here) is None
    assert "Chromium 99," in str(why_incomparable(here, here.model_copy(update={"chromium": 99})))
    assert "other fonts" in str(why_incomparable(here, here.model_copy(update={"widths": (1.0,)})))
