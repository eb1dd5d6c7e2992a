"""A reader's own run is drawn and compared in the browser; nothing of it is sent."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Locator, Page, Request, Route, expect

from tests.browser.pictures import ALLOWED, difference
from tests.browser.visit import Visit
from tests.servers.processes import wait_until

pytestmark = pytest.mark.slow

WORKLOAD = "bundled/digits/mlp_64/nesterov_momentum"
STUDY = f"{WORKLOAD}/64"
METRIC = "val/classification_error"
POINT = 1e-4
"""Share of the pixels of a chart that a single point changes at least."""
GOAL = f"metric={METRIC}&target=0.05"


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
    best = min(reached, key=lambda trial: (reached[trial], trial))
    said = give(page, csv_of([(0, 0.9), (own - 1, 0.05), (own, 0.04), (own + 9, float("nan"))]))
    expect(said).to_contain_text(
        f"Your run needs {own / median:.2g} times the steps of the median of 64 trials to {METRIC} < 0.05 "
        f"({own} rather than {median:g}); the nearest is trial {nearest} ({reached[nearest]} steps, "
        f"learning rate {rate:.3g}). It takes {own - reached[best]:,} steps more than the best stored trial, "
        f"trial {best} ({reached[best]}). 1 of its 4 evaluations isn't finite."
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


REFUSED: tuple[tuple[str, str], ...] = (
    ("", "mine.csv: There is nothing in it."),
    ("# comment\n", "mine.csv: There is nothing in it."),
    ("step,loss\n", "mine.csv: There are no rows below its heading."),
    ("step,step\n1,2\n", "mine.csv: Two columns are named step."),
    ("step,loss\n1,2,3\n", "mine.csv: Line 2 has 3 columns, line 1 has 2."),
    ("step loss acc\n1 0.5 0.5\n2 0.4\n", "mine.csv: Line 3 has 2 columns, line 1 has 3."),
    ("step,{error}\n1,0.5\n1,0.6\n", "Step 1 has two values of {error} (Line 2, Line 3): give one run."),
    ("step,{error}\n1.5,0.5\n", "Line 2: step is 1.5, but steps are whole numbers from 0."),
    ("step,{error}\n1,0.5\n2,low\n", "Line 3: {error} is “low”, which isn't a number."),
    ("step;{error}\n1;0,5\n2;0,4\n", "Line 2: {error} is “0,5”, which isn't a number."),
    ("step,{error}\n1_000,0.5\n", "Line 2: step is “1_000”, which isn't a number."),
    (
        "step,{error}\n0,0.9\n1000,0.5\n550,0.6\n700,0.04\n",
        "Line 4: step goes back from 1,000 to 550: give one run.",
    ),
    ("step\t{error}\n900\t0.5\n1.000\t0.04\n", "Line 3: step is 1.000, which may be 1 or 1,000: write"),
    ("step,{error}\n9,0.5\n7,0.6\n8,0.4\n", "Line 4: step goes up from 7 to 8: give one run."),
    ('{"step": 1, "loss": 2}\n{"step": 2,\n', "mine.csv: Line 2 isn't JSON."),
    ("[1, 2]", "mine.csv: Entry 1 isn't a JSON object."),
    ('{\n"log_history": [\n{"step": 1, "{error}": "low"}\n]\n}', "Entry 1: {error} is “low”, which isn't a number."),
    ('{"a": [{"step": 1}], "b": [{"step": 2}]}', "It has several lists of objects: a, b. Give one of them."),
    ('{"step": [1, 2], "loss": [1]}', "mine.csv: loss has 1 values, step has 2: columns are equally long."),
    ("PK\x03\x04\x00\x00", "mine.csv: This isn't text in UTF-8: save it as such, or as CSV."),
    ("step,{error}\n0,190\n1,5.1\n2,1.1\n", "Its values up to 190 are too large: {error} lies between 0 and 1."),
    (
        "step,{error}\n0,90\n1,-5\n",
        "look like percent: {error} lies between 0 and 1. They were divided by 100. But then: Its values down to -0.05",
    ),
    ("step,{error}\n0,0.9\n1,-0.1\n", "Its values down to -0.1 are too small: {error} lies between 0 and 1."),
    ("<img src=x onerror=alert(1)>,step,{error}\n1,2,0.5\n", "Your run doesn't reach"),
)


def test_what_cannot_be_read_is_said_in_a_line(visit: Visit) -> None:
    page = visit.open(f"/studies/{STUDY}?{GOAL}")
    for text, said in REFUSED:
        found = give(page, text.replace("{error}", METRIC))
        expect(found).to_contain_text(said.replace("{error}", METRIC))
        assert "the nearest is" not in found.inner_text()


def test_sentence_names_a_column_that_is_not_named_like_the_metric(visit: Visit) -> None:
    page = visit.open(f"/studies/{STUDY}?{GOAL}")
    said = give(page, csv_of([(0, 0.9), (200, 0.04)], "valid_classification_error"))
    expect(said).to_contain_text("Its values are those of the column valid_classification_error.")
    expect(give(page, csv_of([(0, 0.9), (201, 0.04)]))).to_contain_text("(201 rather than")
    expect(said).not_to_contain_text("column")


def test_a_column_given_for_a_metric_is_asked_for_in_another(visit: Visit) -> None:
    page = visit.open(f"/studies/{STUDY}?{GOAL}")
    expect(give(page, "step,value\n0,0.9\n200,0.04\n")).to_contain_text("Your run needs")
    other = "train/cross_entropy_error"
    page = visit.open(f"/studies/{STUDY}?metric={other}")
    expect(page.locator("#own").get_by_role("status")).to_contain_text(f"Choose the column of {other}")


def test_an_outdated_comparison_is_dropped(visit: Visit) -> None:
    """Stored trials that load slowly neither come back for an earlier target, nor for a run that was removed."""
    page = visit.open(f"/workloads/{WORKLOAD}?{GOAL}")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    def is_held() -> bool:
        page.title()  # routes are handled while the page is asked for something
        return bool(held)

    page.route("**/own-run/**target=0.05*", hold)
    panel = panel_of(page)
    text = csv_of([(0, 0.9), (100, 0.2), (400, 0.06), (900, 0.01)])
    panel.locator("textarea").fill(text)
    panel.get_by_label("Batch size").fill("64")
    wait_until(is_held, "the stored trials are asked for")
    page.locator("#slider").focus()
    page.locator("#slider").press("End")
    said = panel.get_by_role("status")
    expect(said).to_contain_text("rather than")
    later = said.inner_text()
    assert "< 0.05 (" not in later
    for route in held:
        route.continue_()
    visit.settle()
    assert said.inner_text() == later

    held.clear()
    page.goto(f"{visit.address}/workloads/{WORKLOAD}?{GOAL}")
    wait_until(is_held, "the stored trials are asked for again")
    page.get_by_role("button", name="Remove").click()
    for route in held:
        route.continue_()
    page.unroute("**/own-run/**target=0.05*")
    visit.settle()
    expect(said).to_have_text("")


def test_a_run_that_is_not_kept_leaves_none_behind(visit: Visit) -> None:
    page = visit.open(f"/studies/{STUDY}?{GOAL}")
    good = csv_of([(0, 0.9), (200, 0.04)])
    large = csv_of([(0, 0.9), (300, 0.04)]) + "\n" * 2_000_000
    for other, said in (
        (large, "It is too large to be kept for other pages."),
        ("step", "mine.csv: There are no rows below its heading."),
    ):
        expect(give(page, good)).to_contain_text("Your run needs")
        expect(give(page, other)).to_contain_text(said)
        page = visit.open(f"/studies/{STUDY}?{GOAL}")
        expect(panel_of(page).get_by_role("status")).to_have_text("")
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new DOMException('full'); }; }")
    expect(give(page, good)).to_contain_text("(200 rather than 221)")
    expect(give(page, good)).to_contain_text("It is too large to be kept for other pages.")


def test_a_batch_size_that_was_given_outlives_visits_to_studies(visit: Visit) -> None:
    page = visit.open(f"/workloads/{WORKLOAD}?{GOAL}")
    status = give(page, csv_of([(0, 0.9), (200, 0.04)]))
    panel_of(page).get_by_label("Batch size").fill("32")
    expect(status).to_contain_text("trials at batch size 32 to")
    page = visit.open(f"/studies/{STUDY}?{GOAL}")
    expect(page.locator("#own").get_by_role("status")).to_contain_text("the median of 64 trials to")
    page = visit.open(f"/workloads/{WORKLOAD}?{GOAL}")
    expect(page.locator("#own").get_by_role("status")).to_contain_text("trials at batch size 32 to")


def test_a_batch_size_that_changes_in_the_file_is_said(visit: Visit) -> None:
    page = visit.open(f"/studies/{STUDY}?{GOAL}")
    said = give(page, f"step,batch_size,{METRIC}\n0,256,0.9\n100,32,0.1\n200,32,0.04\n")
    expect(said).to_contain_text("Its batch size changes in its file (32, 256), and it is compared with trials at 64.")


def test_trials_that_do_not_count_are_said(visit: Visit) -> None:
    page = visit.open(f"/studies/bundled/digits/mlp_29_29_29_29/sgd/1?{GOAL}")
    expect(give(page, csv_of([(0, 0.9), (200, 0.04)]))).to_contain_text("7 diverged trials don't count.")
    page = visit.open(f"/workloads/bundled/digits/mlp_29_29_29_29/sgd?{GOAL}")
    expect(page.locator("#own").get_by_role("status")).to_contain_text("7 diverged trials don't count.")


def test_files_that_cannot_be_taken_are_refused(visit: Visit) -> None:
    page = visit.open(f"/studies/{STUDY}?{GOAL}")
    drop = """(count) => {
      const data = new DataTransfer();
      for (let at = 0; at < count; at += 1) data.items.add(new File(['step'], 'folder'));
      document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
    }"""
    page.evaluate(drop, 3)
    said = page.locator("#own").get_by_role("status")
    expect(said).to_have_text("Drop one file: 3 were dropped.")
    page.evaluate("() => { Blob.prototype.text = async () => { throw new Error('it is a folder.'); }; }")
    page.evaluate(drop, 1)
    expect(said).to_have_text("folder couldn't be read: it is a folder.")


def test_stored_trials_that_cannot_be_loaded_are_said_in_a_line(visit: Visit) -> None:
    visit.expected_statuses.add(502)
    page = visit.open(f"/studies/{STUDY}?{GOAL}")
    page.route("**/own-run/**", lambda route: route.fulfill(status=502, body="<html>Bad gateway</html>"))
    expect(give(page, csv_of([(0, 0.9), (200, 0.04)]))).to_have_text(
        "The stored trials couldn't be loaded. The service answered 502: try again later."
    )


def test_pages_without_the_panel_do_not_run_its_script(visit: Visit) -> None:
    page = visit.open("/workloads/bundled/digits/mlp_64/%2A")
    assert page.locator("#own").count() == 0
    assert page.locator("script[src*='own_run.js']").count() == 0
