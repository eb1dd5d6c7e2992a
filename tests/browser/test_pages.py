"""Every page, wide and narrow, light and dark, with JavaScript and without, on scales and beside its pictures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from starlette.routing import compile_path

from losslake_service.web.pages.kinds import PAGES as KINDS
from tests.browser.accessibility import violations
from tests.browser.chromium import NAME
from tests.browser.pages import PAGES, Shown
from tests.browser.pictures import (
    ALLOWED,
    DRAWN_BY,
    FOLDER,
    UPDATE,
    Drawer,
    Look,
    difference,
    picture,
    why_incomparable,
)
from tests.browser.visit import SECONDS, Site, Visit
from tests.browser.weighing import Scales, first_content

MOST_BYTES, MOST_MILLISECONDS = 500_000, 300.0
MOST_VISITS = 12
MOST_LOAD = 2
"""Processes that want each core, above which times say nothing."""
_HEAD = (Path(__file__).parent / "scripts" / "head.js").read_text()
_GROUND = "() => getComputedStyle(document.body).backgroundColor"
_OVERHANG = "() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"


@dataclass(frozen=True)
class Drawn:
    """A page in a window. scales: of a wide window."""

    shown: Shown
    look: Look
    visit: Visit
    scales: Scales


@pytest.fixture(scope="module")
def wide(explorer: Site) -> Iterator[tuple[Visit, Scales]]:
    """A window that keeps nothing, on scales."""
    with explorer.visiting(Look.WIDE.width, Look.WIDE.scheme) as visit:
        yield visit, Scales(visit)


@pytest.fixture(scope="module")
def narrow(explorer: Site) -> Iterator[Visit]:
    with explorer.visiting(Look.NARROW.width, Look.NARROW.scheme) as visit:
        yield visit


@pytest.fixture(scope="module")
def without_javascript(explorer: Site) -> Iterator[Visit]:
    """As crawlers have pages, and those who unfold a link."""
    with explorer.visiting(javascript=False) as visit:
        yield visit


# All tests of a page in a window follow each other: it is drawn once, and the last of them changes it.
@pytest.fixture(
    scope="module",
    params=[(shown, look) for shown in PAGES for look in Look],
    ids=lambda given: f"{given[0].name}-{given[1].name}",
)
def drawn(request: pytest.FixtureRequest, wide: tuple[Visit, Scales], narrow: Visit) -> Drawn:
    shown, look = request.param
    visit, scales = wide
    if look is Look.NARROW:
        visit = narrow
    visit.faults.clear()
    scales.bytes_by_path.clear()
    visit.page.emulate_media(color_scheme=look.scheme)
    visit.open(shown.path, shown.ready)
    return Drawn(shown, look, visit, scales)


@pytest.fixture(scope="module", params=PAGES, ids=lambda shown: shown.name)
def plain(request: pytest.FixtureRequest, without_javascript: Visit) -> tuple[Shown, Visit]:
    without_javascript.faults.clear()
    without_javascript.page.goto(NAME + request.param.path)
    return request.param, without_javascript


def test_a_page_is_drawn_and_nothing_goes_wrong(drawn: Drawn) -> None:
    page = drawn.visit.page
    assert drawn.shown.says in page.locator("main").inner_text()
    assert [figure.get_attribute("data-trouble") for figure in page.locator("[data-trouble]").all()] == []
    assert drawn.visit.faults == []


def test_a_page_is_never_wider_than_its_window(drawn: Drawn) -> None:
    assert drawn.visit.page.evaluate(_OVERHANG) == 0


def test_a_page_weighs_little(drawn: Drawn) -> None:
    found = drawn.scales.bytes_by_path
    assert sum(found.values()) < MOST_BYTES, found
    assert bool(found) == (drawn.look is Look.WIDE)


def test_a_page_looks_as_it_did(drawn: Drawn, drawer: Drawer) -> None:
    reference = FOLDER / drawn.look.file(drawn.shown.name)
    updating = bool(os.environ.get(UPDATE))
    if not updating and (why := why_incomparable(drawer, Drawer.model_validate_json(DRAWN_BY.read_text()))):
        pytest.skip(why)
    found = picture(drawn.visit.page)
    if updating:
        reference.write_bytes(found)
    assert reference.exists(), f"there is no {reference.name}: run `make pictures`"
    share = difference(reference.read_bytes(), found)
    assert share <= ALLOWED, f"{share:.1%} of {reference.name} looks different: if it should, run `make pictures`"


def test_axe_finds_nothing_that_keeps_anyone_out(drawn: Drawn) -> None:
    assert violations(drawn.visit.page, "everything" if drawn.look is Look.WIDE else "layout") == []


def test_colours_change_with_the_system_and_stay_legible(drawn: Drawn) -> None:
    page = drawn.visit.page
    before = page.evaluate(_GROUND)
    page.emulate_media(color_scheme="dark" if drawn.look.scheme == "light" else "light")
    drawn.visit.settle(drawn.shown.ready)
    assert page.evaluate(_GROUND) != before
    if drawn.look is Look.WIDE:
        assert violations(page, "colours") == []
    assert page.evaluate(_OVERHANG) == 0
    assert drawn.visit.faults == []


def test_a_page_says_the_same_without_javascript(plain: tuple[Shown, Visit]) -> None:
    shown, visit = plain
    assert shown.says in visit.page.locator("main").inner_text()
    assert visit.faults == []


def test_a_link_to_a_page_unfolds_into_what_it_is(plain: tuple[Shown, Visit], explorer: Site) -> None:
    shown, visit = plain
    head = visit.page.evaluate(_HEAD)
    assert {name: texts for name, texts in head.items() if len(texts) != 1 or not texts[0]} == {}
    assert head["canonical"] == head["og:url"] == [NAME + shown.path]
    address = head["og:image"][0]
    assert address.startswith(NAME)
    with urlopen(explorer.url + address.removeprefix(NAME), timeout=SECONDS) as answer:
        assert answer.headers["content-type"] == "image/png"


@pytest.mark.slow
@pytest.mark.parametrize("shown", PAGES, ids=lambda shown: shown.name)
def test_a_page_is_soon_there(wide: tuple[Visit, Scales], shown: Shown) -> None:
    if os.getloadavg()[0] > MOST_LOAD * (os.cpu_count() or 1):
        pytest.skip("this machine is too busy to tell how soon a page is there")
    times: list[float] = []
    # Two quick ones of three are a median within the limit. Beside other tests it may take a few more.
    while len(times) < MOST_VISITS and sum(time < MOST_MILLISECONDS for time in times) < 2:
        times.append(first_content(wide[0], shown.path))
    assert sorted(times)[1] < MOST_MILLISECONDS, times


def test_every_kind_of_page_is_looked_at() -> None:
    ways = [compile_path(kind.path)[0] for kind in KINDS]
    unseen = [way.pattern for way in ways if not any(way.match(urlsplit(shown.path).path) for shown in PAGES)]
    assert unseen == []
