"""An embedded chart in the page of another site, and the lines to share a chart."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, expect

from tests.browser.accessibility import violations
from tests.browser.chromium import NAME
from tests.browser.visit import Site, Visit

pytestmark = pytest.mark.slow

WORKLOAD = "bundled/digits/mlp_64/nesterov_momentum"
EMBEDDED = f"/embed/scaling?workload={WORKLOAD}&metric=val/classification_error&target=0.05&release=1"
SIZES = {"wide": (900, 560), "narrow": (380, 480)}


def framed(visit: Visit, elsewhere: str, path: str) -> FrameLocator:
    """Show a page of the service in a frame of a page that has another origin, on a machine that may reach it."""
    visit.page.goto(f"{elsewhere}/robots.txt")
    visit.page.set_content(f'<title>A blog</title><iframe src="{NAME}{path}" width="900" height="560"></iframe>')
    visit.faults.clear()
    return visit.page.frame_locator("iframe")


def test_another_site_frames_the_chart_and_nothing_else(explorer: Site) -> None:
    with explorer.visiting() as visit:
        frame = framed(visit, explorer.url, EMBEDDED)
        frame.locator(".live canvas").wait_for()
        assert visit.faults == []
        assert visit.context.cookies() == []
    for path in (f"/workloads/{WORKLOAD}", "/", "/embed/scaling?workload=no"):
        with explorer.visiting() as visit:
            refused = framed(visit, explorer.url, path).get_by_text("refused to connect").first
            refused.wait_for(state="attached")
            assert visit.page.frames[1].url == "chrome-error://chromewebdata/"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_embedded_chart_fits_its_frame_and_passes_axe(visit: Visit, size: str, scheme: str) -> None:
    width, height = SIZES[size]
    visit.page.set_viewport_size({"width": width, "height": height})
    visit.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page = visit.open(EMBEDDED, ".live canvas")
    assert violations(page) == []
    overhang = page.evaluate("() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    if shots := os.environ.get("SHOTS"):
        page.screenshot(path=Path(shots) / f"embed-{size}-{scheme}.png")
    assert overhang[0] <= width
    assert overhang[1] <= height


def test_an_embedded_chart_shows_a_picture_without_scripts(explorer: Site) -> None:
    with explorer.visiting(javascript=False) as visit:
        visit.page.goto(NAME + EMBEDDED)
        visit.page.locator("img").wait_for()
        assert visit.page.locator("img").evaluate("(img) => img.complete && img.naturalWidth > 0")
        assert visit.faults == []


def test_the_keyboard_leads_to_the_chart_and_the_source_opens_beside_the_frame(visit: Visit) -> None:
    page = visit.open(EMBEDDED, ".live canvas")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "plot"
    page.keyboard.press("ArrowRight")
    expect(page.locator(".said")).not_to_be_empty()
    with visit.context.expect_page() as trial:
        page.keyboard.press("Enter")
    trial.value.wait_for_url(f"{NAME}/studies/{WORKLOAD}/**")
    page.get_by_role("link", name="LossLake, release 1").focus()
    with visit.context.expect_page() as opened:
        page.keyboard.press("Enter")
    opened.value.wait_for_url(f"{NAME}/workloads/{WORKLOAD}**")
    assert page.url.startswith(f"{NAME}/embed/")


def test_a_click_on_a_batch_size_opens_its_trials_beside_the_frame(visit: Visit) -> None:
    page = visit.open(EMBEDDED, ".live canvas")
    page.locator(".plot").focus()
    page.keyboard.press("ArrowRight")
    ring = page.locator(".ring").bounding_box()
    assert ring
    with visit.context.expect_page() as trial:
        page.mouse.click(ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2)
    trial.value.wait_for_url(f"**/studies/{WORKLOAD}/*?metric=val/classification_error&target=0.05&release=1")
    assert page.url.startswith(f"{NAME}/embed/")


def test_share_copies_link_image_iframe_and_notebook_cell(visit: Visit) -> None:
    visit.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visit.open(f"/workloads/{WORKLOAD}", ".live canvas")
    figure = page.locator("figure#scaling")
    figure.locator("summary").focus()
    page.keyboard.press("Enter")
    copied = []
    for tool in ("Link", "Image", "Iframe", "Notebook"):
        figure.get_by_label("Code for").select_option(label=tool)
        figure.get_by_role("button", name=re.compile("^(Copy|Copied)$")).click()
        copied.append(page.evaluate("() => navigator.clipboard.readText()"))
    if shots := os.environ.get("SHOTS"):
        figure.screenshot(path=Path(shots) / "share.png")
    link, image, frame, cell = copied
    assert link.startswith(f"{NAME}/workloads/{WORKLOAD}?")
    assert image.startswith(f'<img src="{NAME}/v1/figures/scaling.svg?')
    assert frame.startswith(f'<iframe src="{NAME}/embed/batch-size?')
    assert cell.startswith(f'import losslake; losslake.open("{NAME}").scaling("{WORKLOAD}", metric=')
