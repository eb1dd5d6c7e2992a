"""The curve viewer: its state is its address, colours follow a fact, and 2,000 curves answer at once."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from losslake.figures.outliers import largest_usual
from tests.browser.pictures import ALLOWED, difference
from tests.browser.quiet import median_times
from tests.browser.visit import Site, Visit, change_answers
from tests.servers.processes import wait_until

pytestmark = pytest.mark.slow

WORKLOAD = "bundled/digits/mlp_64/nesterov_momentum"
STUDY = f"{WORKLOAD}/64"
DRAWN = ".viewer[data-drawn]"
THREE = "&".join(
    f"workload=bundled/digits/{name}" for name in ("mlp_64/sgd", "mlp_64/momentum", "mlp_16/nesterov_momentum")
)
NEXT_PAINT_MS = 100
# The time from an event to the task after the next frame, by type of event.
_MEASURE = """() => {
  window.times = [];
  for (const type of ['keydown', 'wheel', 'pointermove', 'pointerdown', 'pointerup', 'input']) {
    addEventListener(type, (event) => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => window.times.push([type, performance.now() - event.timeStamp]);
      requestAnimationFrame(() => channel.port2.postMessage(null));
    }, { capture: true });
  }
}"""
_COLOURS = """async (rates) => {
  const address = document.querySelector('script[src*="viewer.js"]').src.replace('viewer.js', 'viewer/colours.js');
  const { colouring } = await import(address);
  const curves = rates.map((rate) => ({ trial: String(rate) }));
  return curves.map(colouring(curves, new Map(rates.map((rate) => [String(rate), rate])), false).of);
}"""
_SMOOTHED = """async ([values, weight]) => {
  const address = document.querySelector('script[src*="viewer.js"]').src.replace('viewer.js', 'viewer/lines.js');
  const { smoothed } = await import(address);
  return [...smoothed(Float64Array.from(values), weight)];
}"""

_EXTENT = """async ([curves, direction]) => {
  const address = document.querySelector('script[src*="viewer.js"]').src.replace('viewer.js', 'viewer/extent.js');
  const { extent } = await import(address);
  const lines = curves.map((values) => {
    const steps = values.map((_, index) => index);
    return { curve: { steps }, x: steps, raw: values.map((value) => value ?? NaN) };
  });
  return extent(lines, { target: NaN, direction }, '').y;
}"""
Curve = list[float | None]
_USUAL: Curve = [2.3, 2.0, 1.2, 0.6]
_FALLING: Curve = [2.3, -4e6, -9e6]
_DIVERGING: Curve = [2.3, 4e6, None, 2e7]
_ALONE: Curve = [9.9]
_CURVES: list[list[Curve]] = [
    [_USUAL, _DIVERGING, _USUAL, _ALONE],
    [[10.8, 4.4, 3.3]],
    [_USUAL, _ALONE],
    [_ALONE, [30.0]],
    [_USUAL, _USUAL],
    [_USUAL, _FALLING, _USUAL],
]


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.evaluate("location.href")).query)


def drawn_anew(visit: Visit) -> None:
    """Wait until the view rests in the address, and is drawn."""
    visit.settle(".viewer")
    # A timer of the page's own, longer than those that were set before: it ends after them however busy the machine is.
    visit.page.evaluate("() => new Promise((rested) => setTimeout(rested, 300))")
    visit.page.locator(DRAWN).wait_for()


def test_a_link_to_a_view_shows_the_same_picture(explorer: Site, visit: Visit) -> None:
    page = visit.open(f"/viewer?study={STUDY}", DRAWN)
    page.get_by_label("Colour by").select_option("momentum")
    page.get_by_label("log steps").check()
    page.get_by_label("log values").check()
    page.get_by_label("Smoothing").fill("0.6")
    plot = page.locator(".viewer .plot")
    plot.focus()
    for key in ("+", "+", "ArrowRight", "ArrowDown"):
        plot.press(key)
    drawn_anew(visit)
    wait_until(lambda: query(page).get("log") == ["xy"] and "x" in query(page), "the address has the view")
    state = query(page)
    assert (state["colour"], state["smooth"]) == (["momentum"], ["0.6"])
    assert float(state["x"][0].split(",")[0]) > 1
    picture = plot.screenshot()
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".viewer .said")).to_contain_text("Copied")
    link = page.evaluate("navigator.clipboard.readText()")
    assert parse_qs(urlsplit(link).query) == state | {"release": ["1"]}
    with explorer.visiting() as other:
        other.open(link.removeprefix(visit.address), DRAWN)
        drawn_anew(other)
        shown = other.page.locator(".viewer .plot")
        shown.focus()
        assert query(other.page) == state | {"release": ["1"]}
        wait_until(lambda: difference(shown.screenshot(), picture) <= ALLOWED, "the link shows the same picture")
        assert other.faults == []
    plot.press("0")
    page.wait_for_url(lambda url: "x" not in parse_qs(urlsplit(url).query))


def test_curves_are_coloured_by_learning_rate(visit: Visit) -> None:
    page = visit.open(f"/studies/{STUDY}")
    page.get_by_role("link", name="Open in the curve viewer").click()
    visit.settle(DRAWN)
    plot = page.locator(".viewer .plot")
    before = plot.screenshot()
    page.get_by_label("Colour by").select_option("learning_rate")
    page.wait_for_url("**colour=learning_rate**")
    wait_until(lambda: difference(plot.screenshot(), before) > ALLOWED, "the curves have other colours")
    rows = page.evaluate("(study) => fetch(`/v1/trials?study=${study}`).then((found) => found.json())", STUDY)["rows"]
    rates = [row["parameters"]["learning_rate"] for row in rows]
    legend = page.locator(".viewer .legend").inner_text()
    assert f"{min(rates):.3g}" in legend
    assert f"{max(rates):.3g}" in legend
    # Entries 0, 112 and 225 of viridis: even in the logarithm, without its end, which is too light for the ground.
    colours = page.evaluate(_COLOURS, [0.01, 0.1, 1])
    assert colours == ["#440154", "#26828e", "#b0dd2f"]


def test_curves_are_reached_by_keyboard_and_lead_to_their_trials(visit: Visit) -> None:
    page = visit.open(f"/viewer?study={STUDY}&target=0.05", DRAWN)
    parameters = f"workload={WORKLOAD}&batch_size=64&metric=val/classification_error&target=0.05"
    rows: list[dict[str, Any]] = page.evaluate(
        "(query) => fetch(`/v1/steps-to-target?${query}`).then((found) => found.json())", parameters
    )["rows"]
    best = min((row for row in rows if row["steps"] is not None), key=lambda row: (row["steps"], row["trial_id"]))
    plot = page.locator(".viewer .plot")
    plot.focus()
    plot.press("PageDown")
    said = page.locator(".viewer .said")
    expect(said).to_contain_text(f"Trial {best['trial_id']}: outcome reached, steps to target {best['steps']}")
    plot.press("Enter")
    page.wait_for_url(f"**/trials/{STUDY}/{best['trial_id']}?**")


def test_every_batch_size_gets_its_own_chart_without_moving_the_view(visit: Visit) -> None:
    page = visit.open(f"/workloads/{WORKLOAD}")
    page.get_by_role("link", name="Open all curves in the curve viewer").click()
    visit.settle(DRAWN)
    assert page.get_by_label("one chart per batch size").is_checked()
    plot = page.locator(".viewer .plot")
    assert page.get_by_label("log steps").is_checked()
    said = "704 curves; the thick ones are the best trials of each batch size, the first to reach the target."
    expect(page.locator(".viewer .notes")).to_contain_text(said)
    height = "(plot) => plot.getBoundingClientRect().height"
    tall = plot.evaluate(height)
    page.get_by_label("one chart per batch size").uncheck()
    wait_until(lambda: plot.evaluate(height) < tall, "one chart for all batch sizes is lower")


def test_selected_curve_is_drawn_at_its_values_on_every_axis(explorer: Site, visit: Visit) -> None:
    page = visit.open(f"/viewer?study={STUDY}", DRAWN)
    plot = page.locator(".viewer .plot")
    plot.focus()
    plot.press("PageDown")
    page.wait_for_url("**selected=**")
    page.get_by_label("log values").check()
    page.get_by_label("Smoothing").fill("0.6")
    drawn_anew(visit)
    plot.focus()
    picture = plot.screenshot()
    with explorer.visiting() as other:
        other.open(page.url.removeprefix(visit.address), DRAWN)
        drawn_anew(other)
        expect(other.page.locator(".viewer .said")).to_contain_text("Trial ")
        shown = other.page.locator(".viewer .plot")
        shown.focus()
        wait_until(lambda: difference(shown.screenshot(), picture) <= ALLOWED, "the selected curve is where it was")
        assert other.faults == []


def test_pointed_curve_says_what_was_measured(visit: Visit) -> None:
    page = visit.open(f"/viewer?study={STUDY}", DRAWN)
    box = page.locator(".viewer .plot").bounding_box()
    assert box is not None
    said = page.locator(".viewer .said")
    for share in np.linspace(0.1, 0.9, 30):
        page.mouse.move(box["x"] + box["width"] / 3, box["y"] + share * box["height"])
        page.evaluate("() => new Promise(requestAnimationFrame)")
        if said.inner_text():
            break
    match = re.match(r"Trial (\d+):.*; at step (\d+): (\S+)$", said.inner_text())
    assert match
    query = f"trial={STUDY}/{match[1]}&metric=val/classification_error"
    rows = page.evaluate("(query) => fetch(`/v1/curves?${query}`).then((found) => found.json())", query)["rows"]
    assert {row["step"]: str(row["value"]) for row in rows}[int(match[2])] == match[3]


def test_outcome_of_trials_that_dont_count_is_not_known(explorer: Site, visit: Visit) -> None:
    def flag_and_stop(answer: dict[str, Any]) -> None:
        missed = [row for row in answer["rows"] if row["steps"] is None]
        answer["rows"] = [row for row in answer["rows"] if row not in missed[:3]]
        missed[3]["stopped_earlier"] = True

    change_answers(visit.page, explorer, "/v1/steps-to-target.json", flag_and_stop)
    page = visit.open(f"/viewer?study={STUDY}", DRAWN)
    legend, notes = page.locator(".viewer .legend"), page.locator(".viewer .notes")
    expect(legend).to_contain_text("flagged (3)")
    expect(legend).to_contain_text("not known: stopped at an easier goal (1)")
    expect(notes).to_contain_text("3 trials are flagged and count for no target")
    expect(notes).to_contain_text("1 trial stopped at an easier goal: whether it would reach this one isn't known.")


@pytest.mark.parametrize(
    ("query", "note"),
    [
        (f"trial={STUDY}/33", "1 curve. The dashed line is the target, val/classification_error < 0.035."),
        (f"study={STUDY}&target=0.001", "64 curves; the thick one is the best trial, the one with the best value."),
        (f"study={STUDY}&metric=train/cross_entropy_error", "The dashed line is a proposed target, "),
        (f"study={STUDY}&log=y&target=0", "No line shows the target, val/classification_error < 0: it has no place"),
    ],
)
def test_notes_say_what_is_drawn(visit: Visit, query: str, note: str) -> None:
    page = visit.open(f"/viewer?{query}", DRAWN)
    expect(page.locator(".viewer .notes")).to_contain_text(note)


def test_change_of_the_metric_clears_the_target(visit: Visit) -> None:
    page = visit.open(f"/viewer?study={STUDY}&target=0.05", DRAWN)
    page.locator("#subject select[name=metric]").select_option("val/cross_entropy_error")
    page.wait_for_url("**metric=val%2Fcross_entropy_error**")
    visit.settle(DRAWN)
    assert query(page).get("target") is None
    expect(page.locator("#subject input[name=target]")).not_to_have_value("0.05")


def test_address_that_cannot_be_shown_is_said(visit: Visit) -> None:
    other = f"{WORKLOAD}/8/1"
    page = visit.open(f"/viewer?study={STUDY}&colour=nothing&selected={other}&smooth=0.555", DRAWN)
    said = page.locator(".viewer .said")
    expect(said).to_contain_text('These trials don\'t differ in "nothing": colours show outcome.')
    expect(said).to_contain_text(f"Trial {other} isn't among these curves.")
    page.get_by_label("log steps").check()
    page.wait_for_url("**log=x**")
    assert query(page)["smooth"] == ["0.555"]
    expect(page.locator(".viewer output")).to_have_text("0.555")


def test_curves_that_fail_to_load_are_said_and_the_scale_stays(explorer: Site, visit: Visit) -> None:
    def make_many(answer: dict[str, Any]) -> None:
        for row in answer["rows"]:
            row["n_evaluations"] = 100_000

    change_answers(visit.page, explorer, "/v1/trials.json", make_many)
    page = visit.open(f"/viewer?study={STUDY}", DRAWN)
    expect(page.locator(".viewer .notes")).to_contain_text("Thinned")
    visit.expected_statuses.add(503)
    trouble = {"detail": "The service is busy."}
    page.route("**/v1/curves.json*", lambda route: route.fulfill(status=503, json=trouble))
    page.get_by_label("log steps").click()
    expect(page.locator(".viewer .said")).to_have_text("The curves couldn't be loaded. The service is busy.")
    expect(page.get_by_label("log steps")).not_to_be_checked()
    assert "log" not in query(page)


def test_wheel_between_charts_zooms_the_nearest(visit: Visit) -> None:
    page = visit.open(f"/viewer?workload={WORKLOAD}&panels=size", DRAWN)
    plot = page.locator(".viewer .plot")
    plot.focus()
    box = plot.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 3, box["y"] + 110)
    page.mouse.wheel(0, -80)
    page.wait_for_url("**y=**")
    first, last = map(float, query(page)["x"][0].split(","))
    steps = page.evaluate("(path) => fetch(`/v1/trials?study=${path}`).then((found) => found.json())", f"{WORKLOAD}/1")
    assert 0 <= first < last == pytest.approx(max(row["last_step"] for row in steps["rows"]), rel=1e-4)


def test_smoothing_is_the_debiased_moving_average_and_says_so(visit: Visit) -> None:
    page = visit.open(f"/viewer?study={STUDY}&smooth=0.5", DRAWN)
    # By hand, weight 0.5: 4; (0.5·4 + 2)/1.5 = 8/3; NaN stays; (0.25·4 + 0.5·2 + 1)/1.75 = 12/7.
    first, second, odd, third = page.evaluate(_SMOOTHED, [[4, 2, float("nan"), 1], 0.5])
    assert (first, second, third) == (pytest.approx(4), pytest.approx(8 / 3), pytest.approx(12 / 7))
    assert odd != odd
    said = "Smoothed: exponential moving average of all evaluations, weight 0.5, debiased"
    expect(page.locator(".viewer .notes")).to_contain_text(said)


@pytest.mark.parametrize("direction", ["minimize", "maximize", None])
def test_first_view_reaches_as_far_as_the_axis_of_figures(visit: Visit, direction: str | None) -> None:
    page = visit.open(f"/viewer?study={STUDY}", DRAWN)
    for curves in _CURVES:
        values = np.array([np.nan if value is None else value for curve in curves for value in curve])
        steps = np.array([step for curve in curves for step in range(len(curve))])
        starts = np.cumsum([0, *(len(curve) for curve in curves[:-1])]).tolist()
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        if direction != "maximize":
            high = min(high, largest_usual(values, steps, starts))
        if direction != "minimize":
            low = max(low, -largest_usual(-values, steps, starts))
        pad = (high - low) * 0.03 or abs(high) * 0.1
        assert page.evaluate(_EXTENT, [curves, direction]) == pytest.approx([low - pad, high + pad])


def test_two_thousand_curves_answer_within_a_tenth_of_a_second(visit: Visit) -> None:
    page = visit.open(f"/viewer?{THREE}&log=xy", DRAWN)
    expect(page.locator("main")).to_contain_text("2,000 trials")
    page.evaluate(_MEASURE)

    def moving() -> dict[str, float]:
        page.evaluate("window.times = []")
        move_about(page)
        page.locator(DRAWN).wait_for()
        times: dict[str, list[float]] = {}
        for kind, milliseconds in page.evaluate("window.times"):
            times.setdefault(kind, []).append(milliseconds)
        return {kind: sorted(each)[int(0.98 * (len(each) - 1))] for kind, each in times.items()}

    slowest = median_times(moving)
    print("2,000 curves, event to next paint in ms, 98th percentiles:", json.dumps(slowest))
    assert set(slowest) >= {"keydown", "wheel", "pointermove"}
    assert {kind: took for kind, took in slowest.items() if took >= NEXT_PAINT_MS} == {}


def move_about(page: Page) -> None:
    """Zoom and move by keyboard, wheel and pointer, as fast as a hand does."""
    plot = page.locator(".viewer .plot")
    plot.focus()
    for key in ("+", "+", "ArrowRight", "-", "PageDown", "0") * 3:
        plot.press(key)
        page.wait_for_timeout(120)
    box = plot.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    for turn in range(20):
        page.mouse.wheel(0, -80 if turn % 2 else 100)
        page.wait_for_timeout(30)
    page.mouse.down()
    for turn in range(30):
        page.mouse.move(x + 8 * turn, y + 3 * turn)
        page.wait_for_timeout(15)
    page.mouse.up()
    for turn in range(20):
        page.mouse.move(x + 9 * turn, y - 5 * turn)
        page.wait_for_timeout(15)
