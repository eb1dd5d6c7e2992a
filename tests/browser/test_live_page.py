"""The page of a live run in a browser: drawn over stored curves, and renewed while the run goes on."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from losslake_contributions.people.tokens import create_token
from losslake_contributions.store.database import Database
from tests.browser.accessibility import violations
from tests.browser.visit import NARROW, WIDE, Scheme, Site, Visit
from tests.contributions.conftest import Sender
from tests.contributions.made_runs import ERROR, FACTS, GOALS, curve, lake_of, write_run
from tests.contributions.running import running_service
from tests.contributions.spooled_runs import Rows, SpooledRun
from tests.servers.processes import SECONDS

pytestmark = pytest.mark.slow

FALLS = [0.9, 0.6, 0.4, 0.35, 0.2, 0.1]
SEGMENTS = tuple(f"0001/00000{n}.jsonl" for n in (1, 2, 3))
OWN = {"light": (0xC2, 0x18, 0x5B), "dark": (0xFF, 0x80, 0xAB)}
ROWS = curve([0.8, 0.5, 0.45, 0.3, 0.25, 0.22, 0.2, 0.19, 0.18])
_IS_DRAWN = "(figure) => figure.dataset.drawn === figure.dataset.live || 'trouble' in figure.dataset"


@dataclass
class Live:
    """The service, and somebody who sends runs to it."""

    site: Site
    sender: Sender

    def begin(self, **facts: Any) -> tuple[SpooledRun, str]:
        """A run that was created, and the path of its page."""
        parts: dict[str, Rows] = dict(zip(SEGMENTS, (ROWS[:3], ROWS[3:6], ROWS[6:]), strict=True))
        run = SpooledRun(segments=parts, more={**FACTS, "goals": GOALS, **facts})
        link = self.sender.create(run).json()["links"]["live"]
        return run, str(link.removeprefix(self.site.url))

    def put(self, run: SpooledRun, *paths: str) -> None:
        for path in paths:
            assert self.sender.put(run, path).status_code == 201


@pytest.fixture(scope="module")
def live(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("live")
    for number, size in enumerate((8, 8, 8, 32), start=1):
        write_run(folder / "spools", number, curve([*FALLS[number - 1 :], 0.1]), batch_size=size, goals=GOALS)
    lake = lake_of(folder / "lake", folder / "spools")
    with running_service(lake) as service, httpx.Client(base_url=service.url, timeout=SECONDS) as client:
        token = create_token(Database.open(lake), "Ada", None, ("contribute",), 1, None)
        yield Live(Site(browser, service.url, service.url), Sender(client, token))


def opened(visit: Visit, path: str) -> Page:
    visit.page.goto(visit.address + path)
    return visit.page


def drawn(page: Page, number: int) -> Image.Image:
    """The picture of a figure, once it is drawn."""
    figure = page.locator("figure.chart").nth(number)
    figure.scroll_into_view_if_needed()
    page.wait_for_function(_IS_DRAWN, arg=figure.element_handle())
    assert figure.get_attribute("data-trouble") is None
    return Image.open(io.BytesIO(figure.locator(".plot").screenshot())).convert("RGB")


def shows_run(page: Page, number: int, scheme: Scheme = "light") -> None:
    """Wait until a figure has the colour of a reader's own run."""
    for _ in range(int(SECONDS * 10)):
        pixels = np.asarray(drawn(page, number)).astype(int)
        if (np.abs(pixels - OWN[scheme]).sum(axis=2) < 12).sum() > 20:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"the run isn't in figure {number}")


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_page_follows_a_run_until_its_end(live: Live, width: int, scheme: Scheme) -> None:
    run, path = live.begin()
    live.put(run, SEGMENTS[0])
    with live.site.visiting(width, scheme) as visit:
        page = opened(visit, path)
        said = page.locator("#live-said")
        expect(said).to_contain_text(f"Hasn't reached {ERROR} < 0.3 yet: its best value is 0.45, at step 20")
        shows_run(page, 0, scheme)
        live.put(run, SEGMENTS[1])
        expect(said).to_contain_text(f"Reached {ERROR} < 0.3 in 40 steps; the median of 3 trials took 30.")
        expect(page.locator("#live-last-step")).to_have_text("50")
        expect(page.locator("#live-last tr").last).to_have_text("500.22")
        shows_run(page, 1, scheme)
        # Beyond the last step of the stored curves, which is 60.
        live.put(run, SEGMENTS[2])
        expect(page.locator("#live-last-step")).to_have_text("80")
        shows_run(page, 0, scheme)
        assert live.sender.finish(run).status_code == 200
        expect(page.locator("#live-state")).to_have_text("finished: COMPLETE")
        expect(page.locator("#live-connection")).to_have_text("The run has ended. This page isn't renewed any more.")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert violations(page) == []
        assert visit.faults == []


def test_page_opened_before_the_first_measurement_shows_it(live: Live) -> None:
    run, path = live.begin(goals=[])
    with live.site.visiting() as visit:
        page = opened(visit, path)
        expect(page.locator("#live-said")).to_have_text("Nothing is measured yet.")
        live.put(run, SEGMENTS[0])
        shows_run(page, 0)
        assert visit.faults == []


def test_run_without_stored_trials_is_drawn_alone(live: Live) -> None:
    run, path = live.begin(dataset="unheard-of")
    live.put(run, SEGMENTS[0])
    with live.site.visiting() as visit:
        page = opened(visit, path)
        shows_run(page, 0)
        assert page.locator("figure.chart").count() == 1
        live.put(run, SEGMENTS[1], SEGMENTS[2])
        expect(page.locator("#live-last-step")).to_have_text("80")
        shows_run(page, 0)
        assert visit.faults == []


def test_page_without_scripts_says_as_much(live: Live) -> None:
    run, path = live.begin()
    live.put(run, *SEGMENTS)
    with live.site.visiting(javascript=False) as visit:
        page = opened(visit, path)
        expect(page.locator("#live-said")).to_contain_text("in 40 steps; the median of 3 trials took 30.")
        expect(page.locator("#live-last tr")).to_have_count(8)


def test_stream_is_only_open_while_the_page_is_seen(live: Live) -> None:
    run, path = live.begin()
    live.put(run, SEGMENTS[0])
    with live.site.visiting() as visit:
        page = opened(visit, path)
        expect(page.locator("#live-last-step")).to_have_text("20")
        page.evaluate(
            "Object.defineProperty(document, 'hidden', { value: true, configurable: true });"
            "document.dispatchEvent(new Event('visibilitychange'))"
        )
        live.put(run, SEGMENTS[1])
        page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
        expect(page.locator("#live-last-step")).to_have_text("50")
