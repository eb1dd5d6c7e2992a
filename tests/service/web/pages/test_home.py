"""The home page: a first answer, example questions with links, and code examples that work."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_schema.names import Workload
from losslake_service.web.goals import PageGoal
from losslake_service.web.pages import home
from losslake_service.web.pages.home import _statement
from losslake_service.web.starting_example import StartingExample
from tests.applications import without_sql
from tests.service.web.pages.conftest import ERROR, STEPS
from tests.service.web.reading import Page
from tests.service.web.tables import Tables

BROWSER = {"accept": "text/html"}


@pytest.fixture(scope="module")
def page(explorer: TestClient) -> Page:
    return Page(explorer.get("/").text)


def test_home_counts_the_content_of_the_release(page: Page) -> None:
    shown = dict(re.findall(r"<dt>(\w+)</dt>\s*<dd>([\d,]+)</dd>", page.text))
    assert shown == {"workloads": "3", "studies": "8", "trials": "16", "measurements": "32", "collections": "1"}


def test_home_says_what_each_collection_covers(page: Page) -> None:
    _, row = Tables(page.text).by_class["collections"]
    assert row == ["shelf", "3", "16\u2013256", "16", "32", "not stated", "\u2013"]


def test_source_of_a_collection_is_a_link_only_if_it_is_a_web_address(
    explorer: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = dict.fromkeys(("n_workloads", "smallest", "largest", "n_trials", "n_measurements"), 1)
    texts = {"name": "shelf", "collection": "shelf", "title": "", "licence": "MIT"}
    rows = [{**texts, **counts, "source": source} for source in ("https://example.org/a", "javascript:b")]
    monkeypatch.setattr(home, "_coverage", lambda _: rows)
    # No other test asks for the page of this release.
    links = Page(explorer.get("/?release=2").text).links
    assert "https://example.org/a" in links
    assert "javascript:b" not in links


def test_home_shows_a_chart_and_its_regimes(page: Page, explorer: TestClient) -> None:
    path = "workload=shelf/mnist/cnn/momentum&metric=val/classification_error&target="
    (live,) = re.findall(r'data-live="(.*?)"', page.text)
    assert live.replace("&amp;", "&").startswith(f"/v1/figures/scaling.vl.json?{path}")
    rows = explorer.get(live.replace("&amp;", "&").replace("figures/scaling.vl.json", "scaling")).json()["rows"]
    assert {row["batch_size"]: row["steps"] for row in rows} == STEPS["mnist/cnn/momentum"]
    assert "these steps put the end at 64." in page.text
    assert "Beyond batch size 64 larger ones, up to 256, save no more steps" in page.text
    assert (
        f'property="og:image" content="http://localhost/v1/figures/scaling.png?{path}'.replace("&", "&amp;")
        in page.text
    )


def test_example_questions_link_to_their_pages(page: Page) -> None:
    links = dict(re.findall(r'<li><a href="(.*?)">(.*?)</a>', page.text))
    questions = {question: url.replace("&amp;", "&") for url, question in links.items()}
    goal = "metric=val/classification_error&target=0.11"
    compared = "workload=shelf/mnist/cnn/sgd&workload=shelf/mnist/cnn/momentum"
    models = "workload=shelf/mnist/cnn/momentum&workload=shelf/mnist/mlp/momentum"
    reached = "Which trials reached val/classification_error &lt; 0.11 at batch size 64, and with what learning rate?"
    assert questions["How far does momentum scale for cnn on MNIST?"] == f"/workloads/shelf/mnist/cnn/momentum?{goal}"
    assert questions["At which batch size does momentum stop helping?"] == f"/compare?{compared}&{goal}"
    assert questions[reached] == f"/studies/shelf/mnist/cnn/momentum/64?{goal}"
    assert questions["Which model needs the fewest steps on MNIST?"] == f"/compare?{models}&{goal}"
    assert questions["How many trials diverged, by optimizer?"].startswith("/sql?q=SELECT")


def test_home_shows_three_code_examples(page: Page) -> None:
    lines = [line for line in page.lines if not line.startswith("SELECT")]
    starts = ("curl 'http", "pandas.", "losslake sql --url ", "duckdb -c ", "losslake download ", "wget ")
    assert [any(line.startswith(start) for line in lines) for start in starts] == [True] * 6
    assert [line for line in lines if "http://localhost" not in line] == []


def test_code_examples_use_the_host_of_the_request(explorer: TestClient) -> None:
    page = Page(explorer.get("/", headers={"host": "losslake.example:8080"}).text)
    lines = [line for line in page.lines if not line.startswith("SELECT")]
    assert [line for line in lines if "http://losslake.example:8080" not in line] == []


def test_names_are_quoted_in_code_examples() -> None:
    workload = Workload("c", "x; rm -rf ~", "m", "o")
    look = StartingExample(workload, PageGoal("val/$(rm -rf ~)\"'", 0.1, "minimize"), 8)
    assert _statement(look) == "FROM workloads"
    assert _statement(replace(look, goal=replace(look.goal, metric=ERROR))) == f"FROM result_at('{ERROR}', 0.1)"


def test_home_links_to_reference_files_and_releases(page: Page) -> None:
    wanted = {"/docs", "/data/3/", "/openapi.json", "/releases", "/releases/3", "/releases/1", "/workloads"}
    assert wanted <= set(page.links)


def test_home_embeds_json_ld(page: Page, explorer: TestClient) -> None:
    match = re.search(r'<script type="application/ld\+json">(.*?)</script>', page.text, re.DOTALL)
    assert match is not None
    assert json.loads(match[1])["version"] == "3.0.0"
    # That of every page, the document, and that of the box for a run.
    assert page.scripts == ["module", "application/ld+json", "module"]


def test_empty_lake_shows_how_to_ingest(tmp_path: Path) -> None:
    with TestClient(without_sql(Lake.create(tmp_path / "lake"))) as client:
        for path in ("/", "/workloads", "/releases"):
            response = client.get(path, headers=BROWSER)
            assert response.status_code == 200
            assert "No data yet" in response.text
            assert "losslake ingest" in response.text
            assert "etag" not in response.headers
