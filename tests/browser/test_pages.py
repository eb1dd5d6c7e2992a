"""Every page, wide and narrow, light and dark, with JavaScript and without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from starlette.routing import compile_path

from service.web.pages.kinds import PAGES as KINDS
from tests.browser.accessibility import violations
from tests.browser.chromium import NAME
from tests.browser.pages import PAGES, Shown
from tests.browser.visit import NARROW, SECONDS, WIDE, Scheme, Site, Visit

_HEAD = (Path(__file__).parent / "scripts" / "head.js").read_text()
_OVERHANG = "() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"


@dataclass(frozen=True)
class Drawn:
    """A page in a window."""

    shown: Shown
    visit: Visit
    width: int
    scheme: Scheme


def _looks() -> Iterator[object]:
    for shown in PAGES:
        for width in (WIDE, NARROW):
            for scheme in ("light", "dark"):
                yield pytest.param((shown, width, scheme), id=f"{shown.name}-{width}-{scheme}")


# All tests of a page in a window follow each other: it is drawn once.
@pytest.fixture(scope="module", params=_looks())
def drawn(request: pytest.FixtureRequest, explorer: Site) -> Iterator[Drawn]:
    shown, width, scheme = request.param
    with explorer.visiting(width, scheme) as visit:
        visit.open(shown.path, shown.ready)
        yield Drawn(shown, visit, width, scheme)


# Without JavaScript, as crawlers and those who unfold a link have it.
@pytest.fixture(scope="module", params=PAGES, ids=lambda shown: shown.name)
def plain(request: pytest.FixtureRequest, explorer: Site) -> Iterator[Drawn]:
    with explorer.visiting(javascript=False) as visit:
        visit.page.goto(NAME + request.param.path)
        yield Drawn(request.param, visit, WIDE, "light")


def test_a_page_is_drawn_and_nothing_goes_wrong(drawn: Drawn) -> None:
    page = drawn.visit.page
    assert drawn.shown.says in page.locator("main").inner_text()
    assert [figure.get_attribute("data-trouble") for figure in page.locator("[data-trouble]").all()] == []
    assert drawn.visit.faults == []


def test_a_page_is_never_wider_than_its_window(drawn: Drawn) -> None:
    drawn.shown.skip_what_is_lacking("width")
    assert drawn.visit.page.evaluate(_OVERHANG) == 0


def test_axe_finds_nothing_that_keeps_anyone_out(drawn: Drawn) -> None:
    drawn.shown.skip_what_is_lacking("access")
    # What isn't colour is the same in both schemes: half of the looks see all of it.
    is_about_colours = (drawn.width == WIDE) != (drawn.scheme == "light")
    assert violations(drawn.visit.page, contrast_only=is_about_colours) == []


def test_a_page_says_the_same_without_javascript(plain: Drawn) -> None:
    assert plain.shown.says in plain.visit.page.locator("main").inner_text()
    assert plain.visit.faults == []


def test_a_link_to_a_page_unfolds_into_what_it_is(plain: Drawn, explorer: Site) -> None:
    plain.shown.skip_what_is_lacking("head")
    head = plain.visit.page.evaluate(_HEAD)
    assert {name: texts for name, texts in head.items() if len(texts) != 1 or not texts[0]} == {}
    assert head["canonical"] == head["og:url"] == [NAME + plain.shown.path]
    picture = head["og:image"][0]
    assert picture.startswith(NAME)
    with urlopen(explorer.url + picture.removeprefix(NAME), timeout=SECONDS) as answer:
        assert answer.headers["content-type"] == "image/png"


def test_every_kind_of_page_is_looked_at() -> None:
    ways = [compile_path(kind.path)[0] for kind in KINDS]
    unseen = [way.pattern for way in ways if not any(way.match(urlsplit(shown.path).path) for shown in PAGES)]
    assert unseen == []
