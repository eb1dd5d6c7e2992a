"""The pointer on a chart: it needs no aim to read a mark."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.visit import Visit

pytestmark = pytest.mark.slow

PATH = "/workloads/bundled/digits/mlp_64/nesterov_momentum?target=0.025"
OFF = 20


def test_pointer_beside_a_mark_shows_the_tooltip_of_the_nearest(visit: Visit) -> None:
    page = visit.open(PATH, "#scaling[data-drawn]")
    plot = page.locator("#scaling .plot")
    plot.focus()
    plot.press("Home")
    ring = plot.locator(".ring").bounding_box()
    expect(plot.locator(".said")).not_to_be_empty()
    said = plot.locator(".said").inner_text()
    assert ring is not None
    across, down = ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2
    page.mouse.move(across - 5, down + OFF)
    page.mouse.move(across, down + OFF)
    tip = page.locator("#vg-tooltip-element.visible")
    for part in said.split(", "):
        expect(tip).to_contain_text(part.partition(": ")[2])
    box = plot.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    tip.wait_for(state="detached")
