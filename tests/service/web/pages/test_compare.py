"""The page that compares workloads shows what /v1/analysis/compare says, and changes with its address alone."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from fastapi.testclient import TestClient

from tests.made_up_lake import ERROR, ODD
from tests.service.web.reading import Page

SGD, DEEP = "shelf/mnist/cnn/sgd", "shelf/deep/mnist/cnn/sgd"
BOTH: dict[str, Any] = {"workload": [SGD, DEEP], "metric": ERROR, "target": 0.25}


def opened(client: TestClient, **query: Any) -> tuple[str, Page]:
    response = client.get("/compare", params=query)
    assert response.status_code == 200, response.text
    return response.text, Page(response.text)


def queries(page: Page) -> list[list[tuple[str, str]]]:
    return [parse_qsl(urlsplit(link).query) for link in page.links if link.startswith("/compare?")]


def test_the_answer_comes_first_in_the_words_of_the_analysis(client: TestClient) -> None:
    (conclusion,) = client.get("/v1/analysis/compare", params=BOTH).json()["conclusions"]
    text, _ = opened(client, **BOTH)
    said = conclusion["in_words"].replace("<", "&lt;")
    assert said in text
    assert text.index(said) < text.index("<figure")


def test_the_table_has_the_steps_and_ratios_of_the_analysis(client: TestClient) -> None:
    rows = client.get("/v1/analysis/compare", params=BOTH).json()["rows"]
    text, _ = opened(client, **BOTH)
    table = text.partition("<tbody>")[2].partition("</tbody>")[0]
    lines = {int(line.partition(">")[2].partition("<")[0]): line for line in table.split('scope="row"')[1:]}
    assert set(lines) == {row["batch_size"] for row in rows}
    for row in rows:
        line = lines[row["batch_size"]]
        assert ("never reached" if row["steps"] is None else f">{row['steps']:,}</a>") in line
        if row["workload"] != SGD and row["steps_ratio"] is not None:
            assert f"<td>{row['steps_ratio']:.3g}" in line


def test_every_chart_is_of_the_workloads_the_goal_and_the_release(client: TestClient) -> None:
    text, _ = opened(client, **BOTH)
    for kind in ("ratio", "scaling", "profile"):
        address = text.partition(f'data-live="/v1/figures/{kind}.vl.json?')[2].partition('"')[0].replace("&amp;", "&")
        asked = parse_qsl(address)
        assert [value for name, value in asked if name == "workload"] == [SGD, DEEP]
        assert {("metric", ERROR), ("target", "0.25"), ("release", "1")} <= set(asked)
        assert client.get(f"/v1/figures/{kind}.vl.json?{address}").status_code == 200


def test_the_statements_of_the_charts_can_be_run(client: TestClient) -> None:
    app = client.app
    _, page = opened(client, **BOTH)
    statements = [line for line in page.lines if line.startswith("SELECT")]
    assert len(statements) == 3
    for statement in statements:
        rows = app.state.releases.view().cursor().execute(statement).fetchall()  # type: ignore[attr-defined]
        assert {(row[0], row[1]) for row in rows} == {("shelf", "mnist"), ("shelf/deep", "mnist")}


def test_without_workloads_the_page_offers_some(client: TestClient) -> None:
    text, _ = opened(client)
    assert text.count('name="workload"') == 2
    assert f"<option>{DEEP}</option>" in text


def test_one_workload_alone_asks_for_another(client: TestClient) -> None:
    text, page = opened(client, workload=SGD)
    assert "Choose another workload" in text
    assert [("workload", SGD), ("workload", DEEP)] in queries(page)


def test_a_workload_can_be_removed_or_made_the_baseline(client: TestClient) -> None:
    _, page = opened(client, **BOTH)
    goal = [("metric", ERROR), ("target", "0.25")]
    assert [("workload", SGD), *goal] in queries(page)
    assert [("workload", SGD), ("workload", DEEP), ("baseline", DEEP), *goal] in queries(page)


def test_another_baseline_turns_the_comparison_round(client: TestClient) -> None:
    plain, _ = opened(client, **BOTH)
    turned, _ = opened(client, **BOTH, baseline=DEEP)
    assert "shelf/deep (baseline)" not in plain
    assert "relative to shelf/deep/mnist/cnn/sgd, of the best" in " ".join(turned.split())


def test_relative_steps_begin_where_all_workloads_reach_the_target(client: TestClient) -> None:
    rows = client.get("/v1/analysis/compare", params=BOTH).json()["rows"]
    reached = [row["batch_size"] for row in rows if row["steps"]]
    start = min(size for size in reached if reached.count(size) == 2)
    text, _ = opened(client, **BOTH, scale="relative")
    assert f"normalize_to={start}" in text.partition("/v1/figures/scaling.vl.json?")[2].partition('"')[0]


def test_without_a_goal_all_workloads_come_near_to_the_target(client: TestClient) -> None:
    text, _ = opened(client, workload=[SGD, DEEP], metric=ERROR)
    assert text.count("never reached") == 0


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ({"workload": [SGD, "shelf/mnist/cnn/sgdd"]}, 404, "did you mean"),
        ({"workload": [SGD], "baseline": DEEP}, 422, "none of the workloads"),
        ({"workload": [SGD], "metric": "val/nothing"}, 404, "is not measured here"),
        ({"workload": [SGD], "metric": ODD}, 422, "which way is better"),
        ({"workload": "short"}, 422, "collection/dataset/model/optimizer"),
        ({"workload": [SGD], "target": "nan"}, 422, "target"),
        ({"workload": [SGD], "budget": "0"}, 422, "budget"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_sentence(
    client: TestClient, query: dict[str, Any], status: int, says: str
) -> None:
    response = client.get("/compare", params=query, headers={"accept": "text/html"})
    assert response.status_code == status
    assert says in response.text or says in response.text.replace("&#39;", "'")
