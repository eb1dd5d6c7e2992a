"""From the start page, a reader's own run comes over the stored curves of its workload, and none of it is sent."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, Page, Request, expect

import losslake.record
from tests.browser.own_run_modules import in_modules
from tests.browser.visit import NARROW, Site, Visit
from tests.ingest.formats.tensorboard_files import FILE, event, event_file, simple

pytestmark = pytest.mark.slow

WORKLOAD = "bundled/digits/mlp_64/nesterov_momentum"
VALUES = [(step, 0.9 * math.exp(-step / 120) + 0.03) for step in range(0, 420, 20)]
EVENTS = event_file(
    event(1000 + step / 20, step, simple("eval/classification_error", value), simple("train/loss", value))
    for step, value in VALUES
)


def csv_of(scale: float = 1, batch_size: str = "64") -> bytes:
    lines = [f"{step},{scale * value!r},{batch_size},{1000 + step / 20}" for step, value in VALUES]
    return "\n".join(["global_step,eval/classification_error,batch_size,wall_time", *lines]).encode()


def file_of(data: bytes, name: str) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": data}


def give(page: Page, data: bytes, name: str) -> Locator:
    """Choose a file in the box; return what it says."""
    box = page.locator("#your-run")
    box.locator("input[name=file]").set_input_files(file_of(data, name))
    return box.get_by_role("status")


def shown_over_curves(page: Page) -> str:
    """Return what the page of the workload says of the run, once its forecast is there."""
    page.wait_for_url(lambda url: f"/workloads/{WORKLOAD}?metric=" in url and url.endswith("#own"))
    panel = page.locator("#own")
    expect(panel.locator(".forecast")).to_contain_text("Forecast from")
    expect(panel.locator("#own-curves canvas")).to_be_visible()
    return panel.inner_text()


def test_table_in_percent_comes_over_curves_in_two_clicks(visit: Visit) -> None:
    page = visit.open("/")
    said = give(page, csv_of(100), "digits_mlp_64_nesterov_momentum.csv")
    expect(said).to_contain_text(
        "21 rows, steps in global_step, val/classification_error in eval/classification_error."
    )
    page.get_by_role("button", name="Show it over the stored curves").click()
    text = shown_over_curves(page)
    assert "look like percent" in text
    assert "They were divided by 100." in text
    assert page.locator("#own").get_by_label("Seconds per step").input_value() == "0.05"
    rows = page.locator("#own table tbody tr").all_inner_texts()
    stored = {
        row["batch_size"]: row["steps"]
        for row in page.evaluate(
            "(query) => fetch(`/v1/scaling?${query}`).then((found) => found.json())",
            f"workload={WORKLOAD}&metric=val/classification_error&target={page.locator('#target').input_value()}",
        )["rows"]
    }
    assert len(rows) == len([steps for steps in stored.values() if steps is not None]) > 5
    for row in rows:
        size, steps, _ = row.replace(",", "").split("\t")
        assert stored[int(size)] == int(steps)
    (at_256,) = [row for row in rows if row.startswith("256")]
    low, high = stored[256] * 0.05, stored[256] * 0.05 * 4
    assert at_256.split("\t")[2] == f"{low:.3g} s to {high:.3g} s"


def test_event_file_by_keyboard_on_a_narrow_screen(explorer: Site) -> None:
    with explorer.visiting(NARROW) as visit:
        page = visit.open("/")
        said = give(page, EVENTS, f"{FILE}.digits_mlp_64_nesterov_momentum")
        expect(said).to_contain_text("It states no batch size: give that of all devices together. Stored: 1, 2, 4")
        expect(page.locator("#your-run select")).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.type("64")
        page.keyboard.press("Enter")
        assert "trials at batch size 64" in shown_over_curves(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
        assert visit.faults == []


def test_recorded_run_and_its_workload_are_found(visit: Visit, tmp_path: Path) -> None:
    run = losslake.record.start(workload=f"mine/{WORKLOAD.removeprefix('bundled/')}", batch_size=64, folder=tmp_path)
    for step, value in VALUES:
        run.log({"val/classification_error": value}, step=step)
    run.finish("COMPLETE")
    page = visit.open("/")
    page.locator("#your-run input[name=folder]").set_input_files(str(next(tmp_path.iterdir())))
    expect(page.locator("#your-run select")).to_have_value(WORKLOAD)
    page.get_by_role("button", name="Show it over the stored curves").click()
    assert "trials at batch size 64" in shown_over_curves(page)


def test_nothing_of_the_run_is_sent(visit: Visit) -> None:
    """Two unlike runs cause the same requests, all of them GET."""
    sent: dict[str, list[tuple[str, str, str | None]]] = {}
    for name, scale in (("secret_one.csv", 1), ("secret_two.csv", 0.987)):
        requests = sent.setdefault(name, [])

        def note(request: Request, requests: list[tuple[str, str, str | None]] = requests) -> None:
            requests.append((request.method, request.url, request.post_data))

        page = visit.open("/")
        page.evaluate("sessionStorage.clear()")
        visit.context.on("request", note)
        give(page, csv_of(scale), f"mlp_64_nesterov_momentum_{name}")
        page.get_by_role("button", name="Show it over the stored curves").click()
        shown_over_curves(page)
        visit.settle()
        visit.context.remove_listener("request", note)
    one, other = (sorted(set(each)) for each in sent.values())
    assert one == other
    assert {(method, body) for method, _, body in one} == {("GET", None)}
    assert not [url for _, url, _ in one if "secret" in url]


def test_pasted_table_is_taken(visit: Visit) -> None:
    page = visit.open("/")
    page.evaluate(
        """(text) => {
          const clipboardData = new DataTransfer();
          clipboardData.setData('text', text);
          document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
        }""",
        csv_of().decode(),
    )
    expect(page.locator("#your-run").get_by_role("status")).to_contain_text("pasted columns: 21 rows")


REFUSED: tuple[tuple[bytes, str], ...] = (
    (b"", "mine.csv: There is nothing in it."),
    (b"step,loss\n", "mine.csv: There are no rows below its heading."),
    (b"\x00\x01\xff\xfe" * 9, "mine.csv: This isn't text in UTF-8"),
    (b"time,val/accuracy\n1,0.5\n", "No column is named like steps: the next page asks for it."),
    (b"step,val/accuracy\n1,0.5\n", "Its names don't say its workload: check the one that is proposed by the metric."),
    (b"step,happiness\n1,0.5\n", "No column is named like a metric of this workload"),
    (b'{"log_history": []}', "mine.csv: There are no values in it."),
    (
        b'{"train_batch_size": 8, "log_history": [{"step": 1, "eval_accuracy": 0.5}]}',
        "It says only train_batch_size 8, without the number of devices and accumulated steps",
    ),
)


def test_what_is_wrong_or_missing_is_said_in_a_line(visit: Visit) -> None:
    page = visit.open("/")
    for data, text in REFUSED:
        expect(give(page, data, "mine.csv")).to_contain_text(text)
    page.evaluate("Object.defineProperty(Blob.prototype, 'size', { get: () => 2e8 })")
    expect(give(page, csv_of(), "mine.csv")).to_contain_text("mine.csv has 200 MB, and at most 40 MB are read")
    expect(page.locator("#your-run button")).to_be_hidden()


def test_proposals_follow_names_metrics_and_goals(visit: Visit) -> None:
    page = visit.open("/studies/bundled/digits/mlp_64/nesterov_momentum/64")

    def row(workload: str, metrics: list[str], target: float | None) -> dict[str, object]:
        _, dataset, model, optimizer = workload.split("/")
        goals = [] if target is None else [{"metric": metrics[0], "target": target}]
        return {"workload": workload, "dataset": dataset, "model": model, "optimizer": optimizer, "metrics": metrics,
                "goals": goals, "n_trials": 1}  # fmt: skip

    rows = [
        row("a/imagenet/resnet50/lars", ["val/accuracy"], 0.759),
        row("a/imagenet/resnet50/sgd", ["val/loss"], 2.0),
        row("a/wikipedia/bert/lamb", ["val/accuracy"], 0.72),
        row("a/lm1b/transformer/adam", ["val/loss"], 3.9),
        row("a/lm1b/tiny/adam", ["val/loss"], 0.01),
    ]
    body = """ranked(argument[0], readTable(argument[1]), argument[2])
      .map(({ row, match }) => [row.workload, match?.metric ?? null])"""
    for text, words, best in (
        ("step,eval_acc\n1,70\n", "resnet-50 imagenet", ("a/imagenet/resnet50/lars", "val/accuracy")),
        ("step,eval_acc\n1,0.7\n", "bert", ("a/wikipedia/bert/lamb", "val/accuracy")),
        ("step,eval_loss\n1,9\n2,4.1\n", "run 7", ("a/lm1b/transformer/adam", "val/loss")),
        ("step,happiness\n1,9\n", "my lm1b tiny", ("a/lm1b/tiny/adam", None)),
    ):
        assert tuple(in_modules(page, body, [rows, text, words])[0]) == best, words


def test_box_is_hidden_without_scripts(explorer: Site) -> None:
    with explorer.visiting(javascript=False) as visit:
        visit.page.goto(f"{visit.address}/")
        expect(visit.page.locator("#your-run")).to_be_hidden()


def test_run_of_earlier_form_is_still_read(visit: Visit) -> None:
    """A run that an earlier version of the page stored in the tab has no facts."""
    page = visit.open(f"/workloads/{WORKLOAD}")
    kept = {"name": "mine.csv", "text": csv_of().decode(), "values": {}, "step": "global_step"}
    page.evaluate("(text) => sessionStorage.setItem('losslake-own-run', text)", json.dumps(kept))
    page = visit.open(f"/workloads/{WORKLOAD}")
    expect(page.locator("#own .lead")).to_contain_text("Your run")
