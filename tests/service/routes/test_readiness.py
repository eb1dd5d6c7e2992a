"""/readyz passes when every check does, and names those that don't without telling strangers why."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from losslake.index.shared import exclusive
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_service.app import create_app
from losslake_service.routes import readiness as module
from losslake_service.routes.readiness import Check, readiness
from losslake_service.settings import Settings
from tests.applications import without_sql
from tests.servers.processes import wait_until


@pytest.mark.slow
def test_it_is_ready_while_the_newest_release_can_be_read_and_says_no_path_when_it_cannot(
    tmp_path: Path, small_archive: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [small_archive])
    with TestClient(create_app(lake, Settings.model_construct(log_format="off", sql_workers=1))) as client:
        wait_until_ready(client)
        assert client.get("/readyz").json() == {"status": "ready", "checks": ["release", "sql"]}
        assert "/readyz" in client.get("/openapi.json").json()["paths"]
        for path in (lake.folder / "warehouse" / "losslake" / "measurements").rglob("*.parquet"):
            path.unlink()
        wait_until(lambda: client.get("/readyz").status_code == 503, "the service isn't ready")
        response = client.get("/readyz")
        assert client.get("/healthz").status_code == 200
    document = response.json()
    assert (response.status_code, response.headers["content-type"]) == (503, "application/problem+json")
    assert (document["type"], document["failed"]) == ("urn:losslake:problem:not-ready", ["release"])
    assert str(tmp_path) not in response.text
    assert str(tmp_path) in caplog.text


def test_a_lake_without_a_release_starts_and_is_not_ready_until_there_is_one(
    tmp_path: Path, small_archive: Path
) -> None:
    lake = Lake.create(tmp_path / "lake")
    with TestClient(without_sql(lake)) as client:
        assert client.get("/readyz").status_code == 503
        ingest(lake, [small_archive])
        wait_until_ready(client)


def test_while_serving_files_are_built_it_is_healthy_and_not_ready(tmp_path: Path, small_archive: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [small_archive])
    with ExitStack() as building:
        building.enter_context(exclusive(lake.folder / "serving"))
        with TestClient(without_sql(lake)) as client:
            assert client.get("/healthz").json() == {"status": "ok", "release": None}
            assert client.get("/readyz").json()["failed"] == ["release"]
            building.close()
            assert client.get("/v1/workloads").status_code == 200
            wait_until_ready(client)
            assert client.get("/healthz").json() == {"status": "ok", "release": 1}


def wait_until_ready(client: TestClient) -> None:
    wait_until(lambda: client.get("/readyz").status_code == 200, "the service is ready")


def client_of(**checks: Check) -> TestClient:
    app = FastAPI()
    app.include_router(readiness(checks))
    return TestClient(app)


@pytest.fixture
def may_end() -> Iterator[threading.Event]:
    """What checks that hang wait for."""
    event = threading.Event()
    yield event
    event.set()


def test_every_check_that_fails_is_named_and_one_that_hangs_fails(
    monkeypatch: pytest.MonkeyPatch, may_end: threading.Event
) -> None:
    def fail() -> None:
        raise OSError("sandbox is down")

    monkeypatch.setattr(module, "_ANSWER_SECONDS", 0.01)
    client = client_of(fine=lambda: None, sandbox=fail, slow=may_end.wait)
    wait_until(lambda: client.get("/readyz").json()["failed"] == ["sandbox", "slow"], "the other check passes")
    assert "down" not in client.get("/readyz").text


def test_check_that_passed_counts_while_it_is_slow_until_it_hangs(
    monkeypatch: pytest.MonkeyPatch, may_end: threading.Event
) -> None:
    monkeypatch.setattr(module, "_ANSWER_SECONDS", 0.01)
    may_end.set()
    runs: list[int] = []

    def check() -> None:
        runs.append(1)
        may_end.wait()

    client = client_of(slow=check)
    wait_until_ready(client)
    may_end.clear()
    n_runs = len(runs)
    assert [client.get("/readyz").status_code for _ in range(5)] == [200] * 5
    assert len(runs) == n_runs + 1
    monkeypatch.setattr(module, "_HANG_SECONDS", 0)
    assert client.get("/readyz").json()["failed"] == ["slow"]
    may_end.set()
    wait_until_ready(client)


def test_check_that_failed_counts_as_failed_while_it_is_slow(
    monkeypatch: pytest.MonkeyPatch, may_end: threading.Event
) -> None:
    begun: list[int] = []

    def fail_then_hang() -> None:
        begun.append(1)
        if len(begun) == 1:
            raise OSError("down")
        may_end.wait()

    monkeypatch.setattr(module, "_ANSWER_SECONDS", 0.01)
    client = client_of(check=fail_then_hang)

    def status() -> int:
        return client.get("/readyz").status_code

    assert status() == 503
    wait_until(lambda: status() == 503 and len(begun) == 2, "the check hangs")
    assert status() == 503
    may_end.set()
    wait_until_ready(client)
