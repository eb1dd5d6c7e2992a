"""The modules of the curve viewer: lines, dots, the nearest evaluation, colours, ranges, thinning."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.visit import Site, Visit, change_answers

pytestmark = pytest.mark.slow

STUDY = "bundled/digits/mlp_64/nesterov_momentum/64"
DRAWN = ".viewer[data-drawn]"
# A drawing context that records what is drawn.
_RECORDED = """const drawn = [];
  const context = new Proxy({ measureText: () => ({ width: 60 }) }, {
    get: (known, name) => known[name] ?? ((...given) => drawn.push([name, ...given])),
    set: () => true,
  });"""
_TRACE = """({ trace }, [steps, values, view, box]) => {
  RECORDED
  const y = values.map((value) => value ?? NaN);
  trace(context, { x: steps }, y, box, view, { colour: 'red', width: 1.2 });
  return drawn.filter(([name]) => ['moveTo', 'lineTo', 'arc'].includes(name));
}""".replace("RECORDED", _RECORDED)
_AXES = """({ drawAxes }, [view, box]) => {
  RECORDED
  drawAxes(context, { box, label: '' }, view, { log: '' }, {});
  return drawn.filter(([name]) => name === 'fillText');
}""".replace("RECORDED", _RECORDED)
_NEAREST = """({ nearestLine }, [steps, values, point]) => {
  const y = values.map((value) => value ?? NaN);
  const box = { left: 0, top: 0, width: 100, height: 100 };
  const view = { x: [0, 100], y: [0, 100] };
  return nearestLine({ box, indexes: [0] }, [{ x: steps, y }], view, point)?.at ?? null;
}"""
_COLOURING = """({ colouring }, values) => {
  const curves = values.map((_, index) => ({ trial: String(index) }));
  const known = values.map((value, index) => [String(index), value]).filter(([, value]) => value !== null);
  const { of, legend } = colouring(curves, new Map(known), false);
  return [curves.map(of), legend.entries];
}"""
_THINNED = """async ({ loadCurves }, points) => {
  const request = JSON.parse(document.getElementById('viewer').dataset.request);
  return (await loadCurves({ ...request, mostEvaluations: 0, points }, false)).isThinned;
}"""
BOX = {"left": 0, "top": 0, "width": 100, "height": 100}


def call(page: Page, module: str, function: str, given: object) -> Any:
    """Return what a JavaScript function returns that is given a module of the viewer, and data."""
    code = f"""async (given) => {{
      const script = document.querySelector('script[src*="viewer.js"]').src;
      return ({function})(await import(script.replace('viewer.js', 'viewer/{module}.js')), given);
    }}"""
    return page.evaluate(code, given)


def test_steep_lines_keep_their_slope_when_zoomed(visit: Visit) -> None:
    page = visit.open(f"/viewer?study={STUDY}", DRAWN)
    # From 0 at the left edge to 1,000 times the height of the view at the right one.
    steep = [[0, 1], [0, 1000], {"x": [0, 1], "y": [0, 1]}, BOX]
    *_, (name, x, y) = call(page, "layer", _TRACE, steep)
    assert name == "lineTo"
    assert (x, y) == (pytest.approx(0.5), pytest.approx(-400))
    # Between evaluations far outside of the view on both sides, halfway in both.
    through = [[-1000, 1001], [-1000, 1001], {"x": [0, 1], "y": [0, 1]}, BOX]
    drawn = call(page, "layer", _TRACE, through)
    assert drawn[-2:] == [["moveTo", pytest.approx(-400), pytest.approx(500)], ["lineTo", pytest.approx(500), -400]]


def test_lone_evaluations_are_dots(visit: Visit) -> None:
    page = visit.open(f"/viewer?study={STUDY}", DRAWN)
    view = {"x": [0, 10], "y": [0, 10]}
    for steps, values, places in (
        ([5], [5], [(50, 50)]),
        ([1, 2, 3, 4, 5], [1, None, 3, None, None], [(10, 90), (30, 70)]),
        ([1, 2, 3], [1, 2, None], []),
    ):
        arcs = [each for each in call(page, "layer", _TRACE, [steps, values, view, BOX]) if each[0] == "arc"]
        assert [(x, y) for _, x, y, *_ in arcs] == [(pytest.approx(x), pytest.approx(y)) for x, y in places]
        assert all(2 <= 2 * radius <= 3 for _, _, _, radius, *_ in arcs)


def test_pointer_finds_every_evaluation(visit: Visit) -> None:
    page = visit.open(f"/viewer?study={STUDY}", DRAWN)
    cases: list[tuple[list[int], list[int | None], list[float], int | None]] = [
        ([50], [50], [55, 45], 0),
        ([50], [50], [80, 50], None),
        ([10, 20], [50, 50], [20, 50], 1),
        ([10, 20], [50, 50], [12, 52], 0),
        ([10, 20, 22], [50, 50, None], [21.5, 50], 1),
        ([10, 20, 30], [None, 50, None], [27, 50], 1),
    ]
    for steps, values, point, nearest in cases:
        assert call(page, "lines", _NEAREST, [steps, values, point]) == nearest


def test_legend_counts_curves_without_a_value(visit: Visit) -> None:
    page = visit.open(f"/viewer?study={STUDY}", DRAWN)
    letters = [*"aabbccddeeffgghhij", None, None, None]
    colours, entries = call(page, "colours", _COLOURING, letters)
    texts = [(entry["text"], entry["count"]) for entry in entries]
    assert texts[-2:] == [("2 other values", 2), ("not known", 3)]
    assert colours[-4:] == [entries[-2]["colour"], *3 * [entries[-1]["colour"]]]
    assert entries[-2]["colour"] != entries[-1]["colour"]
    colours, (unknown,) = call(page, "colours", _COLOURING, [0.1, 0.2, 0.3, None])
    assert (unknown["text"], unknown["count"], unknown["colour"]) == ("not known", 1, colours[-1])


def test_numbers_of_axes_are_not_cut_off(visit: Visit) -> None:
    page = visit.open(f"/viewer?study={STUDY}", DRAWN)
    texts = call(page, "axes", _AXES, [{"x": [0, 100_000], "y": [0, 1]}, BOX])
    (last,) = [x for _, text, x, _ in texts if text == "100,000"]
    assert last + 60 / 2 <= BOX["width"] + 12


def test_address_keeps_a_range_however_narrow(visit: Visit) -> None:
    page = visit.open(f"/viewer?study={STUDY}", DRAWN)
    for ends in ([1000.00001, 1000.00003], [123456.7, 123456.8], [1e-5, 1], [-1, 2_000_000]):
        link = call(page, "state", "({ linkOf }, x) => linkOf({ x }, 1)", ends)
        written = [float(end) for end in link.partition("&x=")[2].partition("&")[0].split(",")]
        assert written == pytest.approx(ends, abs=1e-5 * (ends[1] - ends[0]))
        assert all(end != 0 for end in written)


def test_curves_are_called_thinned_only_if_they_may_be(explorer: Site, visit: Visit) -> None:
    def add_other_metrics(answer: dict[str, Any]) -> None:
        for row in answer["rows"]:
            row["n_evaluations"] *= 2

    page = visit.open(f"/viewer?study={STUDY}", DRAWN)
    assert call(page, "curves", _THINNED, 4)
    change_answers(page, explorer, "/v1/trials.json", add_other_metrics)
    assert not call(page, "curves", _THINNED, 10_000)
    assert call(page, "curves", _THINNED, 4)
