"""The live figure by keyboard and mouse: on its page, in a lesson, and in a frame of another site."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from tests.browser.accessibility import violations
from tests.browser.chromium import NAME
from tests.browser.test_embed import framed
from tests.browser.visit import Site, Visit
from tests.servers.processes import wait_until

pytestmark = pytest.mark.slow

SGD = "bundled/digits/mlp_64/sgd"
GOAL = "metric=val/classification_error&target=0.035"
READY = "#live-figure .slide.ready"
CHART = "#scaling .live canvas"


def caption(page: Page | FrameLocator) -> str:
    return page.locator("#caption").inner_text()


def batch_sizes(page: Page) -> list[int]:
    """Return the ends of the zoom, in words above the chart."""
    return [int(each.replace(",", "")) for each in re.findall(r"[\d,]+", page.locator(".zoomed").inner_text())]


def test_arrow_key_moves_the_caption_at_once_and_the_address_later(visit: Visit) -> None:
    page = visit.open(f"/batch-size?workload={SGD}&{GOAL}", READY)
    before = caption(page)
    assert "At the goal" not in before
    page.locator("#slider").press("End")
    assert "At the goal, val/classification_error < 0.035, these are 16, 512 and 32." in caption(page)
    page.wait_for_url(lambda url: "target=0.035" not in url)
    assert page.url.startswith(f"{NAME}/batch-size?workload={SGD}&metric=val/classification_error&target=")
    target = page.url.rpartition("=")[2]
    expect(page.locator("#scaling")).to_have_attribute("data-drawn", re.compile(f"target={target}"))
    assert f"target={target}" in (page.locator("#as-it-is").get_attribute("href") or "")
    expect(page.locator("#live-figure .about a")).to_have_attribute("href", re.compile(f"target={target}"))
    moved = caption(page)
    page.reload()
    wait_until(lambda: caption(page) == moved, "the page at this address says the same")


def test_stops_of_a_workload_are_one_request_and_captions_need_no_more(visit: Visit) -> None:
    stops: list[str] = []
    visit.page.on("request", lambda request: stops.append(request.url) if "/target-stops/" in request.url else None)
    page = visit.open(f"/batch-size?workload={SGD}&{GOAL}", READY)
    page.route("**/*", lambda _: None)
    captions = set()
    for _ in range(4):
        page.locator("#slider").press("ArrowRight")
        captions.add(caption(page))
    assert len(captions) > 1
    assert len(stops) == 1


def test_workload_is_found_by_words_and_shown_in_place(visit: Visit) -> None:
    page = visit.open(f"/batch-size?workload={SGD}&{GOAL}", READY)
    picker = page.locator(".picker input")
    picker.click()
    expect(picker).to_have_value("")
    picker.press_sequentially("nothing like it")
    picker.press("Enter")
    assert picker.evaluate("(input) => input.validationMessage") == "No workload has these words."
    picker.fill("softmax nesterov")
    picker.press("Enter")
    page.wait_for_url("**/batch-size?workload=bundled/digits/softmax/nesterov_momentum&**")
    expect(page.locator(".picker input")).to_have_value("softmax on Digits, Nesterov momentum \u00b7 Bundled studies")
    page.locator(READY).wait_for()
    page.locator(CHART).wait_for()
    expect(page.locator("#slider")).to_be_focused()
    page.locator(".picker input").focus()
    page.keyboard.press("Tab")
    expect(page.locator(".picker input")).to_have_value("softmax on Digits, Nesterov momentum \u00b7 Bundled studies")


def test_mouse_and_keys_zoom_into_batch_sizes_and_out(visit: Visit) -> None:
    page = visit.open(f"/batch-size?workload={SGD}&{GOAL}", CHART)
    box = page.locator(CHART).bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.4, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, middle, steps=4)
    page.mouse.up()
    page.locator(".zoomed").wait_for()
    low, high = batch_sizes(page)
    assert 1 < low < high < 1024
    assert page.url.startswith(f"{NAME}/batch-size")
    page.locator("#scaling .plot").press("+")
    wait_until(lambda: batch_sizes(page)[0] > low, "the chart shows fewer batch sizes")
    page.locator("#slider").press("ArrowRight")
    assert page.locator(".zoomed").is_visible()
    page.locator("#scaling .plot").press("0")
    page.locator(".zoomed").wait_for(state="detached")


def test_batch_size_opens_its_trials_at_the_target(visit: Visit) -> None:
    page = visit.open(f"/batch-size?workload={SGD}&{GOAL}", CHART)
    page.locator("#scaling .plot").press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{NAME}/studies/{SGD}/1?metric=val/classification_error&target=0.035&release=1")


def test_figure_works_in_the_page_of_another_site(explorer: Site) -> None:
    with explorer.visiting() as visit:
        frame = framed(visit, explorer.url, f"/embed/batch-size?workload={SGD}&{GOAL}")
        frame.locator(READY).wait_for()
        before = caption(frame)
        frame.locator("#slider").press("End")
        wait_until(lambda: caption(frame) != before, "the caption follows the slider")
        picker = frame.locator(".picker input")
        picker.fill("softmax sgd")
        picker.press("Enter")
        expect(frame.locator(".picker input")).to_have_value("softmax on Digits, SGD \u00b7 Bundled studies")
        frame.locator(CHART).wait_for()
        with visit.context.expect_page() as opened:
            frame.get_by_role("link", name="More about this workload").click()
        opened.value.wait_for_url("**/workloads/bundled/digits/softmax/sgd?**")
        assert visit.faults == []
        assert visit.context.cookies() == []


def test_figure_alone_chooses_a_workload_without_scripts(explorer: Site) -> None:
    # Not in a frame: scripts of a frame of another site are switched off only once it is being loaded.
    with explorer.visiting(javascript=False) as visit:
        page = visit.page
        page.goto(f"{explorer.address}/embed/batch-size?workload={SGD}&{GOAL}")
        page.locator(".picker input").fill("bundled/digits/softmax/sgd")
        page.get_by_role("button", name="Show").click()
        expect(page.locator(".picker input")).to_have_value("softmax on Digits, SGD \u00b7 Bundled studies")
        assert str(page.locator("img").evaluate("(img) => img.alt")).startswith("Steps to")
        assert visit.faults == []


@pytest.mark.parametrize("width", [380, 900])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_embedded_figure_fits_its_frame_and_passes_axe(visit: Visit, width: int, scheme: str) -> None:
    visit.page.set_viewport_size({"width": width, "height": 800})
    visit.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page = visit.open(f"/embed/batch-size?workload={SGD}&{GOAL}", CHART)
    assert violations(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_lesson_shows_the_live_figure_in_place_of_its_picture(visit: Visit) -> None:
    page = visit.open("/docs/lesson", READY)
    page.locator(CHART).wait_for()
    assert page.locator("img[src*='regimes.svg']").count() == 0
    before = caption(page)
    page.locator("#slider").press("End")
    assert caption(page) != before
    picker = page.locator(".picker input")
    picker.fill("softmax sgd")
    picker.press("Enter")
    expect(page.locator(".picker input")).to_have_value("softmax on Digits, SGD \u00b7 Bundled studies")
    assert page.url == f"{NAME}/docs/lesson"
