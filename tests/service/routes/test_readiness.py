"""/readyz passes when every check does, and names those that don't without telling strangers why."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_service.app import create_app
from losslake_service.routes import readiness as module
from losslake_service.routes.readiness import readiness
from losslake_service.settings import Settings
from tests.applications import without_sql


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
        for path in (lake.warehouse / "losslake" / "measurements").rglob("*.parquet"):
            path.unlink()
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


def wait_until_ready(client: TestClient) -> None:
    end = time.monotonic() + 30
    while client.get("/readyz").status_code != 200:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_every_check_that_fails_is_named_and_one_that_hangs_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError("sandbox is down")

    monkeypatch.setattr(module, "_CHECK_SECONDS", 0.1)
    app = FastAPI()
    app.include_router(readiness({"fine": lambda: None, "sandbox": fail, "slow": lambda: time.sleep(0.5)}))
    document = TestClient(app).get("/readyz").json()
    assert document["failed"] == ["sandbox", "slow"]
    assert "down" not in str(document)
