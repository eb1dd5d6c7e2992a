"""The page at /: three ways in, with lines that work."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from ingest.run import ingest
from schema.lake import Lake
from schema.names import Workload
from service.examples import Example
from service.web.root_page import _statement, root_page
from tests.applications import without_sql
from tests.service.web.reading import Page


@pytest.fixture(scope="module")
def page(client: TestClient) -> Page:
    return Page(client.get("/").text)


def test_it_counts_what_there_is(page: Page) -> None:
    shown = dict(re.findall(r"<dt>(\w+)</dt>\s*<dd>([\d,]+)</dd>", page.text))
    assert shown["workloads"] == "2"
    assert shown["trials"] == "50"


def test_it_shows_three_ways_in_at_this_address(page: Page) -> None:
    starts = ("curl 'http", "losslake sql --url ", "duckdb -c ", "losslake download ", "wget ")
    assert [[line for line in page.lines if line.startswith(start)] != [] for start in starts] == [True] * 5
    assert [line for line in page.lines if "http://testserver" not in line] == []


def test_no_name_in_the_data_can_break_out_of_a_line() -> None:
    found = Example(Workload("c", "x; rm -rf ~", "m", "o"), "val/$(rm -rf ~)\"'", 0.1, 8, 1, 10)
    assert _statement(found) == "FROM workloads"
    assert _statement(replace(found, metric="val/error")) == "FROM result_at('val/error', 0.1)"


def test_it_loads_nothing_and_runs_nothing(page: Page) -> None:
    assert page.loads == ["data:,"]
    assert page.scripts == ["application/ld+json"]
    assert [link for link in page.links if not link.startswith("/")] == []


def test_it_leads_to_the_reference_the_files_and_the_openapi_document(page: Page) -> None:
    assert {"/docs", "/data/", "/openapi.json", "/v1/releases"} <= set(page.links)


def test_it_lists_the_newest_releases_first_and_not_all(tmp_path: Any, small_archive: Any) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [small_archive])
    with TestClient(without_sql(lake)) as client:
        page = Page(client.get("/").text)
    assert [link for link in page.links if link.startswith("/data/")] == ["/data/", "/data/1/"]


def test_metadata_about_the_data_is_embedded_so_that_no_text_can_end_it(client: TestClient) -> None:
    app: Any = client.app
    releases = app.state.releases
    metadata = json.dumps({"@type": "Dataset", "name": "</script><script>alert(1)</script><!--"})
    assert json.loads(embedded_in(client.get("/").text))["@type"] == "sc:Dataset"
    text = root_page(releases.view(), releases.lake.releases(), "http://testserver", metadata)
    assert Page(text).scripts == ["application/ld+json"]
    assert json.loads(embedded_in(text)) == json.loads(metadata)


def embedded_in(text: str) -> str:
    found = re.search(r'<script type="application/ld\+json">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_address_is_the_one_that_the_request_names(client: TestClient) -> None:
    page = Page(client.get("/", headers={"host": "losslake.example:8080"}).text)
    assert [line for line in page.lines if "http://losslake.example:8080" not in line] == []
