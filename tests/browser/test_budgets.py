"""What a page may weigh, and how soon it shows something; both on loopback, with nothing kept by the browser."""

from __future__ import annotations

import statistics

import pytest

from tests.browser.pages import PAGES, Shown
from tests.browser.visit import Site
from tests.browser.weighing import first_content, weights

MOST_BYTES = 500_000
MOST_MILLISECONDS, VISITS, ROUNDS = 300.0, 3, 5


@pytest.mark.parametrize("shown", PAGES, ids=lambda shown: shown.name)
def test_a_page_weighs_little(explorer: Site, shown: Shown) -> None:
    with explorer.visiting() as visit:
        found = weights(visit, shown.path, shown.ready)
    print(f"{shown.path}: {sum(found.values()) / 1000:,.0f} kB")
    assert 0 < sum(found.values()) < MOST_BYTES, found


@pytest.mark.parametrize("shown", PAGES, ids=lambda shown: shown.name)
def test_a_page_is_soon_there(explorer: Site, shown: Shown) -> None:
    shown.skip_what_is_lacking("speed")
    medians: list[float] = []
    # Other tests run beside this one: a page is slow if it is slow each time.
    while len(medians) < ROUNDS and (not medians or medians[-1] >= MOST_MILLISECONDS):
        medians.append(statistics.median(_first_content(explorer, shown) for _ in range(VISITS)))
    print(f"{shown.path}: first content after {min(medians):,.0f} ms")
    assert min(medians) < MOST_MILLISECONDS


def _first_content(explorer: Site, shown: Shown) -> float:
    with explorer.visiting() as visit:
        return first_content(visit, shown.path)
