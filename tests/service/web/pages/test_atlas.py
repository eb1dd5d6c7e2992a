"""The page of critical batch sizes shows every number and says why others have none."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from tests.applications import without_sql
from tests.bundled import bundled_lake

PATH = "/critical-batch-sizes"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with TestClient(without_sql(bundled_lake(tmp_path_factory))) as client:
        yield client


def test_page_has_a_row_for_each_workload_of_the_answer(client: TestClient) -> None:
    rows = client.get("/v1/analysis/atlas").json()["estimates"]
    assert len(rows) == 11
    page = client.get(PATH).text
    for row in rows:
        assert f"/workloads/{row['workload']}" in page, row["workload"]
    n_known = sum(row["critical_batch_size"] is not None for row in rows)
    assert f"{n_known} of {len(rows)}" in " ".join(page.split())


def test_filters_are_in_the_page_and_its_data(client: TestClient) -> None:
    page = client.get(PATH, params={"dataset": "digits"}).text
    assert "<option selected>digits</option>" in page
    assert "/v1/analysis/atlas.json?dataset=digits" in page


def test_unknown_name_is_refused_in_a_line(client: TestClient) -> None:
    answer = client.get(PATH, params={"dataset": "nowhere"}, headers={"accept": "text/html"})
    assert answer.status_code == 422
    assert "no workload has the dataset nowhere" in answer.text


def test_chart_of_the_page_is_embedded_with_a_link_back(client: TestClient) -> None:
    embedded = client.get("/embed/atlas", params={"dataset": "digits"})
    assert embedded.status_code == 200
    assert re.search(r'href="/critical-batch-sizes\?dataset=digits&amp;release=\d+"', embedded.text)
