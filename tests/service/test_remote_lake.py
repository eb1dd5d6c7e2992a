"""A lake in a bucket is served as one in a folder is, also while its store or its database is away."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from losslake.lake import connecting
from losslake.lake.lake import SECONDS_TO_ANSWER, Lake
from losslake.lake.store import bucket as bucket_module
from losslake.questions.release.releases import Releases
from losslake_service.serve import application
from losslake_service.settings import Settings
from tests.applications import without_sql
from tests.losslake.lake.clock import Clock
from tests.losslake.questions.release.test_releases import SMALL, publish_a_better_trial, wait_for
from tests.made_up_lake import ERROR
from tests.servers.failing_proxy import FailingProxy, Failure, failing_proxy
from tests.servers.s3 import S3

WORKLOAD = "shelf/mnist/cnn/sgd"
QUESTION = f"workload={SMALL}&metric={ERROR}&target=0.3"


@pytest.fixture(scope="module")
def clients(lake: Lake, remote_lake: Lake) -> Iterator[tuple[TestClient, TestClient]]:
    with TestClient(without_sql(lake)) as local, TestClient(without_sql(remote_lake)) as remote:
        yield local, remote


@pytest.mark.parametrize(
    "path",
    [
        f"/v1/scaling?workload={WORKLOAD}&metric={ERROR}&target=0.3",
        f"/v1/curves?study={WORKLOAD}/64&metric={ERROR}",
        f"/v1/curves.csv?study={WORKLOAD}/8&metric={ERROR}",
        f"/v1/steps-to-target?workload={WORKLOAD}&metric={ERROR}&target=0.3",
        "/v1/studies",
        "/v1/trials?limit=20",
        "/v1/metrics.csv",
        "/v1/releases/1/files.csv",
        "/v1/releases/1/SHA256SUMS",
        "/data/1/",
        "/data/1/measurements/",
        "/readyz",
    ],
)
def test_answers_are_the_same_as_over_a_folder(clients: tuple[TestClient, TestClient], path: str) -> None:
    one, other = (client.get(path) for client in clients)
    assert (one.status_code, other.status_code) == (200, 200)
    assert one.text == other.text


@pytest.mark.parametrize("path", ["/v1/releases/1/losslake.duckdb", "/v1/releases/1/croissant.json", "/"])
def test_stored_timestamps_and_urls_are_present(clients: tuple[TestClient, TestClient], path: str) -> None:
    assert clients[1].get(path).status_code == 200


def test_bytes_fetched_from_the_store_are_counted(clients: tuple[TestClient, TestClient]) -> None:
    clients[1].get("/data/1/trials.parquet")
    clients[1].get("/data/1/trials.parquet")
    lines = clients[1].get("/metrics").text.splitlines()
    found = {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}
    assert found["losslake_store_fetched_bytes_total"] > 1000
    assert found['losslake_store_cache_total{outcome="hit"}'] >= 1
    assert found['losslake_store_cache_total{outcome="miss"}'] >= 1


@pytest.fixture(scope="module")
def proxy(s3: S3) -> Iterator[FailingProxy]:
    with failing_proxy(s3.port) as running:
        running.failures = (Failure.INTERNAL_ERROR,)
        yield running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("growing")


@pytest.fixture(scope="module")
def growing(s3: S3, proxy: FailingProxy, folder: Path) -> Iterator[Lake]:
    """A small lake whose store and database may go away."""
    with pytest.MonkeyPatch.context() as changes:
        changes.setattr(bucket_module, "SECONDS_TO_TRY", 0.3)
        s3.let_in(changes, folder / "cache", proxy.url)
        lake = Lake.create(f"sqlite:///{folder}/catalog.db {s3.new_warehouse()}")
        publish_a_better_trial(lake, folder, "first", 10)
        yield lake


@pytest.mark.slow
def test_open_release_answers_during_a_store_outage_and_the_next_one_after_it(
    growing: Lake, proxy: FailingProxy, folder: Path
) -> None:
    app = without_sql(growing, seconds_between_looks=0.05)
    releases: Releases = app.state.releases
    with TestClient(app, raise_server_exceptions=False) as client:
        assert client.get(f"/v1/scaling?{QUESTION}").json()["release"] == 1
        publish_a_better_trial(growing, folder)
        wait_for(releases, 2)
        publish_a_better_trial(growing, folder, "third", 3)
        proxy.share = 1.0
        assert client.get(f"/v1/scaling?{QUESTION}").json()["rows"][0]["steps"] in (3, 5)
        away = client.get("/data/3/measurements/")
        assert (away.status_code, away.json()["type"]) == (503, "urn:losslake:problem:lake-unavailable")
        assert away.headers["retry-after"] == "5"
        proxy.share = 0.0
        wait_for(releases, 3)
        assert client.get("/data/3/measurements/").status_code == 200


@pytest.mark.slow
def test_open_release_answers_during_a_database_outage(growing: Lake, folder: Path) -> None:
    app = without_sql(growing, seconds_between_looks=0.05)
    with TestClient(app, raise_server_exceptions=False) as client:
        before = client.get(f"/v1/scaling?{QUESTION}").json()
        growing.engine.dispose()
        shutil.move(folder / "catalog.db", folder / "away")
        (folder / "catalog.db").mkdir()
        assert client.get(f"/v1/scaling?{QUESTION}").json() == before
        away = client.get("/v1/scaling?release=7&" + QUESTION)
        assert (away.status_code, away.json()["type"]) == (503, "urn:losslake:problem:lake-unavailable")
        (folder / "catalog.db").rmdir()
        shutil.move(folder / "away", folder / "catalog.db")
        assert client.get("/v1/scaling?release=7&" + QUESTION).status_code == 404


def test_a_request_gets_503_soon_while_the_database_restarts(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gc.freeze", lambda: None)  # of a worker process; this one goes on
    app = application(Settings(lake=str(lake.folder), sql_enabled=False, log_format="off", seconds_between_looks=9999))
    clock = Clock()
    with TestClient(app) as client:
        releases: Releases = app.state.releases
        monkeypatch.setattr(connecting, "time", clock)
        # As for a lake in PostgreSQL, where nothing is read past the engine.
        monkeypatch.setattr(Lake, "_rows_of_file", lambda *_: None)
        event.listen(releases.lake.engine, "do_connect", refuse)
        away = client.get(f"/v1/scaling?release=7&{QUESTION}")
        assert (away.status_code, away.json()["type"]) == (503, "urn:losslake:problem:lake-unavailable")
        assert away.headers["retry-after"] == "5"
        assert 0 < clock.seconds <= SECONDS_TO_ANSWER
        event.remove(releases.lake.engine, "do_connect", refuse)


def refuse(*_: object) -> None:
    """Refuse a connection, as a server that starts does."""
    raise OperationalError("connect", {}, ConnectionRefusedError())
