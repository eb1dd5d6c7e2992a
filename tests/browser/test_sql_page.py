"""The SQL page by keyboard and mouse: completion, results, charts, sharing, downloads, history."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Download, Page, expect

from tests.browser.visit import Site, Visit

pytestmark = pytest.mark.slow

SLOW = "SELECT count(*) FROM range(100000) a, range(100000) b, range(1000) c"
COMPARED = (
    "SELECT optimizer, batch_size, steps FROM result_at('val/classification_error', 0.05) WHERE steps IS NOT NULL"
)


def completed(page: Page, text: str, wanted: str) -> None:
    """Type a text and accept the first completion."""
    page.keyboard.type(text)
    page.locator(".cm-tooltip-autocomplete li", has_text=wanted).first.wait_for()
    expect(page.locator(".cm-tooltip-autocomplete li[aria-selected=true]")).to_contain_text(wanted)
    # Within 75 ms of its coming, CodeMirror takes no key for a choice from its list.
    page.wait_for_timeout(100)
    page.keyboard.press("Enter")


def write(page: Page, statement: str) -> None:
    """Replace the statement in the editor."""
    page.locator(".cm-content").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(statement)


def run(page: Page) -> None:
    page.keyboard.press("Control+Enter")
    expect(page.locator("#cancel")).to_be_hidden()


def downloaded(page: Page, name: str) -> bytes:
    with page.expect_download() as event:
        page.get_by_role("button", name=name, exact=True).click()
    download: Download = event.value
    return Path(download.path()).read_bytes()


def test_sql_is_completed_run_plotted_and_shared_by_keyboard(explorer: Site, visit: Visit) -> None:
    page = visit.open("/sql", ".cm-content")
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.type("SELECT ")
    completed(page, "batch_si", "batch_size")
    page.keyboard.type(", steps")
    page.keyboard.press("Escape")
    page.keyboard.type(" ")
    completed(page, "FROM resu", "result_at")
    page.keyboard.press("End")
    page.keyboard.type(" WHERE model = ")
    completed(page, "'mlp_6", "mlp_64")
    page.keyboard.type(" AND optimizer = ")
    completed(page, "'sg", "sgd")
    expect(page.locator("#q")).to_have_value(
        "SELECT batch_size, steps FROM result_at('val/classification_error', 0.045) "
        "WHERE model = 'mlp_64' AND optimizer = 'sgd'"
    )
    run(page)
    expect(page.locator("#status")).to_contain_text("11 rows in ")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Run")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("Copied")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{visit.address}/sql?q=SELECT")
    assert link.endswith("&release=1")
    page.get_by_role("button", name="Chart").press("Enter")
    visit.settle(".as-chart canvas")
    with explorer.visiting() as other:
        other.open(page.url.removeprefix(visit.address), ".as-chart canvas")
        expect(other.page.locator("#status")).to_contain_text("11 rows")
        assert other.faults == []


def test_chart_is_selected_and_downloaded(visit: Visit) -> None:
    page = visit.open(f"/sql?show=chart&q={quote(COMPARED)}", ".as-chart canvas")
    page.get_by_role("combobox", name="Mark").select_option("points")
    page.get_by_role("combobox", name="Colour").select_option("optimizer")
    page.get_by_label("log y").uncheck()
    visit.settle(".as-chart canvas")
    page.wait_for_url("**mark=points&log=x**")
    specification = json.loads(downloaded(page, "Vega-Lite"))
    rows = page.evaluate("(q) => fetch('/v1/sql?q=' + encodeURIComponent(q)).then((found) => found.json())", COMPARED)
    assert len(specification["data"]["values"]) == len(rows["rows"])
    assert specification["usermeta"]["losslake"] == {"release": 1, "sql": COMPARED}
    assert downloaded(page, "SVG").startswith(b"<svg")
    assert downloaded(page, "PNG").startswith(b"\x89PNG")


def test_error_is_marked_and_the_text_is_preserved(visit: Visit) -> None:
    visit.expected_statuses.add(422)
    page = visit.open("/sql", ".cm-content")
    statement = "SELECT 'ä🙂' AS a,\n  colour FROM trials"
    write(page, statement)
    run(page)
    expect(page.get_by_role("alert")).to_contain_text("Line 2, column 3: ")
    expect(page.locator(".cm-wrong")).to_have_text("colour")
    assert page.input_value("#q") == statement


def test_slow_statement_can_be_cancelled(visit: Visit) -> None:
    page = visit.open("/sql", ".cm-content")
    write(page, SLOW)
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#elapsed")).to_contain_text("Running for")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#status")).to_contain_text("Cancelled after")
    write(page, "SELECT 1 AS x")
    run(page)
    expect(page.locator("#status")).to_contain_text("1 row in ")


def test_nonfinite_values_sort_last_and_long_integers_are_exact(visit: Visit) -> None:
    values = "('nan'::DOUBLE), (2), (NULL), ('-inf'), (10), ('inf')"
    page = visit.open(f"/sql?q={quote(f'SELECT a, 9007199254740993 AS b FROM (VALUES {values}) t(a)')}", ".rows")
    shown = page.locator(".rows td:first-child")
    header = page.get_by_role("button", name="a", exact=True)
    header.click()
    expect(shown).to_have_text(["-Infinity", "2", "10", "Infinity", "NaN", "null"])
    header.click()
    expect(shown).to_have_text(["Infinity", "10", "2", "-Infinity", "NaN", "null"])
    assert set(page.locator(".rows td:last-child").all_inner_texts()) == {"9007199254740993"}


def test_history_lasts_until_it_is_cleared(visit: Visit) -> None:
    page = visit.open("/sql?q=SELECT+1+AS+first", ".rows")
    write(page, "SELECT '<b>second</b>' AS x")
    run(page)
    past = page.locator("#history .past button")
    expect(past).to_have_text(["SELECT '<b>second</b>' AS x", "SELECT 1 AS first"])
    past.last.click()
    expect(page.locator(".rows th")).to_have_text("first")
    page.go_back()
    expect(page.locator(".rows td")).to_have_text("<b>second</b>")
    page.get_by_role("button", name="Clear the history").click()
    expect(page.locator("#history")).to_be_hidden()


def test_clicked_names_are_inserted_into_the_statement(visit: Visit) -> None:
    page = visit.open("/sql", ".cm-content")
    page.keyboard.type("SELECT")
    page.keyboard.press("Escape")
    page.locator("summary", has_text="trials").click()
    page.locator("[data-table=trials] [data-column=trial_id]").click()
    page.keyboard.type(" FROM")
    page.keyboard.press("Escape")
    page.locator("[data-table=trials]").get_by_role("button", name="Insert trials").press("Enter")
    expect(page.locator("#q")).to_have_value("SELECT trial_id FROM trials")


def test_names_are_text_and_few_elements_are_controls(visit: Visit) -> None:
    page = visit.open("/sql", ".cm-content")
    assert page.locator("button, input, select, textarea, summary").count() < 60
    assert page.locator("[data-column]").count() > 200


def test_statement_runs_on_the_server_without_scripts(explorer: Site) -> None:
    with explorer.visiting(javascript=False) as visit:
        page = visit.page
        page.goto(f"{visit.address}/sql?q=SELECT+count(*)+AS+n+FROM+trials")
        page.locator(".rows").wait_for()
        expect(page.locator(".rows td")).to_have_text("7744")
        page.get_by_label("Statement").fill("SELECT 'typed' AS x")
        page.get_by_role("button", name="Run").click()
        expect(page.locator(".rows td")).to_have_text("typed")
        assert visit.faults == []
