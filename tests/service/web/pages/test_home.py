"""The page at /: a first answer, questions that lead to pages, and three ways in with lines that work."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_schema.names import Workload
from losslake_service.web.first_look import FirstLook
from losslake_service.web.goals import GoalShown
from losslake_service.web.pages.home import _statement
from tests.applications import without_sql
from tests.service.web.pages.conftest import ERROR, STEPS
from tests.service.web.reading import Page

BROWSER = {"accept": "text/html"}


@pytest.fixture(scope="module")
def page(explorer: TestClient) -> Page:
    return Page(explorer.get("/").text)


def test_it_counts_what_there_is(page: Page) -> None:
    shown = dict(re.findall(r"<dt>(\w+)</dt>\s*<dd>([\d,]+)</dd>", page.text))
    assert shown == {"workloads": "3", "studies": "8", "trials": "16", "measurements": "32", "collections": "1"}


def test_it_answers_a_question_at_once_with_a_chart_and_its_regimes(page: Page, explorer: TestClient) -> None:
    path = "workload=shelf/mnist/cnn/momentum&metric=val/classification_error&target="
    (live,) = re.findall(r'data-live="(.*?)"', page.text)
    assert live.replace("&amp;", "&").startswith(f"/v1/figures/scaling.vl.json?{path}")
    rows = explorer.get(live.replace("&amp;", "&").replace("figures/scaling.vl.json", "scaling")).json()["rows"]
    assert {row["batch_size"]: row["steps"] for row in rows} == STEPS["mnist/cnn/momentum"]
    assert "Doubling the batch halves the steps up to batch size 64" in page.text
    assert "Beyond batch size 64 larger ones save no more steps" in page.text
    assert (
        f'property="og:image" content="http://testserver/v1/figures/scaling.png?{path}'.replace("&", "&amp;")
        in page.text
    )


def test_its_questions_name_what_the_release_has_and_lead_to_their_pages(page: Page) -> None:
    asked = dict(re.findall(r'<li><a href="(.*?)">(.*?)</a>', page.text))
    questions = {question: url.replace("&amp;", "&") for url, question in asked.items()}
    goal = "metric=val/classification_error&target=0.11"
    compared = "workload=shelf/mnist/cnn/sgd&workload=shelf/mnist/cnn/momentum"
    models = "workload=shelf/mnist/cnn/momentum&workload=shelf/mnist/mlp/momentum"
    reached = "Which trials reached val/classification_error &lt; 0.11 at batch size 64, and with what learning rate?"
    assert questions["How far does momentum scale on mnist/cnn?"] == f"/workloads/shelf/mnist/cnn/momentum?{goal}"
    assert questions["At which batch size does momentum stop helping?"] == f"/compare?{compared}&{goal}"
    assert questions[reached] == f"/studies/shelf/mnist/cnn/momentum/64?{goal}"
    assert questions["Which model needs the fewest steps on mnist?"] == f"/compare?{models}&{goal}"
    assert questions["How many trials diverged, by optimizer?"].startswith("/sql?q=SELECT")


def test_it_shows_three_ways_in_at_this_address(page: Page) -> None:
    lines = [line for line in page.lines if not line.startswith("SELECT")]
    starts = ("curl 'http", "pandas.", "losslake sql --url ", "duckdb -c ", "losslake download ", "wget ")
    assert [any(line.startswith(start) for line in lines) for start in starts] == [True] * 6
    assert [line for line in lines if "http://testserver" not in line] == []


def test_the_address_is_the_one_that_the_request_names(explorer: TestClient) -> None:
    page = Page(explorer.get("/", headers={"host": "losslake.example:8080"}).text)
    lines = [line for line in page.lines if not line.startswith("SELECT")]
    assert [line for line in lines if "http://losslake.example:8080" not in line] == []


def test_no_name_in_the_data_can_break_out_of_a_line() -> None:
    workload = Workload("c", "x; rm -rf ~", "m", "o")
    look = FirstLook(workload, GoalShown("val/$(rm -rf ~)\"'", 0.1, "minimize"), 8)
    assert _statement(look) == "FROM workloads"
    assert _statement(replace(look, goal=replace(look.goal, metric=ERROR))) == f"FROM result_at('{ERROR}', 0.1)"


def test_it_leads_to_the_reference_the_files_and_the_releases(page: Page) -> None:
    wanted = {"/docs", "/data/3/", "/openapi.json", "/releases", "/releases/3", "/releases/1", "/workloads"}
    assert wanted <= set(page.links)


def test_metadata_about_the_data_is_embedded(page: Page, explorer: TestClient) -> None:
    found = re.search(r'<script type="application/ld\+json">(.*?)</script>', page.text, re.DOTALL)
    assert found is not None
    assert json.loads(found[1])["version"] == "3.0.0"
    assert page.scripts == ["module", "application/ld+json"]


def test_a_lake_without_a_release_is_a_page_that_says_so_and_what_to_do(tmp_path: Path) -> None:
    with TestClient(without_sql(Lake.create(tmp_path / "lake"))) as client:
        for path in ("/", "/workloads", "/releases"):
            response = client.get(path, headers=BROWSER)
            assert response.status_code == 200
            assert "Nothing is here yet" in response.text
            assert "losslake ingest" in response.text
            assert "etag" not in response.headers
