"""Charts fit their boxes: every text is inside the picture, none lies over another, at any width."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

import pytest

from tests.browser.pages import PAGES
from tests.browser.visit import Site, Visit
from tests.servers.processes import SECONDS

pytestmark = pytest.mark.slow

WIDTHS = (320, 400, 560, 720, 1200)
WITH_CHARTS = [page for page in PAGES if page.name in {"workload", "compare", "study", "trial"}]
_LIVE = "() => [...document.querySelectorAll('figure.chart')].map((figure) => figure.dataset.live)"
_CANVASES = """() => [...document.querySelectorAll('figure.chart canvas')].map((canvas) => {
  const [inner, outer] = [canvas, canvas.closest('.plot')].map((each) => each.getBoundingClientRect());
  return inner.left - outer.left >= 0 && outer.right - inner.right >= 0;
})"""
# Rotated titles have the box of the rotated text.
_TEXTS = """() => {
  const svg = document.querySelector('svg').getBoundingClientRect();
  const boxes = [...document.querySelectorAll('svg text')].filter((text) => text.textContent.trim()).map((text) => {
    const { left, right, top, bottom } = text.getBoundingClientRect();
    return { words: text.textContent, left, right, top: top + 1, bottom: bottom - 1 };
  });
  const outside = boxes.filter((box) => box.left < svg.left - 1 || box.right > svg.right + 1 || box.top < svg.top - 2
    || box.bottom > svg.bottom + 2).map((box) => box.words);
  const over = [];
  boxes.forEach((one, at) => boxes.slice(at + 1).forEach((other) => {
    const touch = Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1
      && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 1;
    if (touch) over.push([one.words, other.words]);
  }));
  return { outside, over, n: boxes.length };
}"""


@pytest.mark.parametrize("shown", WITH_CHARTS, ids=lambda shown: shown.name)
def test_no_text_of_a_chart_is_cut_or_covered(explorer: Site, visit: Visit, shown: Any) -> None:
    visit.page.goto(visit.address + shown.path)
    addresses = visit.page.evaluate(_LIVE)
    assert addresses
    page = visit.context.new_page()
    faults: dict[tuple[str, int], Mapping[str, Any]] = {}
    for address in addresses:
        for width in WIDTHS:
            query = urlencode({"width": width, "height": 380, "captioned": "false"})
            path = address.replace(".vl.json?", ".svg?")
            with urlopen(f"{explorer.url}{path}&{query}", timeout=SECONDS) as answer:
                page.set_content(answer.read().decode())
            found = page.evaluate(_TEXTS)
            if found["outside"] or found["over"] or found["n"] < 5:
                faults[urlsplit(path).path, width] = found
    page.close()
    assert faults == {}


@pytest.mark.parametrize("width", [380, 768, 1024, 1400, 1920])
def test_no_chart_is_wider_than_its_box(explorer: Site, width: int) -> None:
    with explorer.visiting(width) as visit:
        for shown in WITH_CHARTS:
            fits = visit.open(shown.path, "figure.chart canvas").evaluate(_CANVASES)
            assert fits, shown.name
            assert all(fits), shown.name


def test_notes_of_a_chart_are_read_while_vega_loads(visit: Visit) -> None:
    page, (workload,) = visit.page, [page for page in PAGES if page.name == "workload"]
    waiting: list[Any] = []
    page.route("**/vendor/vega.js", lambda route: waiting.append(route))
    page.goto(visit.address + workload.path)
    notes = page.locator("figure.chart .notes").first
    notes.wait_for()
    assert page.locator(".live canvas").count() == 0
    before = notes.inner_text()
    waiting[0].continue_()
    page.wait_for_selector(workload.ready)
    assert notes.inner_text() == before
