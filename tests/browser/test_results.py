"""The page of MLPerf's results in a browser: filters apply at once, and selected submissions open in the viewer."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.browser.accessibility import violations
from tests.browser.visit import NARROW, Site
from tests.service.running import served
from tests.submissions import Submitted, write_submissions

pytestmark = pytest.mark.slow

_OVERHANG = "() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
TEN = [300.0 + 7.5 * number for number in range(10)]


@pytest.fixture(scope="module")
def results(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("submissions")
    lake = Lake.create(folder / "lake")
    submissions = [
        Submitted(round_, org, "a_system_with_a_rather_long_name", "bert", times, accelerators=8 * size)
        for round_, times in (("4.0", TEN), ("3.1", TEN[:9]))
        for size, org in enumerate(("Dell", "Google", "NVIDIA"), 1)
    ]
    submissions.append(Submitted("4.0", "Dell", "another", "resnet", TEN[:5], "imagenet/resnet/lars"))
    ingest(lake, [write_submissions(folder / "mlperf-training", submissions)])
    with served(folder, lake=str(lake.folder), sql_enabled=False, log_format="off") as running:
        yield Site(browser, running.url, running.url)


def rows(page: Page) -> list[str]:
    return page.locator("table.results tr:not(.group) > th[scope=row]").all_inner_texts()


def test_a_filter_chosen_by_keyboard_applies_at_once_and_keeps_its_place(results: Site) -> None:
    with results.visiting() as visit:
        page = visit.open("/results")
        assert violations(page) == []
        box = page.get_by_role("checkbox", name=re.compile("^3.1"))
        box.focus()
        page.keyboard.press("Space")
        page.wait_for_url("**/results?round=3.1")
        expect(page.locator("#count")).to_contain_text("3 submissions, 27 runs")
        expect(box).to_be_focused()
        page.get_by_label("Sort by").select_option("time")
        page.wait_for_url("**/results?round=3.1&sort=time")
        page.get_by_role("checkbox", name=re.compile("^Google")).check()
        expect(page.locator("#count")).to_contain_text("1 submission, 9 runs")
        assert [text.split()[0] for text in rows(page)] == ["Google"]
        page.locator(".checks summary", has_text="runs missing").click()
        expect(page.locator(".checks")).to_contain_text("9 of the 10 runs that the rules require are stored")
        assert violations(page) == []
        page.reload()
        expect(page.get_by_role("checkbox", name=re.compile("^Google"))).to_be_checked()
        assert visit.faults == []


def test_curves_of_two_organisations_in_two_rounds_take_four_clicks(results: Site) -> None:
    with results.visiting() as visit:
        page = visit.open("/results")
        page.get_by_role("checkbox", name=re.compile("^BERT-large")).check()
        expect(page.locator("#count")).to_contain_text("6 submissions")
        page.get_by_role("checkbox", name="Select Google, a_system_with_a_rather_long_name, bert, round 4.0").check()
        page.get_by_role("link", name=re.compile("^Compare ?: NVIDIA.*round 3.1$")).click()
        page.locator(".viewer[data-drawn]").wait_for()
        legend = page.locator(".viewer .legend")
        expect(legend).to_contain_text("Google (10)")
        expect(legend).to_contain_text("NVIDIA (9)")
        visit.settle()
        assert visit.faults == []


def test_without_javascript_the_form_filters_and_opens_curves(results: Site) -> None:
    with results.visiting(javascript=False) as visit:
        page = visit.page
        page.goto(results.address + "/results")
        page.get_by_role("checkbox", name=re.compile("^3.1")).check()
        page.get_by_role("button", name="Show").click()
        expect(page.locator("#count")).to_contain_text("3 submissions, 27 runs")
        for org in ("Dell", "Google"):
            page.get_by_role("checkbox", name=re.compile(f"^Select {org}")).check()
        page.get_by_role("button", name="Open curves of the selected").click()
        expect(page.locator("main")).to_contain_text("18 trials")
        assert visit.faults == []


def test_page_fits_a_phone_in_the_dark(results: Site) -> None:
    with results.visiting(NARROW, "dark") as visit:
        page = visit.open("/results?round=3.1&round=4.0")
        for summary in page.locator("main summary").all()[:8]:
            summary.click()
        assert page.evaluate(_OVERHANG) == 0
        assert violations(page, "layout") == []
        assert visit.faults == []


@pytest.mark.parametrize("path", ["/results", "/workloads"])
def test_a_list_that_cannot_be_loaded_says_so(results: Site, path: str) -> None:
    with results.visiting() as visit:
        page = visit.open(path)
        page.route(f"**{path}?*", lambda route: route.fulfill(status=502, body="<html>Bad gateway</html>"))
        page.locator("form [name=q]").last.fill("dell")
        said = "The list couldn't be loaded. The service answered 502: try again later."
        expect(page.locator("#count")).to_have_text(said)
        page.unroute(f"**{path}?*")
        page.locator("form [name=q]").last.fill("google")
        page.wait_for_url(f"**{path}?q=google")
        expect(page.locator("#count")).not_to_have_text(said)
        visit.faults.clear()
