"""REST and SQL pool the workloads that a pattern matches in the same way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from losslake_schema.names import Workload
from tests.made_up_lake import ERROR, METRICS, ODD, PRECISION, Curves
from tests.oracle import Goal, scaling_rows

PATTERN = "shelf*/mnist/c*/sgd"
COLUMNS = (
    "batch_size",
    "steps",
    "trial_workload",
    "trial_id",
    "value",
    "examples",
    "previous_step",
    "n_trials",
    "n_reached",
)


def rows_of_rest(client: TestClient, **asked: Any) -> list[dict[str, Any]]:
    answer = client.get("/v1/scaling", params={"workload": PATTERN, **asked})
    assert answer.status_code == 200, answer.text
    return [{name: row[name] for name in COLUMNS} for row in answer.json()["rows"]]


def rows_of_sql(client: TestClient, workload: str = PATTERN, **asked: Any) -> list[dict[str, Any]]:
    given = ", ".join(f"{name} := ${name}" for name in asked)
    statement = f"SELECT {', '.join(COLUMNS)} FROM pooled_result_at({given}, workload := $workload) ORDER BY batch_size"
    answer = client.post("/v1/sql", json={"sql": statement, "parameters": {"workload": workload, **asked}})
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.json()["rows"]
    return rows


@pytest.mark.parametrize("target", [0.1, 0.2, 0.3, 0.9, 0.0])
@pytest.mark.parametrize("comparator", ["strict", "inclusive"])
@pytest.mark.parametrize("metric", [METRICS[0], *(pytest.param(name, marks=pytest.mark.slow) for name in METRICS[1:])])
def test_rest_and_sql_give_the_same_pooled_curve(
    client: TestClient, metric: str, comparator: str, target: float
) -> None:
    asked: dict[str, Any] = {"metric": metric, "target": target, "comparator": comparator, "direction": "minimize"}
    assert rows_of_sql(client, **asked) == rows_of_rest(client, **asked)


def test_a_pooled_curve_is_that_of_brute_force(client: TestClient, curves: Curves) -> None:
    names = sorted(curves, key=Workload.parse)
    trials = sorted({(names.index(name), row.trial_id) for name in names for row in curves[name][ERROR]})
    pooled = [
        replace(row, trial_id=trials.index((names.index(name), row.trial_id)))
        for name in names
        for row in curves[name][ERROR]
    ]
    for target in (0.15, 0.3, 0.5):
        expected = []
        for row in scaling_rows(pooled, Goal(target)):
            at, number = trials[row["trial_id"]] if row["trial_id"] is not None else (None, None)
            row |= {"trial_id": number, "trial_workload": None if at is None else names[at]}
            expected.append({name: row[name] for name in COLUMNS})
        assert rows_of_rest(client, metric=ERROR, target=target, comparator="strict") == expected


def test_sql_takes_a_name_without_a_star_and_no_characters_of_like(client: TestClient) -> None:
    alone = "shelf/mnist/cnn/sgd"
    rows = rows_of_sql(client, alone, metric=PRECISION, target=0.2)
    assert {row["trial_workload"] for row in rows} <= {alone, None}
    assert rows
    assert not rows_of_sql(client, "shelf/mnist/c_n/%", metric=PRECISION, target=0.2)


def test_sql_refuses_a_workload_that_is_none(client: TestClient) -> None:
    statement = f"FROM pooled_result_at('{ODD}', 0.1, direction := 'minimize', workload := 'shelf/*')"
    answer = client.post("/v1/sql", json={"sql": statement})
    assert answer.status_code == 422
    assert "workload 'shelf/*' is not collection/dataset/model/optimizer" in answer.json()["detail"]


def test_lists_and_curves_take_patterns(client: TestClient) -> None:
    studies = client.get("/v1/studies", params={"workload": PATTERN, "fields": "study,batch_size"}).json()["rows"]
    assert len(studies) == 8
    rows = client.get("/v1/curves", params={"study": f"{PATTERN}/64", "metric": ERROR}).json()["rows"]
    assert {row["workload"] for row in rows} == {"shelf/mnist/cnn/sgd", "shelf/deep/mnist/cnn/sgd"}
    refused = client.get("/v1/curves", params={"study": f"{PATTERN}/65"})
    assert refused.status_code == 404
    assert refused.json()["near_matches"][0] == f"{PATTERN}/64"


@pytest.mark.parametrize("kind", ["scaling", "best", "tuning-budget", "time-cost", "doublings", "profile"])
def test_figures_draw_a_pattern_without_links_to_pages_that_it_lacks(client: TestClient, kind: str) -> None:
    asked = {"workload": PATTERN, "metric": ERROR} | ({} if kind == "best" else {"target": "0.3"})
    answer = client.get(f"/v1/figures/{kind}.vl.json", params=asked)
    assert answer.status_code == 200, answer.text
    assert "/trials/shelf" not in answer.text
    assert "/studies/shelf" not in answer.text


@pytest.mark.parametrize("path", ["/v1/figures/metaparameters.svg", "/v1/analysis/compare", "/compare"])
def test_what_pools_no_workloads_refuses_a_pattern_in_one_line(client: TestClient, path: str) -> None:
    asked = {"workload": PATTERN, "metric": ERROR, "target": "0.3"}
    answer = client.get(path, params=asked, headers={"Accept": "application/json"})
    assert answer.status_code == 422
    assert ": give one" in answer.json()["detail"]
