"""The comparison of all trials on a data set shows the answer; the statement below its chart gives the same rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

import losslake
from losslake.questions.trials.step_amounts import MeasureName
from losslake_service.web.code_lines import statement
from tests.applications import without_sql
from tests.bundled import bundled_lake

PATH = "/compare"
METRIC = "val/classification_error"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with TestClient(without_sql(bundled_lake(tmp_path_factory))) as client:
        yield client


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    workload = row.get("workload") or "/".join(row[name] for name in ("collection", "dataset", "model", "optimizer"))
    names = ("batch_size", "trial_id", "step", "amount", "value", "is_best", "is_on_front")
    return workload, *(row[name] for name in names)


@pytest.mark.parametrize("measure", ["steps", "examples"])
def test_sql_gives_the_same_rows(tmp_path_factory: pytest.TempPathFactory, measure: MeasureName) -> None:
    lake = losslake.open(bundled_lake(tmp_path_factory).folder)
    rows = lake.frontier("*/digits/*/*", metric=METRIC, measure=measure).to_dicts()
    text = statement("frontier", dataset="digits", metric=METRIC, measure=measure)
    assert len(rows) > 7000
    assert sorted(map(key, lake.sql(text).to_dicts())) == sorted(map(key, rows))


def test_page_lists_the_front_and_links_its_trials(client: TestClient) -> None:
    query = {"workload": "*/digits/*/*", "metric": METRIC, "measure": "examples"}
    rows = client.get("/v1/analysis/frontier", params=query).json()["rows"]
    front = [row for row in rows if row["is_on_front"]]
    best = max(front, key=lambda row: row["amount"])
    page = client.get(PATH, params={"dataset": "digits", "metric": METRIC, "measure": "examples"}).text
    assert f"/trials/{best['workload']}/{best['batch_size']}/{best['trial_id']}" in page
    assert f"{best['value']:.6g}" in page
    said = re.search(r"The (\d+) best; <a [^>]*>all as CSV", page)
    assert said is not None
    assert page.count('<th scope="row">') == int(said[1]) < len(front)


def test_page_begins_with_the_data_set_with_the_most_trials_and_the_metric_of_its_goals(client: TestClient) -> None:
    page = client.get(PATH, params={"dataset": "*"}).text
    assert "<option selected>digits</option>" in page
    assert "<option selected>val/c" in page


def test_measure_that_cannot_be_counted_is_explained_on_the_page(client: TestClient) -> None:
    answer = client.get(PATH, params={"dataset": "digits", "measure": "seconds"})
    assert answer.status_code == 200
    assert "have no times" in answer.text


def test_tokens_are_offered_only_of_a_data_set_where_they_are_known(client: TestClient) -> None:
    offered = (
        client.get(PATH, params={"dataset": "digits"})
        .text.partition('aria-label="Counted in"')[2]
        .partition("</nav>")[0]
    )
    assert "seconds" in offered
    assert "tokens" not in offered
    answer = client.get(PATH, params={"dataset": "digits", "measure": "tokens"})
    assert "say how many tokens an example has" in answer.text


@pytest.mark.parametrize(("query", "there"), [("", "dataset=%2A"), ("?dataset=digits&measure=examples",) * 2])
def test_the_former_page_leads_to_the_comparison(client: TestClient, query: str, there: str) -> None:
    moved = client.get(f"/frontier{query}", follow_redirects=False)
    assert (moved.status_code, moved.headers["location"]) == (308, f"{PATH}?{there.removeprefix('?')}")


def test_measure_that_only_comparisons_of_workloads_have_is_refused(client: TestClient) -> None:
    answer = client.get(PATH, params={"dataset": "digits", "measure": "epochs"})
    assert answer.status_code == 422
    assert "steps, examples, tokens, flops, seconds" in answer.text


@pytest.mark.parametrize(("name", "status"), [("dataset", 422), ("metric", 404)])
def test_unknown_name_is_refused_in_a_line(client: TestClient, name: str, status: int) -> None:
    answer = client.get(PATH, params={"dataset": "digits", name: "nowhere"}, headers={"accept": "text/html"})
    assert answer.status_code == status
    assert "nowhere" in answer.text


def test_embedded_chart_links_to_the_page_of_its_data_set(client: TestClient) -> None:
    query = {"workload": "*/digits/*/*", "metric": METRIC, "measure": "examples", "colour_by": "optimizer"}
    answer = client.get("/embed/frontier", params=query)
    assert answer.status_code == 200
    assert 'href="/compare?dataset=digits&amp;metric=val/classification_error&amp;measure=examples' in answer.text
