"""An answer asked for again is the same, comes from memory, and never from an older release than the newest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake.questions.release.releases import Releases
from losslake_ingest.run import ingest
from losslake_service.routes.reading import PlainRoute
from losslake_service.web.paths import PAGES
from tests.applications import without_sql
from tests.archives import write_workload
from tests.made_up_lake import ERROR
from tests.oracle import Row

GOAL = f"workload=small/mnist/cnn/sgd&metric={ERROR}&target=0.3"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = lake_with_one_trial(tmp_path_factory.mktemp("cached"))
    Releases(lake).refresh()  # builds its files, so that the service has the release open when it starts
    return lake


def lake_with_one_trial(folder: Path) -> Lake:
    rows = [Row(8, 1, "COMPLETE", 0, 0.9), Row(8, 1, "COMPLETE", 10, 0.2)]
    lake = Lake.create(folder / "lake")
    ingest(lake, [write_workload(folder / "small", "mnist/cnn/sgd", {ERROR: rows})])
    return lake


@pytest.fixture
def client(lake: Lake) -> Iterator[TestClient]:
    with TestClient(without_sql(lake)) as client:
        yield client


def outcomes(client: TestClient) -> tuple[float, float]:
    """Hits and misses."""
    lines = dict(line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines() if not line.startswith("#"))
    hit, miss = (float(lines[f'losslake_answer_cache_total{{outcome="{name}"}}']) for name in ("hit", "miss"))
    return hit, miss


@pytest.mark.parametrize(
    "path",
    [
        f"/v1/scaling?{GOAL}",
        f"/v1/scaling.csv?{GOAL}",
        "/v1/trials?limit=1",
        f"/embed/scaling?{GOAL}",
        "/",
        "/workloads/small/mnist/cnn/sgd",
        "/studies/small/mnist/cnn/sgd/8",
        "/v1/releases/1/files",
        "/v1/figures/scaling.vl.json?" + GOAL,
    ],
)
def test_the_same_question_is_answered_from_memory_with_the_same_bytes(client: TestClient, path: str) -> None:
    first, again = client.get(path), client.get(path)
    assert outcomes(client) == (1, 1)
    assert (again.content, again.status_code) == (first.content, 200)
    changing = {"date", "x-request-id"}
    kept, given = ({k: v for k, v in r.headers.items() if k not in changing} for r in (first, again))
    assert kept == given


def test_every_page_is_cached_but_those_that_maintenance_changes(lake: Lake) -> None:
    routes = {route.path: route for route in without_sql(lake).routes if isinstance(route, PlainRoute)}
    assert [kind.path for kind in PAGES if not routes[kind.path].is_cached] == ["/releases/{name}", "/releases"]


@pytest.mark.parametrize(
    "path", ["/robots.txt", "/releases", "/releases/1", "/data/1/README.md", "/healthz", "/v1/nothing"]
)
def test_other_responses_are_neither_cached_nor_counted(client: TestClient, path: str) -> None:
    for _ in range(2):
        client.get(path)
    assert outcomes(client) == (0, 0)


def test_new_notices_invalidate_the_cache(client: TestClient) -> None:
    first = client.get("/workloads/small/mnist/cnn/sgd")
    releases: Releases = client.app.state.releases  # type: ignore[attr-defined]
    releases.notices = SimpleNamespace(version="2", of=releases.notices.of)  # type: ignore[assignment]
    again = client.get("/workloads/small/mnist/cnn/sgd")
    assert again.headers["etag"] != first.headers["etag"]
    assert outcomes(client) == (0, 2)


def test_matching_etag_returns_304_from_the_cache(client: TestClient) -> None:
    first = client.get(f"/v1/scaling?{GOAL}")
    again = client.get(f"/v1/scaling?{GOAL}", headers={"If-None-Match": f'W/"other", {first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert again.headers["cache-control"] == first.headers["cache-control"]
    assert outcomes(client) == (1, 1)


def test_cache_key_includes_the_accept_header(client: TestClient) -> None:
    assert client.get(f"/v1/scaling?{GOAL}").headers["content-type"] == "application/json"
    in_csv = client.get(f"/v1/scaling?{GOAL}", headers={"Accept": "text/csv"})
    assert in_csv.headers["content-type"] == "text/csv; charset=utf-8"
    assert outcomes(client) == (0, 2)


def test_problems_are_not_cached(client: TestClient) -> None:
    for _ in range(2):
        assert client.get("/v1/scaling?workload=small/mnist/cnn/sgf&metric=val/x&target=1").status_code == 404
    assert outcomes(client) == (0, 2)


def test_new_release_invalidates_the_cache(tmp_path: Path) -> None:
    lake = lake_with_one_trial(tmp_path)
    client = TestClient(without_sql(lake))
    before = client.get(f"/v1/scaling?{GOAL}").json()
    pinned = client.get(f"/v1/scaling?{GOAL}&release=1").content
    rows = [Row(8, 1, "COMPLETE", 0, 0.9), Row(8, 1, "COMPLETE", 4, 0.1)]
    ingest(lake, [write_workload(tmp_path / "again" / "small", "mnist/cnn/sgd", {ERROR: rows})])
    client.app.state.releases.refresh()  # type: ignore[attr-defined]
    after = client.get(f"/v1/scaling?{GOAL}").json()
    assert [(answer["release"], answer["rows"][0]["steps"]) for answer in (before, after)] == [(1, 10), (2, 4)]
    assert client.get(f"/v1/scaling?{GOAL}&release=1").content == pinned


def test_least_recently_used_answer_is_evicted_first(lake: Lake) -> None:
    with TestClient(without_sql(lake, answer_cache_mb=0.1)) as client:
        for number in range(80):
            client.get(f"/v1/scaling?{GOAL}{number}")
        hits, _ = outcomes(client)
        assert hits == 0
        client.get(f"/v1/scaling?{GOAL}79")
        client.get(f"/v1/scaling?{GOAL}0")
        assert outcomes(client)[0] == 1


def test_the_cache_can_be_switched_off(lake: Lake) -> None:
    with TestClient(without_sql(lake, answer_cache_mb=0)) as client:
        for _ in range(2):
            assert client.get(f"/v1/scaling?{GOAL}").status_code == 200
        assert "answer_cache_total{" not in client.get("/metrics").text


@pytest.mark.parametrize(
    ("path", "route"),
    [("/workloads/small/mnist/cnn/sgd", "/workloads/{name:path}"), (f"/v1/scaling.csv?{GOAL}", "/v1/scaling")],
)
def test_cached_answers_are_counted_under_their_route(client: TestClient, path: str, route: str) -> None:
    for _ in range(2):
        client.get(path)
    assert outcomes(client) == (1, 1)
    text = client.get("/metrics").text
    assert f'losslake_requests_total{{method="GET",route="{route}",status="200"}} 2.0' in text


def test_requests_under_an_ending_are_counted_under_the_path_of_the_question(client: TestClient) -> None:
    client.get(f"/v1/scaling.csv?{GOAL}")
    client.head(f"/v1/scaling?{GOAL}")
    text = client.get("/metrics").text
    for method in ("GET", "HEAD"):
        assert f'losslake_requests_total{{method="{method}",route="/v1/scaling",status="200"}} 1.0' in text
