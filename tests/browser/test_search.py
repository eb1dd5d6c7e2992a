"""Search fields suggest workloads while words are typed."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import violations
from tests.browser.visit import Visit

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("field", ["#search", "#find"])
def test_suggestion_is_chosen_by_keyboard(visit: Visit, field: str) -> None:
    page = visit.open("/")
    visit.type_words(field, "mlp 64 adam")
    options = page.locator(f"{field}-suggestions [role=option]")
    expect(options).to_have_text(["bundled/digits/mlp_64/adam"])
    assert violations(page, "everything") == []
    page.keyboard.press("ArrowDown")
    assert options.first.get_attribute("aria-selected") == "true"
    page.keyboard.press("Enter")
    page.wait_for_url("**/workloads/bundled/digits/mlp_64/adam")


def test_escape_closes_suggestions_and_enter_searches(visit: Visit) -> None:
    page = visit.open("/")
    visit.type_words("#search", "digits")
    options = page.locator("#search-suggestions [role=option]")
    expect(options).to_have_count(8)
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    page.keyboard.press("Enter")
    page.wait_for_url("**/workloads?q=digits*")


def test_suggestion_is_chosen_by_mouse(visit: Visit) -> None:
    page = visit.open("/workloads/bundled/digits/mlp_64/sgd?release=1")
    visit.type_words("#search", "softmax sgd")
    page.locator("#search-suggestions [role=option]", has_text="digits/softmax/sgd").first.click()
    page.wait_for_url("**/workloads/bundled/digits/softmax/sgd?release=1")
