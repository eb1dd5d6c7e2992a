"""Every chart can be shown elsewhere: in a frame, which only its own page allows, as a picture, and in a notebook."""

from __future__ import annotations

import ast
import re
from html import unescape
from types import SimpleNamespace
from urllib.parse import urlencode, urlsplit

import pytest
from fastapi.testclient import TestClient

import losslake
from losslake.figures.charts import kinds
from losslake.lake.lake import Lake
from losslake.library import result
from losslake_service.web.code_lines import notebook_cell
from losslake_service.web.templates import subject_page
from tests.made_up_lake import ERROR
from tests.service.web.reading import Page
from tests.service.web.test_charts import GOAL, PAGES, SGD, charts

SELF = "http://localhost"
EMBEDDED = f"/embed/scaling?{urlencode({'workload': SGD, **GOAL})}"


def shares(chart: str) -> list[str]:
    """The lines under Share: link, image, iframe, notebook cell."""
    return Page(chart).lines[-4:]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.split("/")[1].partition("?")[0] or "home")
def test_every_chart_has_lines_to_share_that_work(client: TestClient, path: str) -> None:
    for chart in charts(client.get(path).text):
        link, image, frame, cell = shares(chart)
        page, _, name = link.partition("#")
        assert "release=1" in page
        assert name in Page(client.get(page).text).ids or path == "/"
        picture = unescape(image.partition('src="')[2].partition('"')[0])
        assert urlsplit(picture).path.endswith(".svg")
        embedded = client.get(unescape(frame.partition('src="')[2].partition('"')[0]))
        assert embedded.status_code == 200
        assert Page(embedded.text).loads
        tree = ast.parse(cell)
        assert [type(node) for node in tree.body] == [ast.Import, ast.Expr]
        assert cell.startswith(f'import losslake; losslake.open("{SELF}").')


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.split("/")[1].partition("?")[0] or "home")
def test_the_cell_of_a_notebook_draws_the_chart(client: TestClient, lake: Lake, path: str) -> None:
    library = SimpleNamespace(open=lambda _: losslake.open(lake.folder))
    for chart in charts(client.get(path).text):
        *_, cell = shares(chart)
        figure = eval(cell.removeprefix("import losslake; "), {"losslake": library})
        (live,) = [link for link in Page(chart).links if ".vl.json" in link]
        drawn, expected = figure.vega_lite(), client.get(live).json()
        assert drawn["datasets"] == expected["datasets"]
        assert drawn["description"] == expected["description"]


def test_the_library_knows_the_figure_of_every_answer() -> None:
    found = {kind.answer.rpartition("/")[2]: kind.name for kind in kinds()}
    assert {answer: name for answer, name in found.items() if answer != name} == result._FIGURES


def test_only_the_page_of_an_embedded_chart_may_be_framed(client: TestClient) -> None:
    assert "frame-ancestors *" in client.get(EMBEDDED).headers["content-security-policy"]
    browser = {"accept": "text/html"}
    for path in ("/", f"/workloads/{SGD}", "/docs", "/embed/nothing", "/embed/scaling?workload=no", "/data/1/"):
        policy = client.get(path, headers=browser).headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert policy.count("frame-ancestors") == 1


def test_an_embedded_page_is_small_and_has_the_chart_its_title_and_its_source(client: TestClient) -> None:
    response = client.get(EMBEDDED)
    page = Page(response.text)
    assert len(response.content) < 4000
    assert page.scripts == ["module"]
    assert not {"set-cookie", "x-frame-options"} & response.headers.keys()
    assert f"/workloads/{SGD}?metric=val/classification_error&target=0.25&release=1" in page.links
    assert "LossLake, release 1" in response.text
    (heading,) = re.findall("<h1[^>]*>(.*?)</h1>", response.text)
    assert unescape(heading).startswith(f"Steps to {ERROR} < 0.25")
    assert all("release=1" in each for each in page.loads if each.startswith("/v1/"))
    for link in page.links:
        assert client.get(link).status_code == 200


def test_an_embedded_page_says_what_its_chart_leaves_out(client: TestClient) -> None:
    facts = client.get(f"/v1/scaling?{urlencode({'workload': SGD, **GOAL})}").json()
    assert facts["left_out"]
    text = unescape(client.get(EMBEDDED).text)
    assert [each for each in facts["left_out"] if f"<li>{each}</li>" not in text] == []


def test_every_kind_of_chart_can_be_embedded(client: TestClient) -> None:
    for kind in kinds():
        assert client.get(f"/embed/{kind.name}?title=x&no=1").status_code == 422, kind.name


def test_a_title_is_that_of_the_page_and_the_chart_and_is_escaped(client: TestClient) -> None:
    text = client.get(f"{EMBEDDED}&title=%3Cscript%3E&height=300&theme=dark").text
    assert "<title>&lt;script&gt; · LossLake</title>" in text
    assert "title=%3Cscript%3E" in text
    assert 'data-height="300"' in text
    assert "theme=dark" in text
    assert "theme=light" in text


def test_an_embedded_page_of_a_named_release_is_kept_and_revalidated(client: TestClient) -> None:
    first = client.get(f"{EMBEDDED}&release=1")
    assert "immutable" in first.headers["cache-control"]
    assert "no-cache" in client.get(EMBEDDED).headers["cache-control"]
    again = client.get(f"{EMBEDDED}&release=1", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    assert client.head(EMBEDDED).status_code == 200


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            [("workload", "c/d/m/o"), ("target", "0.1"), ("points", "9"), ("release", "2")],
            "/workloads/c/d/m/o?target=0.1&release=2",
        ),
        ([("workload", "c/d/m/o"), ("batch_size", "8")], "/studies/c/d/m/o/8"),
        ([("study", "c/d/m/o/8"), ("metric", "a/b")], "/studies/c/d/m/o/8?metric=a/b"),
        ([("trial", "c/d/m/o/8/1"), ("trial", "c/d/m/o/8/2")], "/studies/c/d/m/o/8"),
        ([("trial", "c/d/m o/o/8/1")], "/trials/c/d/m%20o/o/8/1"),
        ([("workload", "c/d/m/o"), ("workload", "c/d/m/p")], "/compare?workload=c/d/m/o&workload=c/d/m/p"),
    ],
)
def test_a_chart_leads_to_the_page_about_what_it_shows(query: list[tuple[str, str]], expected: str) -> None:
    assert subject_page(query) == expected


def test_a_notebook_cell_draws_the_answer() -> None:
    query = [("workload", "c/d/m/o"), ("metric", "val/e"), ("target", "0.05"), ("status", "A"), ("status", 'B"')]
    assert notebook_cell("https://lake.example", "/v1/scaling", query) == (
        'import losslake; losslake.open("https://lake.example")'
        '.scaling("c/d/m/o", metric="val/e", target=0.05, status=["A", "B\\""]).plot()'
    )
    assert ".target_sweep(" in notebook_cell("x", "/v1/analysis/target-sweep", [])
