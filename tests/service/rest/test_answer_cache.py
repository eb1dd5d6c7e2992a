"""An answer asked for again is the same, comes from memory, and never from an older release than the newest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from ingest.run import ingest
from schema.lake import Lake
from service.app import create_app
from service.settings import Settings
from tests.archives import write_workload
from tests.oracle import Row
from tests.service.conftest import ERROR

GOAL = f"workload=small/mnist/cnn/sgd&metric={ERROR}&target=0.3"


@pytest.fixture
def lake(tmp_path: Path, small_archive: Path) -> Lake:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [small_archive])
    return lake


@pytest.fixture
def client(lake: Lake) -> Iterator[TestClient]:
    with TestClient(create_app(lake)) as client:
        yield client


def outcomes(client: TestClient) -> tuple[float, float]:
    """Hits and misses."""
    lines = dict(line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines() if not line.startswith("#"))
    hit, miss = (float(lines[f'losslake_answer_cache_total{{outcome="{name}"}}']) for name in ("hit", "miss"))
    return hit, miss


@pytest.mark.parametrize("path", [f"/v1/scaling?{GOAL}", f"/v1/scaling.csv?{GOAL}", "/v1/trials?limit=1"])
def test_the_same_question_is_answered_from_memory_with_the_same_bytes(client: TestClient, path: str) -> None:
    first, again = client.get(path), client.get(path)
    assert outcomes(client) == (1, 1)
    assert (again.content, again.status_code) == (first.content, 200)
    changing = {"date", "x-request-id"}
    kept, given = ({k: v for k, v in r.headers.items() if k not in changing} for r in (first, again))
    assert kept == given


def test_an_answer_that_is_known_is_not_sent_from_memory_either(client: TestClient) -> None:
    first = client.get(f"/v1/scaling?{GOAL}")
    again = client.get(f"/v1/scaling?{GOAL}", headers={"If-None-Match": f'W/"other", {first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["cache-control"] == first.headers["cache-control"]
    assert outcomes(client) == (1, 1)


def test_another_wish_is_another_answer(client: TestClient) -> None:
    assert client.get(f"/v1/scaling?{GOAL}").headers["content-type"] == "application/json"
    in_csv = client.get(f"/v1/scaling?{GOAL}", headers={"Accept": "text/csv"})
    assert in_csv.headers["content-type"] == "text/csv; charset=utf-8"
    assert outcomes(client) == (0, 2)


def test_problems_are_not_kept(client: TestClient) -> None:
    for _ in range(2):
        assert client.get("/v1/scaling?workload=small/mnist/cnn/sgf&metric=val/x&target=1").status_code == 404
    assert outcomes(client) == (0, 2)


def test_a_new_release_is_not_answered_from_what_was_kept(client: TestClient, lake: Lake, tmp_path: Path) -> None:
    before = client.get(f"/v1/scaling?{GOAL}").json()
    pinned = client.get(f"/v1/scaling?{GOAL}&release=1").content
    rows = [Row(8, 1, "COMPLETE", 0, 0.9), Row(8, 1, "COMPLETE", 4, 0.1)]
    ingest(lake, [write_workload(tmp_path / "again" / "small", "mnist/cnn/sgd", {ERROR: rows})])
    client.app.state.releases.look()  # type: ignore[attr-defined]
    after = client.get(f"/v1/scaling?{GOAL}").json()
    assert [(answer["release"], answer["rows"][0]["steps"]) for answer in (before, after)] == [(1, 10), (2, 4)]
    assert client.get(f"/v1/scaling?{GOAL}&release=1").content == pinned


def test_what_was_used_longest_ago_goes_first_when_there_is_no_room(lake: Lake) -> None:
    settings = Settings.model_construct(log_format="off", answer_cache_mb=1)
    with TestClient(create_app(lake, settings)) as client:
        for number in range(800):
            client.get(f"/v1/scaling?{GOAL}{number}")
        hits, _ = outcomes(client)
        assert hits == 0
        client.get(f"/v1/scaling?{GOAL}799")
        client.get(f"/v1/scaling?{GOAL}0")
        assert outcomes(client)[0] == 1


def test_the_cache_can_be_switched_off(lake: Lake) -> None:
    with TestClient(create_app(lake, Settings.model_construct(log_format="off", answer_cache_mb=0))) as client:
        for _ in range(2):
            assert client.get(f"/v1/scaling?{GOAL}").status_code == 200
        assert "answer_cache_total{" not in client.get("/metrics").text
