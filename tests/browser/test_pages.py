"""Every page, wide and narrow, light and dark, with JavaScript and without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.accessibility import violations
from tests.browser.chromium import NAME
from tests.browser.pages import PAGES, Shown
from tests.browser.visit import NARROW, WIDE, Scheme, Visit, visiting

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
def drawn(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Drawn]:
    shown, width, scheme = request.param
    with visiting(browser, NAME, width, scheme) as visit:
        visit.open(shown.path, shown.ready)
        yield Drawn(shown, visit, width, scheme)


def test_a_page_is_drawn_and_nothing_goes_wrong(drawn: Drawn) -> None:
    assert drawn.shown.says in drawn.visit.page.locator("main").inner_text()
    assert drawn.visit.faults == []


def test_a_page_is_never_wider_than_its_window(drawn: Drawn) -> None:
    drawn.shown.skip_what_is_lacking("width")
    assert drawn.visit.page.evaluate(_OVERHANG) == 0


def test_axe_finds_nothing_that_keeps_anyone_out(drawn: Drawn) -> None:
    drawn.shown.skip_what_is_lacking("access")
    # What isn't colour is the same in both schemes: half of the looks see all of it.
    is_about_colours = (drawn.width == WIDE) != (drawn.scheme == "light")
    assert violations(drawn.visit.page, contrast_only=is_about_colours) == []


def test_links_to_a_page_unfold_into_what_it_is(drawn: Drawn) -> None:
    drawn.shown.skip_what_is_lacking("head")
    head = drawn.visit.page.evaluate(_HEAD)
    assert {name: texts for name, texts in head.items() if len(texts) != 1 or not texts[0]} == {}
    assert head["canonical"][0].startswith(NAME)
    assert head["og:url"] == head["canonical"]


@pytest.mark.parametrize("shown", PAGES, ids=lambda shown: shown.name)
def test_a_page_says_the_same_without_javascript(browser: Browser, shown: Shown) -> None:
    with visiting(browser, NAME, javascript=False) as visit:
        visit.page.goto(NAME + shown.path)
        assert shown.says in visit.page.locator("main").inner_text()
        assert visit.faults == []
