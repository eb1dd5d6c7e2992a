"""The documentation by keyboard and on a phone: its filter of paths, and contents that open and close."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.visit import NARROW, Site, Visit


@pytest.fixture
def phone(explorer: Site) -> Iterator[Visit]:
    """A narrow window; whatever goes wrong in it fails the test."""
    with explorer.visiting(NARROW) as visit:
        yield visit
        assert visit.faults == []


def test_words_typed_leave_the_paths_that_have_them_and_enter_leads_to_the_first(visit: Visit) -> None:
    page = visit.open("/docs")
    shown = page.locator("#paths li:not([hidden])")
    before = shown.count()
    page.get_by_label("Filter the paths").press_sequentially("figures curves")
    expect(shown).to_have_text(["/v1/figures/curves.{ending}"])
    expect(page.locator("#filtered")).to_have_text(f"1 of {before} paths")
    assert page.url.endswith("/docs?q=figures+curves")
    page.keyboard.press("Enter")
    expect(page.locator("[id='/v1/figures/curves.ending']")).to_be_in_viewport()
    page.reload()
    expect(shown).to_have_count(1)


def test_contents_on_a_phone_open_by_keyboard_and_close_once_they_led_somewhere(phone: Visit) -> None:
    page = phone.open("/docs/methods")
    link = page.locator("#contents").get_by_role("link", name="Critical batch size")
    expect(link).to_be_hidden()
    page.locator("#contents summary").focus()
    page.keyboard.press("Enter")
    expect(link).to_be_visible()
    link.focus()
    page.keyboard.press("Enter")
    expect(link).to_be_hidden()
    expect(page.get_by_role("heading", name="Critical batch size", exact=True)).to_be_in_viewport()


def test_an_example_of_the_schema_is_run_on_the_sql_page(visit: Visit) -> None:
    page = visit.open("/docs/schema#result_at")
    page.locator("section", has=page.locator("#result_at")).get_by_role("link", name="Open in the SQL page").click()
    visit.settle(".rows")
    expect(page.locator(".rows").first).to_contain_text("n_reached")
