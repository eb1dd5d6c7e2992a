"""Every page: wide and narrow, light and dark, with and without JavaScript, its weight and its pictures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser
from starlette.routing import compile_path

from losslake_service.web.paths import PAGES as KINDS
from tests.browser.accessibility import violations
from tests.browser.chromium import NAME
from tests.browser.pages import PAGES, Shown
from tests.browser.pictures import (
    ALLOWED,
    DRAWN_BY,
    FOLDER,
    UPDATE,
    Window,
    chromium_version,
    difference,
    picture,
    why_incomparable,
)
from tests.browser.quiet import median_times
from tests.browser.visit import Site, Visit
from tests.browser.weighing import Scales, paints
from tests.servers.processes import SECONDS

pytestmark = pytest.mark.slow

MOST_BYTES = 500_000
MOST_MILLISECONDS = {"first content": 300.0, "largest content": 500.0}
_HEAD = (Path(__file__).parent / "scripts" / "head.js").read_text()
_GROUND = "() => getComputedStyle(document.body).backgroundColor"
_OVERHANG = "() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"


@dataclass(frozen=True)
class Drawn:
    """A page in a window. scales: those of the wide window."""

    shown: Shown
    window: Window
    visit: Visit
    scales: Scales


@pytest.fixture(scope="module")
def wide(explorer: Site) -> Iterator[tuple[Visit, Scales]]:
    """Yield a wide window without cache, with its scales."""
    with explorer.visiting(Window.WIDE.width, Window.WIDE.scheme) as visit:
        yield visit, Scales(visit)


@pytest.fixture(scope="module")
def narrow(explorer: Site) -> Iterator[Visit]:
    with explorer.visiting(Window.NARROW.width, Window.NARROW.scheme) as visit:
        yield visit


@pytest.fixture(scope="module")
def without_javascript(explorer: Site) -> Iterator[Visit]:
    """Yield a window without JavaScript, as for crawlers and link previews."""
    with explorer.visiting(javascript=False) as visit:
        yield visit


# All tests of a page in a window follow each other: it is drawn once, and the last of them changes it.
@pytest.fixture(
    scope="module",
    params=[(shown, window) for shown in PAGES for window in Window],
    ids=lambda given: f"{given[0].name}-{given[1].name}",
)
def drawn(request: pytest.FixtureRequest, wide: tuple[Visit, Scales], narrow: Visit) -> Drawn:
    shown, window = request.param
    visit, scales = wide
    if window is Window.NARROW:
        visit = narrow
    visit.faults.clear()
    scales.bytes_by_path.clear()
    visit.page.emulate_media(color_scheme=window.scheme)
    visit.open(shown.path, shown.ready)
    return Drawn(shown, window, visit, scales)


@pytest.fixture(scope="module", params=PAGES, ids=lambda shown: shown.name)
def plain(request: pytest.FixtureRequest, without_javascript: Visit) -> tuple[Shown, Visit]:
    without_javascript.faults.clear()
    without_javascript.page.goto(NAME + request.param.path)
    # The SQL page goes on to its result by itself.
    without_javascript.page.locator("main", has_text=request.param.says).wait_for()
    return request.param, without_javascript


def test_page_renders_without_errors(drawn: Drawn) -> None:
    page = drawn.visit.page
    assert drawn.shown.says in page.locator("main").inner_text()
    assert [figure.get_attribute("data-trouble") for figure in page.locator("[data-trouble]").all()] == []
    assert drawn.visit.faults == []


def test_page_fits_its_window(drawn: Drawn) -> None:
    assert drawn.visit.page.evaluate(_OVERHANG) == 0


def test_page_weight_is_limited(drawn: Drawn) -> None:
    sizes = drawn.scales.bytes_by_path
    assert sum(sizes.values()) < MOST_BYTES, sizes
    assert bool(sizes) == (drawn.window is Window.WIDE)


def test_page_matches_its_picture(drawn: Drawn, browser: Browser) -> None:
    reference = FOLDER / drawn.window.file(drawn.shown.name)
    updating = bool(os.environ.get(UPDATE))
    if updating:
        DRAWN_BY.write_text(f"{chromium_version(browser)}\n")
    elif why := why_incomparable(browser, DRAWN_BY.read_text().strip()):
        pytest.skip(why)
    current = picture(drawn.visit.page)
    if updating:
        reference.write_bytes(current)
    assert reference.exists(), f"there is no {reference.name}: run `make pictures`"
    share = difference(reference.read_bytes(), current)
    assert share <= ALLOWED, f"{share:.1%} of {reference.name} looks different: if it should, run `make pictures`"


def test_page_passes_axe(drawn: Drawn) -> None:
    assert violations(drawn.visit.page, "everything" if drawn.window is Window.WIDE else "layout") == []


def test_colour_scheme_follows_the_system_with_enough_contrast(drawn: Drawn) -> None:
    page = drawn.visit.page
    before = page.evaluate(_GROUND)
    page.emulate_media(color_scheme="dark" if drawn.window.scheme == "light" else "light")
    drawn.visit.settle(drawn.shown.ready)
    assert page.evaluate(_GROUND) != before
    if drawn.window is Window.WIDE:
        assert violations(page, "colours") == []
    assert page.evaluate(_OVERHANG) == 0
    assert drawn.visit.faults == []


def test_page_has_the_same_text_without_javascript(plain: tuple[Shown, Visit]) -> None:
    shown, visit = plain
    assert shown.says in visit.page.locator("main").inner_text()
    assert visit.faults == []


def test_page_has_link_preview_metadata(plain: tuple[Shown, Visit], explorer: Site) -> None:
    shown, visit = plain
    head = visit.page.evaluate(_HEAD)
    if shown.of:
        assert head["canonical"] == [NAME + shown.of]
        assert visit.page.locator('meta[name="robots"][content="noindex"]').count() == 1
        return
    assert {name: texts for name, texts in head.items() if len(texts) != 1 or not texts[0]} == {}
    assert head["canonical"] == head["og:url"] == [NAME + shown.path]
    address = head["og:image"][0]
    assert address.startswith(NAME)
    with urlopen(explorer.url + address.removeprefix(NAME), timeout=SECONDS) as answer:
        assert answer.headers["content-type"] == "image/png"


@pytest.mark.parametrize("shown", PAGES, ids=lambda shown: shown.name)
def test_content_appears_quickly(wide: tuple[Visit, Scales], shown: Shown) -> None:
    times = median_times(lambda: paints(wide[0], shown.path))
    print(f"{shown.name}, ms: {times}")
    assert {name: took for name, took in times.items() if took >= MOST_MILLISECONDS[name]} == {}


def test_every_page_is_tested_in_a_browser() -> None:
    ways = [compile_path(kind.path)[0] for kind in KINDS if not kind.is_fragment]
    unseen = [way.pattern for way in ways if not any(way.match(urlsplit(shown.path).path) for shown in PAGES)]
    assert unseen == []
