"""What another process answers is what this one would have answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from tests.applications import without_sql

WORKLOAD = "shelf/mnist/cnn/sgd"
GOAL = f"workload={WORKLOAD}&metric=val/classification_error&target=0.3"
PATHS = [
    f"/v1/scaling?{GOAL}",
    f"/v1/scaling.csv?{GOAL}&release=1",
    f"/v1/scaling.parquet?{GOAL}",
    f"/v1/scaling?{GOAL}&colour=red",
    "/v1/scaling?workload=nobody/has/this/one",
    f"/v1/analysis/regimes?{GOAL}",
    f"/v1/figures/scaling.vl.json?{GOAL}",
    f"/v1/figures/scaling.svg?{GOAL}",
    f"/v1/figures/scaling.csv?{GOAL}",
    f"/embed/scaling?{GOAL}",
    f"/workloads/{WORKLOAD}",
]


@pytest.fixture(scope="module")
def clients(lake: Lake) -> Iterator[tuple[TestClient, TestClient]]:
    """Clients of a service that answers everything itself, and of one that answers nothing itself."""
    alone = TestClient(without_sql(lake, expensive_seconds=1e9, answer_cache_mb=0))
    never = TestClient(
        without_sql(lake, expensive_seconds=0.0, answer_cache_mb=0, question_client_seconds=0.0, question_places=1)
    )
    with alone, never:
        yield alone, never


@pytest.mark.parametrize("path", PATHS)
def test_answers_of_another_process_are_the_same(clients: tuple[TestClient, TestClient], path: str) -> None:
    alone, forwarded = (client.get(path) for client in clients)
    assert forwarded.status_code == alone.status_code
    if alone.status_code == 200:
        assert forwarded.content == alone.content
    varying = ("x-request-id",) + (() if alone.status_code == 200 else ("content-length",))
    headers = [{k: v for k, v in each.headers.items() if k not in varying} for each in (forwarded, alone)]
    assert headers[0] == headers[1]


def test_tools_of_assistants_are_answered_by_another_process(clients: tuple[TestClient, TestClient]) -> None:
    arguments = {"workload": [WORKLOAD], "metric": "val/classification_error", "target": 0.3}
    call = {"name": "scaling", "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {"accept": "application/json, text/event-stream"}
    results = [client.post("/mcp", json=message, headers=headers).json()["result"] for client in clients]
    assert results[0] == results[1]
    assert not results[0].get("isError")


def test_unmodified_answers_cost_nothing(clients: tuple[TestClient, TestClient]) -> None:
    never = clients[1]
    path = f"/v1/analysis/regimes?{GOAL}"
    tag = never.get(path).headers["etag"]
    before = answered(never)
    assert never.get(path, headers={"If-None-Match": tag}).status_code == 304
    assert answered(never) == before > 0


def test_browsers_get_a_page_of_the_problem(lake: Lake) -> None:
    with TestClient(without_sql(lake, expensive_seconds=0.0, question_seconds=1e-9)) as client:
        response = client.get(f"/workloads/{WORKLOAD}", headers={"accept": "text/html"})
    assert (response.status_code, response.headers["content-type"]) == (422, "text/html; charset=utf-8")
    assert "The question takes too long" in response.text


def answered(client: TestClient) -> float:
    name = 'losslake_expensive_questions_total{outcome="answered"}'
    lines: list[Any] = [line for line in client.get("/metrics").text.splitlines() if line.startswith(name)]
    return float(lines[0].rpartition(" ")[2]) if lines else 0.0
