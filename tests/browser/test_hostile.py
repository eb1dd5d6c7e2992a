"""Texts of logs and URLs are never interpreted: no script runs, nothing is loaded, no CSP rule is broken."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, unquote, urlencode, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Error, Page, expect
from starlette.routing import compile_path

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_service.web.page import PageKind
from losslake_service.web.paths import PAGES as KINDS
from tests.browser.hostile import ADDRESS, ERROR, IMAGE, SCRIPT, TRAPS, WORKLOAD, Trap, hostile_lake
from tests.browser.test_own_run import give
from tests.browser.test_your_run import give as give_in_box
from tests.browser.visit import NARROW, Site, Visit
from tests.service.running import served

pytestmark = pytest.mark.slow

# Elements that no template writes.
INJECTED = (
    "[onerror], [onload], [onclick], [src='x'], [href^='javascript:' i], [src^='javascript:' i], base[href], "
    "body base, iframe, object, script:not([src]):not([type='application/ld+json'], [type='application/json'])"
)
# A fragment has no icon of its own: opened as a page, it would have the browser look for one in vain.
_SHOW = "async (path) => { document.body.innerHTML = await (await fetch(path)).text(); }"
WAYS = [compile_path(kind.path)[0] for kind in KINDS if not kind.is_fragment]


@pytest.fixture(scope="module")
def hostile(browser: Browser, lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    """Yield a narrow window on the service over the hostile lake."""
    folder = tmp_path_factory.mktemp("served")
    with (
        served(folder, lake=str(lake.folder), sql_enabled=True, log_format="off") as running,
        Site(browser, running.url, running.url).visiting(NARROW) as visit,
    ):
        yield visit


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_hostile_text_is_never_interpreted(hostile: Visit, trap: Trap) -> None:
    hostile.faults.clear()
    hostile.expected_statuses = {trap.status} - {200}
    page = hostile.open(trap.path)
    _visit_charts(page)
    assert trap.says in page.locator("main").inner_text()
    assert page.locator(INJECTED).evaluate_all("(found) => found.map((each) => each.outerHTML)") == []
    assert page.evaluate("() => document.scrollingElement.scrollWidth - innerWidth") == 0
    assert hostile.faults == []


def test_hostile_text_in_the_stops_of_the_slider_is_never_interpreted(hostile: Visit) -> None:
    hostile.faults.clear()
    page = hostile.open("/")
    page.evaluate(_SHOW, f"/target-stops/{quote(str(WORKLOAD))}")
    hostile.settle("ol li")
    assert "<script>" in str(page.locator("ol li").first.get_attribute("data-title"))
    assert page.locator(INJECTED).evaluate_all("(found) => found.map((each) => each.outerHTML)") == []
    assert hostile.faults == []


def _visit_charts(page: Page) -> None:
    """Focus the first marks of every chart by keyboard, and hover over each: both describe the mark."""
    for plot in page.locator(".chart .plot[tabindex]").all():
        plot.focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
            place = plot.locator(".ring").bounding_box()
            assert place is not None
            page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)


def test_every_page_has_a_hostile_case() -> None:
    tried = [unquote(urlsplit(trap.path).path) for trap in TRAPS]
    assert [way.pattern for way in WAYS if not any(map(way.match, tried))] == []


# Columns whose values LossLake makes or checks itself; `parameter_configs` is of formats that have them.
NO_TEXTS = {
    *(
        "comparator",
        "content_digest",
        "contribution",
        "description",
        "direction",
        "format",
        "orcid",
        "range_in_words",
        "role",
    ),
    *("rule", "schedule_source", "source_digest", "source_sha256", "split", "status", "unit", "parameter_configs"),
}
INJECTION = ("alert(", "{{7*7}}")
TEXT = f"{IMAGE}{SCRIPT}"
DOWNLOADED = "Download is starting"
MESSAGES = [TEXT, {"type": TEXT, "html": TEXT, "data": {"steps": TEXT}, "target": TEXT, "href": ADDRESS}, ADDRESS]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return hostile_lake(tmp_path_factory.mktemp("hostile"))


def test_every_column_of_texts_has_a_hostile_one(lake: Lake) -> None:
    columns = (
        "SELECT table_schema, table_name, column_name FROM information_schema.columns WHERE data_type LIKE '%VARCHAR%'"
    )
    with open_release(lake, lake.release()) as connection:
        found: dict[str, bool] = {}
        for schema, table, column in connection.execute(columns).fetchall():
            values = connection.execute(f'SELECT DISTINCT "{column}"::VARCHAR FROM {schema}."{table}"').fetchall()
            is_hostile = any(text in str(value) for (value,) in values for text in INJECTION)
            found[column] = found.get(column, False) or is_hostile
    assert {column for column, is_hostile in found.items() if not is_hostile} == NO_TEXTS


def way_to(kind: PageKind) -> str:
    """Return a path of a kind of page that exists."""
    pattern = compile_path(kind.path)[0]
    return next(
        urlsplit(trap.path).path
        for trap in TRAPS
        if trap.status == 200 and pattern.match(unquote(urlsplit(trap.path).path))
    )


PAGES = pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.is_fragment], ids=lambda kind: kind.path)


def look_at(hostile: Visit, path: str) -> Page:
    """Open a page, whatever its status, and assert that nothing in it was interpreted."""
    hostile.faults.clear()
    hostile.expected_statuses = {400, 404, 422}
    page = hostile.open(path, "body")
    _visit_charts(page)
    assert page.locator(INJECTED).evaluate_all("(found) => found.map((each) => each.outerHTML)") == [], path
    assert hostile.faults == [], path
    return page


@PAGES
def test_no_parameter_of_a_page_is_interpreted(hostile: Visit, kind: PageKind) -> None:
    texts = [name for name, field in kind.parameters.model_fields.items() if "str" in str(field.annotation)]
    for name in [*texts, "of-nobody"]:
        look_at(hostile, f"{way_to(kind)}?{urlencode({name: TEXT})}")


@PAGES
def test_no_fragment_or_message_is_interpreted(hostile: Visit, kind: PageKind) -> None:
    page = look_at(hostile, f"{way_to(kind)}#{quote(TEXT)}")
    for message in MESSAGES:
        page.evaluate("(message) => postMessage(message, '*')", message)
    page.evaluate("(hash) => { location.hash = hash; }", ADDRESS)
    hostile.settle("body")
    assert hostile.faults == []


def test_no_answer_of_the_interface_is_interpreted(hostile: Visit) -> None:
    """Open every documented path as a page: with a subject whose texts are hostile, and with hostile parameters."""
    subjects = {"workload": str(WORKLOAD), "study": f"{WORKLOAD}/8", "title": TEXT, "step_time": "8=1"}
    paths = httpx.get(f"{hostile.address}/openapi.json").json()["paths"]
    for path, methods in paths.items():
        described = methods.get("get", {}).get("parameters", [])
        names = [each["name"] for each in described if each["in"] == "query"]
        place = path.format(release=1, place="README.md", ending="svg", paper="shallue2018", figure="4")
        known = {name: value for name, value in subjects.items() if name in names}
        if "study" in known:
            known.pop("workload", None)
        asked = [known, {name: TEXT for name in names if name != "format"}]
        if "format" in names:
            asked.append({**known, "format": "csv"})
        for query in asked:
            open_as_page(hostile, f"{place}?{urlencode(query)}")


def open_as_page(hostile: Visit, path: str) -> None:
    """Open a path; what is saved instead of shown can't be interpreted."""
    hostile.faults.clear()
    hostile.expected_statuses = {*range(400, 600)}
    try:
        answer = hostile.page.goto(hostile.address + path)
    except Error as error:
        if DOWNLOADED not in error.message:
            raise
        return
    assert answer is not None
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert (
        "html" not in answer.headers["content-type"] or "script-src 'self'" in answer.headers["content-security-policy"]
    )
    hostile.settle("html, svg, body")
    assert hostile.faults == [], path


def test_no_text_of_an_own_run_is_interpreted(hostile: Visit) -> None:
    rows = "".join(f"{step},{1 / (step + 1)},{TEXT}\n" for step in range(9))
    header = TEXT.replace(",", "").replace('"', '""')
    for path, give_run in (
        (f"/studies/{quote(str(WORKLOAD))}/8", give),
        (f"/workloads/{quote(str(WORKLOAD))}", give),
        (f"/viewer?study={quote(str(WORKLOAD))}/8", give),
        ("/", lambda page, text, name: give_in_box(page, text.encode(), name)),
    ):
        hostile.faults.clear()
        hostile.expected_statuses = set()
        page = hostile.open(path)
        for text in (f'step,"{ERROR}","{header}"\n{rows}', f'step,"{header}"\n{rows}', TEXT, f'{{"{TEXT}": "{TEXT}"'):
            said = give_run(page, text, "<img src=x onerror=alert('own')>.csv")
            expect(said).not_to_be_empty()
            hostile.settle()
        assert page.locator(INJECTED).evaluate_all("(found) => found.map((each) => each.outerHTML)") == []
        assert hostile.faults == []
