"""Search fields suggest what was searched for, with its kind, while words are typed."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.accessibility import violations
from tests.browser.visit import NARROW, Site, Visit

pytestmark = pytest.mark.slow
ADAM = "mlp_64 on Digits, Adam \u00b7 Bundled studies"


def options(page: Page, field: str = "#search") -> Locator:
    return page.locator(f"{field}-suggestions [role=option]")


@pytest.mark.parametrize("field", ["#search", "#find"])
def test_suggestion_is_chosen_by_keyboard(visit: Visit, field: str) -> None:
    page = visit.open("/")
    visit.type_words(field, "mlp 64 adam")
    expect(options(page, field)).to_have_text([f"{ADAM} Workload \u00b7 704 trials"])
    assert violations(page, "everything") == []
    page.keyboard.press("ArrowDown")
    assert options(page, field).first.get_attribute("aria-selected") == "true"
    page.keyboard.press("Enter")
    page.wait_for_url("**/workloads/bundled/digits/mlp_64/adam")


def test_comparison_is_opened_from_the_keyboard(visit: Visit) -> None:
    page = visit.open("/")
    visit.type_words("#search", "adam vs sgd")
    expect(options(page).first).to_contain_text("Compare Adam and SGD: mlp_64 on Digits")
    page.keyboard.press("ArrowUp")
    chosen = options(page).last
    assert page.locator("#search").get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?workload=bundled/digits/mlp_64/adam&workload=bundled/digits/mlp_64/sgd")


def test_escape_closes_suggestions_and_enter_searches(visit: Visit) -> None:
    page = visit.open("/")
    visit.type_words("#search", "digits")
    expect(options(page)).to_have_count(8)
    page.keyboard.press("Escape")
    expect(options(page)).to_have_count(0)
    page.keyboard.press("Enter")
    page.wait_for_url("**/workloads?q=digits*")


def test_suggestion_is_chosen_by_mouse(visit: Visit) -> None:
    page = visit.open("/workloads/bundled/digits/mlp_64/sgd?release=1")
    visit.type_words("#search", "softmax sgd")
    options(page).filter(has_text="softmax on Digits, SGD").first.click()
    page.wait_for_url("**/workloads/bundled/digits/softmax/sgd?release=1")


def test_navigation_takes_one_line_on_a_phone(explorer: Site) -> None:
    with explorer.visiting(NARROW) as visit:
        page = visit.open("/docs/words")
        links = page.locator("header nav a")
        tops = {links.nth(at).evaluate("link => link.offsetTop") for at in range(links.count())}
        assert len(tops) == 1
        expect(page.locator("header nav a[aria-current]")).to_have_text(["Docs"])
