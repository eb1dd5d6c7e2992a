"""The documentation by keyboard and on a phone: filter of paths, table of contents, redirects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.visit import NARROW, Site, Visit

pytestmark = pytest.mark.slow


@pytest.fixture
def phone(explorer: Site) -> Iterator[Visit]:
    """Yield a narrow window; any error in it fails the test."""
    with explorer.visiting(NARROW) as visit:
        yield visit
        assert visit.faults == []


def test_filter_of_paths_and_enter_opens_the_first(visit: Visit) -> None:
    page = visit.open("/docs/reference")
    shown = page.locator(".paths li:not([hidden]) a")
    before = shown.count()
    page.get_by_label("Filter the paths").press_sequentially("figures curves")
    expect(shown).to_have_text(["/v1/figures/curves.{ending}"])
    expect(page.locator("#filtered")).to_have_text(f"1 of {before} paths")
    page.wait_for_url("**/docs/reference?q=figures+curves")
    page.reload()
    expect(shown).to_have_count(1)
    page.get_by_label("Filter the paths").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("GET /v1/figures/curves.{ending}")


@pytest.mark.parametrize(
    ("older", "address", "seen"),
    [
        ("/docs#files", "/docs/reference#files", "[id='files']"),
        ("/docs?q=curves", "/docs/reference?q=curves", "#filter"),
        ("/docs#problem:unknown-metric", "/docs/reference#problem:unknown-metric", "[id='problem:unknown-metric']"),
        ("/docs#/v1/scaling", "/docs/reference/v1/scaling#/v1/scaling", "[id='/v1/scaling']"),
        (
            "/docs#/v1/trials:rows[].status",
            "/docs/reference/v1/trials#/v1/trials:rows[].status",
            "[id='/v1/trials:rows[].status']",
        ),
        ("/docs#/v1/trials?status", "/docs/reference/v1/trials#/v1/trials?status", "[id='/v1/trials?status']"),
    ],
)
def test_old_url_redirects_to_its_new_place(visit: Visit, older: str, address: str, seen: str) -> None:
    page = visit.page
    page.goto(visit.address + older)
    expect(page).to_have_url(visit.address + address)
    expect(page.locator(seen).first).to_be_in_viewport()


def test_code_scrolls_on_a_phone_but_the_page_does_not(phone: Visit) -> None:
    page = phone.open("/docs/rest")
    assert page.evaluate("() => document.scrollingElement.scrollWidth") == NARROW
    widest = page.evaluate("() => Math.max(...[...document.querySelectorAll('pre')].map((pre) => pre.scrollWidth))")
    assert widest > NARROW


def test_contents_on_a_phone_open_by_keyboard_and_close_on_navigation(phone: Visit) -> None:
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


def test_schema_example_runs_on_the_sql_page(visit: Visit) -> None:
    page = visit.open("/docs/schema#result_at")
    page.locator("section", has=page.locator("#result_at")).get_by_role("link", name="Open on the SQL page").click()
    visit.settle(".rows")
    expect(page.locator(".rows").first).to_contain_text("n_reached")
