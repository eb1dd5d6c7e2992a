"""What a page may weigh, and how soon it shows something; both on loopback, with nothing kept by the browser."""

from __future__ import annotations

import statistics

import pytest
from playwright.sync_api import Browser

from tests.browser.chromium import NAME
from tests.browser.pages import PAGES, Shown
from tests.browser.visit import visiting
from tests.browser.weighing import first_content, weights

MOST_BYTES = 500_000
MOST_MILLISECONDS, VISITS, ROUNDS = 300.0, 3, 3


@pytest.mark.parametrize("shown", PAGES, ids=lambda shown: shown.name)
def test_a_page_weighs_little(browser: Browser, shown: Shown) -> None:
    with visiting(browser, NAME) as visit:
        found = weights(visit, shown.path, shown.ready)
    print(f"{shown.path}: {sum(found.values()) / 1000:,.0f} kB")
    assert 0 < sum(found.values()) < MOST_BYTES, found


@pytest.mark.parametrize("shown", PAGES, ids=lambda shown: shown.name)
def test_a_page_is_soon_there(browser: Browser, shown: Shown) -> None:
    shown.skip_what_is_lacking("speed")
    medians: list[float] = []
    # Other tests run beside this one: a page is slow if it is slow each time.
    while len(medians) < ROUNDS and (not medians or medians[-1] >= MOST_MILLISECONDS):
        medians.append(statistics.median(_first_content(browser, shown) for _ in range(VISITS)))
    print(f"{shown.path}: first content after {min(medians):,.0f} ms")
    assert min(medians) < MOST_MILLISECONDS


def _first_content(browser: Browser, shown: Shown) -> float:
    with visiting(browser, NAME) as visit:
        return first_content(visit, shown.path)
