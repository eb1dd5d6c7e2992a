"""The target slider of the workload page by keyboard: its updates match what the server renders."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visit import Visit
from tests.servers.processes import wait_until

pytestmark = pytest.mark.slow

PATH = "/workloads/bundled/digits/mlp_64/nesterov_momentum?target=0.025"
READY = ".slide.ready"
SAID = ("#answer", "#key-figures", "#study-rows", ".slide output", "#scaling .ways", "#other-workloads")


def _said(page: Page) -> dict[str, str | None]:
    texts = {place: page.locator(place).text_content() for place in SAID}
    return texts | {"title": page.title(), "spoken": page.locator("#slider").get_attribute("aria-valuetext")}


def test_arrow_key_updates_the_page_to_the_next_target(visit: Visit) -> None:
    page = visit.open(PATH, READY)
    before = _said(page)
    page.locator("#slider").press("ArrowRight")
    page.locator("#answer:not(.stale)").wait_for()
    visit.settle(READY)
    after = _said(page)
    assert all(after[place] != before[place] for place in ("#answer", ".slide output", "#scaling .ways", "spoken"))
    drawn = page.locator("#scaling").get_attribute("data-drawn") or ""
    target = page.locator("#target").input_value()
    assert f"target={target}" in drawn
    page.wait_for_url(f"**target={target}**")
    copied = page.url
    page.goto("about:blank")
    page.goto(copied)
    wait_until(lambda: _said(page) == after, "the page at this address says the same")


def test_key_figures_update_before_the_service_responds(visit: Visit) -> None:
    page = visit.open(PATH, READY)
    page.route("**/*", lambda _: None)
    before = page.locator("#key-figures").inner_text()
    page.locator("#slider").press("End")
    expect(page.locator("#key-figures")).not_to_have_text(before, use_inner_text=True)
    spoken = page.locator("#slider").get_attribute("aria-valuetext") or ""
    assert page.locator("#target").input_value() in spoken


def test_critical_batch_size_estimates_open_in_place(visit: Visit) -> None:
    page = visit.open(PATH, READY)
    page.get_by_role("heading", name="How sure is the critical batch size?").click()
    page.get_by_role("link", name="Show all estimates").click()
    table = page.get_by_role("table", name="Estimates of the critical batch size")
    table.wait_for()
    first = table.get_by_role("row").nth(1).inner_text().split("\t")[1:]
    shown = page.locator("#answer").inner_text()
    assert all(number.strip() in shown for number in first)


def test_estimates_that_cannot_be_loaded_are_said(visit: Visit) -> None:
    visit.expected_statuses.add(502)
    page = visit.open(PATH, READY)
    page.route("**/v1/analysis/critical-batch-size**", lambda route: route.fulfill(status=502, body="<html>"))
    page.get_by_role("heading", name="How sure is the critical batch size?").click()
    page.get_by_role("link", name="Show all estimates").click()
    said = page.get_by_text("The estimates couldn't be loaded. The service answered 502: try again later.")
    said.wait_for()
