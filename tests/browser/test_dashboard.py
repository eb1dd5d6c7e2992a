"""The dashboard in a browser: runs of a folder are drawn while they grow, and no text of theirs is interpreted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.accessibility import violations
from tests.browser.visit import NARROW, WIDE, Scheme, Site
from tests.contributions.dashboard.recorded_runs import begin, end, loss_rows, write
from tests.contributions.dashboard.running import running_dashboard

pytestmark = pytest.mark.slow

EVIL = "<img src=x onerror=alert('run')>\u202e\u2066</script>"
DRAWN = "#viewer[data-drawn]"


@contextmanager
def dashboard(browser: Browser, folder: Path) -> Iterator[Site]:
    """The dashboard of a folder, without a lake."""
    with running_dashboard(folder) as url:
        yield Site(browser, url, url)


def opened(page: Page, url: str) -> Page:
    page.goto(url)
    page.wait_for_selector(DRAWN)
    return page


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_runs_are_shown_while_they_grow(browser: Browser, tmp_path: Path, width: int, scheme: Scheme) -> None:
    for seed, rate in ((1, 0.1), (2, 0.1), (1, 0.2)):
        run = begin(tmp_path / f"run-{rate}-{seed}", parameters={"learning_rate": rate, "seed": seed})
        write(run, loss_rows(range(20)))
    with dashboard(browser, tmp_path) as site, site.visiting(width, scheme) as visit:
        page = opened(visit.page, f"{visit.address}/live?group=settings")
        expect(page.locator(".legend")).to_contain_text("learning_rate 0.1 (2)")
        expect(page.locator("#parallel path")).to_have_count(3)
        row = page.locator("#runs tbody tr").first
        expect(row).to_contain_text("running")
        write(tmp_path / "run-0.1-1", loss_rows(range(20, 30)))
        expect(row).to_contain_text("29")
        end(tmp_path / "run-0.1-1")
        expect(row).to_contain_text("finished: COMPLETE")
        begin(tmp_path / "run-0.3-1", collection=None)
        expect(page.locator("#runs tbody tr")).to_have_count(4)
        expect(page.locator("#runs")).to_contain_text("run.json doesn't state a workload")
        page.get_by_role("searchbox", name="Runs with").fill("learning_rate=0.2")
        expect(page.locator("#runs tbody tr")).to_have_count(1)
        page.get_by_label("log values").check()
        expect(page).to_have_url(f"{visit.address}/live?group=settings&q=learning_rate%3D0.2&log=y")
        page.reload()
        page.wait_for_selector(DRAWN)
        expect(page.locator("#runs tbody tr")).to_have_count(1)
        assert page.get_by_label("log values").is_checked()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert violations(page) == []
        assert visit.faults == []


def test_no_text_of_a_run_is_interpreted(browser: Browser, tmp_path: Path) -> None:
    for number in range(2):
        run = begin(
            tmp_path / f"run-{number}", name=EVIL, tags=[EVIL] * 3, group=EVIL, parameters={EVIL: f"{EVIL}{number}"}
        )
        write(run, loss_rows(range(5), f"val/loss {EVIL}"))
    with dashboard(browser, tmp_path) as site, site.visiting() as visit:
        for query in ("", "?group=group", "?group=settings"):
            page = opened(visit.page, f"{visit.address}/live{query}")
            page.locator("#runs tbody th").first.click()
            expect(page.locator("figure .said")).to_contain_text("<img src=x")
            assert page.locator("main img").count() == 0
        assert visit.faults == []
