"""A reader's own run is drawn and compared in the browser; nothing of it is sent."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Locator, Page, Request, expect

from tests.browser.pictures import ALLOWED, difference
from tests.browser.quiet import median_times
from tests.browser.visit import Visit
from tests.servers.processes import wait_until

pytestmark = pytest.mark.slow

WORKLOAD = "bundled/digits/mlp_64/nesterov_momentum"
STUDY = f"{WORKLOAD}/64"
METRIC = "val/classification_error"
POINT = 1e-4
"""Share of the pixels of a chart that a single point changes at least."""
GOAL = f"metric={METRIC}&target=0.05"
_IN_MODULES = """async (argument) => {
  const folder = document.querySelector('script[src*="own_run.js"]').src.replace('own_run.js', 'own_run/');
  const { cellOf, readTable } = await import(`${folder}table.js`);
  const { curveOf, medianOf, stepsTo } = await import(`${folder}curve.js`);
  return BODY;
}"""


def in_modules(page: Page, body: str, argument: Any) -> Any:
    """Return the value of an expression of JavaScript that may use the functions of the scripts, and `argument`."""
    return page.evaluate(_IN_MODULES.replace("BODY", body), argument)


def csv_of(values: Sequence[tuple[int, float]], name: str = METRIC) -> str:
    return "\n".join([f"epoch,global_step,{name}", *(f"{step // 100},{step},{value}" for step, value in values)])


def file_of(text: str, name: str = "mine.csv") -> FilePayload:
    return {"name": name, "mimeType": "text/csv", "buffer": text.encode()}


def panel_of(page: Page) -> Locator:
    panel = page.locator("#own")
    if panel.get_attribute("open") is None:
        panel.locator("summary").click()
    return panel


def give(page: Page, text: str, name: str = "mine.csv") -> Locator:
    """Choose a file, and return what the page says of it."""
    panel = panel_of(page)
    panel.locator("input[type=file]").set_input_files(file_of(text, name))
    return panel.get_by_role("status")


def stored(visit: Visit, batch_size: int = 64) -> list[dict[str, Any]]:
    query = f"workload={WORKLOAD}&batch_size={batch_size}&{GOAL}"
    rows: list[dict[str, Any]] = visit.page.evaluate(
        "(query) => fetch(`/v1/steps-to-target?${query}`).then((found) => found.json())", query
    )["rows"]
    return rows


def test_sentence_is_that_by_hand(visit: Visit) -> None:
    page = visit.open(f"/studies/{STUDY}?{GOAL}")
    rows = stored(visit)
    reached = {row["trial_id"]: row["steps"] for row in rows if row["steps"] is not None}
    assert len(reached) > len(rows) / 2
    median = statistics.median([row["steps"] or 10**9 for row in rows])
    own = 3 * round(median)
    nearest = min(reached, key=lambda trial: (abs(reached[trial] - own), trial))
    trials = page.evaluate("(study) => fetch(`/v1/trials?study=${study}`).then((found) => found.json())", STUDY)["rows"]
    rate = next(row for row in trials if row["trial"] == f"{STUDY}/{nearest}")["parameters"]["learning_rate"]
    said = give(page, csv_of([(0, 0.9), (own - 1, 0.05), (own, 0.04), (own + 9, float("nan"))]))
    expect(said).to_contain_text(
        f"Your run needs {own / median:.2g} times the steps of the median of 64 trials to {METRIC} < 0.05 "
        f"({own} rather than {median:g}); the nearest is trial {nearest} ({reached[nearest]} steps, "
        f"learning rate {rate:.3g}). 1 of its 4 evaluations isn't finite."
    )


def test_nothing_of_the_run_is_sent(visit: Visit) -> None:
    """Two unlike runs cause the same requests, all of them GET."""
    asked: dict[str, list[tuple[str, str, str | None]]] = {}
    for name, text in (
        ("secret_one.csv", csv_of([(0, 0.91234), (77, 0.0123)])),
        ("secret_two.csv", csv_of([(1, 0.8), (1333, 0.7)])),
    ):
        sent: list[tuple[str, str, str | None]] = asked.setdefault(name, [])

        def note(request: Request, sent: list[tuple[str, str, str | None]] = sent) -> None:
            sent.append((request.method, request.url, request.post_data))

        visit.context.on("request", note)
        for path in (f"/studies/{STUDY}?{GOAL}", f"/viewer?study={STUDY}", f"/workloads/{WORKLOAD}?{GOAL}"):
            page = visit.open(path)
            said = give(page, text, name)
            expect(said).to_contain_text("Your run")
            visit.settle()
        visit.context.remove_listener("request", note)
    one, other = (sorted(set(each)) for each in asked.values())
    assert one == other
    assert {(method, body) for method, _, body in one} == {("GET", None)}
    assert not [url for _, url, _ in one if "secret" in url or "0.0123" in url or "1333" in url]


def test_run_is_drawn_on_curves_and_scaling_until_it_is_removed(visit: Visit) -> None:
    page = visit.open(f"/workloads/{WORKLOAD}?{GOAL}", "#scaling .live canvas")
    scaling = page.locator("#scaling .plot")
    without = scaling.screenshot()
    page = visit.open(f"/studies/{STUDY}?{GOAL}", "#curves .live canvas")
    curves = page.locator("#curves .plot")
    bare = curves.screenshot()
    expect(give(page, csv_of([(0, 0.9), (200, 0.5), (400, 0.04)]))).to_contain_text("Your run needs")
    wait_until(lambda: difference(curves.screenshot(), bare) > ALLOWED, "the run is drawn on the curves")
    page = visit.open(f"/workloads/{WORKLOAD}?{GOAL}", "#scaling .live canvas")
    # It is still there, with the batch size of the study that it was compared with.
    expect(page.locator("#own").get_by_role("status")).to_contain_text("the median of 64 trials")
    wait_until(lambda: difference(scaling.screenshot(), without) > POINT, "the run is a point of the scaling")
    page.get_by_role("button", name="Remove").click()
    wait_until(lambda: difference(scaling.screenshot(), without) < POINT, "the point is removed")
    page = visit.open(f"/viewer?study={STUDY}&{GOAL}", ".viewer[data-drawn]")
    assert page.locator("#own").get_attribute("open") is None
    give(page, csv_of([(0, 0.9), (200, 0.5), (900, 0.04)]))
    expect(page.locator(".viewer .legend")).to_contain_text("your run")


def test_slider_moves_the_target_of_the_run_too(visit: Visit) -> None:
    page = visit.open(f"/workloads/{WORKLOAD}?{GOAL}")
    panel = panel_of(page)
    panel.locator("textarea").fill(csv_of([(0, 0.9), (100, 0.2), (400, 0.06), (900, 0.01)]))
    panel.get_by_label("Batch size").fill("64")
    said = panel.get_by_role("status")
    expect(said).to_contain_text(f"to {METRIC} < 0.05 (900 rather than")
    slider = page.locator("#slider")
    slider.focus()
    slider.press("End")
    expect(said).not_to_contain_text("< 0.05 (")
    target = page.locator("#target").input_value()
    expect(said).to_contain_text(f"< {float(target):.6g}")


def test_a_file_can_be_dropped_anywhere(visit: Visit) -> None:
    page = visit.open(f"/trials/{STUDY}/33?{GOAL}")
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], 'mine.jsonl'));
          document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        '{"step": 1, "val": {"classification_error": 0.5}}\n{"step": 90, "val": {"classification_error": NaN}}\n',
    )
    expect(page.locator("#own").get_by_role("status")).to_contain_text(
        f"Your run doesn't reach {METRIC} < 0.05 within its 90 steps: its best value is 0.5."
    )


def test_columns_that_names_do_not_tell_are_asked_for(visit: Visit) -> None:
    page = visit.open(f"/studies/{STUDY}?{GOAL}")
    said = give(page, "t,a,b\n1,0.5,0.7\n2,0.04,0.03\n")
    expect(said).to_have_text("Choose the column of steps: the names don't make it clear.")
    page.locator("#own").get_by_label("Steps").select_option("t")
    expect(said).to_have_text(f"Choose the column of {METRIC}: the names don't make it clear.")
    page.locator("#own").get_by_label("Metric").select_option("b")
    expect(said).to_contain_text("Your run needs")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "mine.csv: There is nothing in it."),
        ("step,loss\n", "mine.csv: There are no rows below its heading."),
        ("step,step\n1,2\n", "mine.csv: Two columns are named step."),
        ("step,loss\n1,2,3\n", "mine.csv: Line 2 has 3 columns, line 1 has 2."),
        ("step,loss\n1,0.5\n1,0.6\n", "Step 1 has two values of loss, in lines 2 and 3: give one run."),
        ("step,loss\n1.5,0.5\n", "Line 2: step is 1.5, but steps are whole numbers from 0."),
        ("step,loss\n1,0.5\n2,low\n", "Line 3: loss is “low”, which isn't a number."),
        ('{"step": 1, "loss": 2}\n{"step": 2,\n', "mine.csv: Line 2 isn't JSON."),
        ("[1, 2]", "mine.csv: Entry 1 isn't a JSON object."),
        ("<img src=x onerror=alert(1)>,step\n1,2\n", "Your run doesn't reach"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_line(visit: Visit, text: str, said: str) -> None:
    page = visit.open(f"/studies/{STUDY}?{GOAL}")
    found = give(page, text)
    expect(found).to_contain_text(said)


TABLES: tuple[tuple[str, list[str], list[str]], ...] = (
    ("a,b\n1,2\n", ["a", "b"], ["1", "2"]),
    ("\ufeffa;b\r\n1;2\r\n", ["a", "b"], ["1", "2"]),
    ("# comment\na\tb\n1\t2\n\n", ["a", "b"], ["1", "2"]),
    ("1 2\n", ["column 1", "column 2"], ["1", "2"]),
    ('"a, ""b""",c\n"x\ny", 3\n', ['a, "b"', "c"], ["x\ny", "3"]),
    ("a,b\n1,\n", ["a", "b"], ["1", ""]),
    ('{"a": 1, "b": {"c": NaN}, "d": null, "e": [1]}', ["a", "b.c"], ["1", "NaN"]),
    ('[{"a": -Infinity}]', ["a"], ["-Infinity"]),
    ('{"a": 1}\n{"b": 2}\n', ["a", "b"], ["1", ""]),
)


def test_tables_are_read_as_they_are_written(visit: Visit) -> None:
    page = visit.open(f"/studies/{STUDY}?{GOAL}")
    for text, names, cells in TABLES:
        table = "(({ names, rows }) => [names, names.map((_, index) => cellOf(rows[0], index))])(readTable(argument))"
        assert in_modules(page, table, text) == [names, cells], text


def test_steps_and_medians_are_those_of_python(visit: Visit) -> None:
    page = visit.open(f"/studies/{STUDY}?{GOAL}")
    nan = float("nan")
    curves = [[0.5, 0.2], [nan, 0.1, 0.3], [0.1], [nan], [0.3, 0.1, 0.1]]
    curve = "{ steps: argument[0].map((_, at) => at), values: Float64Array.from(argument[0]) }"
    for values in curves:
        for direction, comparator in (("minimize", "strict"), ("minimize", "inclusive"), ("maximize", "inclusive")):
            sign = -1 if direction == "maximize" else 1
            expected = next(
                (
                    at
                    for at, value in enumerate(values)
                    if sign * value < sign * 0.1 or (comparator == "inclusive" and value == 0.1)
                ),
                None,
            )
            goal = {"target": 0.1, "direction": direction, "comparator": comparator}
            assert in_modules(page, f"stepsTo({curve}, argument[1])", [values, goal]) == expected
    for steps, median in (
        ([4, None, 2], 4),
        ([1, 2], 1.5),
        ([1, None], None),
        ([None], None),
        ([3, None, None, 1], None),
    ):
        rows = [{"steps": each} for each in steps]
        assert in_modules(page, "medianOf(argument)", rows) == median


def test_pages_without_the_panel_do_not_run_its_script(visit: Visit) -> None:
    page = visit.open("/workloads/bundled/digits/mlp_64/%2A")
    assert page.locator("#own").count() == 0
    assert page.locator("script[src*='own_run.js']").count() == 0


def test_a_file_of_a_hundred_thousand_lines_is_read_within_a_second(visit: Visit) -> None:
    page = visit.open(f"/studies/{STUDY}?{GOAL}")
    text = "step,loss,other,more\n" + "".join(f"{step},{1 / (step + 1)},{step * 2},text\n" for step in range(100_000))
    page.evaluate("(text) => { window.given = text; }", text)
    clocked = "[performance.now(), curveOf(readTable(window.given), 'step', 'loss').steps.length, performance.now()]"

    def reading() -> dict[str, float]:
        begin, n_steps, end = in_modules(page, clocked, None)
        assert n_steps == 100_000
        return {"reading": end - begin}

    times = median_times(reading)
    print(f"100,000 lines, ms: {times}")
    assert times["reading"] < 1000
