"""Maintenance of a lake in PostgreSQL and a bucket."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from losslake.index.maintenance import clean, maintenance_lock
from losslake.index.serving import open_release
from losslake.index.workloads import open_workloads
from losslake.lake.lake import Lake
from losslake_schema.errors import LossLakeError
from tests.losslake.index.maintenance.lakes import (
    ingest_study,
    ingest_study_killed,
    needed,
    policy,
    problems,
    stored,
    unlist_and_clean,
)
from tests.servers.postgresql import PostgreSQL
from tests.servers.s3 import S3


@pytest.mark.slow
def test_maintenance_of_a_lake_in_a_bucket(
    postgresql: PostgreSQL, s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3.let_in(monkeypatch, tmp_path / "cache")
    lake = Lake.create(f"{postgresql.new_database()} {s3.new_warehouse()}")
    ingest_study(lake, tmp_path / "one", 1.0)
    ingest_study_killed(lake, tmp_path / "killed", 2.0)
    ingest_study(lake, tmp_path / "two", 3.0)
    for release in lake.releases():
        with open_release(lake, release) as connection:
            open_workloads(lake, release, connection)
    serving = {file.path for file in lake.store.list_files("serving")}
    assert len(serving) == 2 * 3
    shutil.rmtree(lake.folder / "serving")
    with (
        maintenance_lock(lake),
        pytest.raises(LossLakeError, match="is already maintaining the lake"),
        maintenance_lock(lake),
    ):
        pass
    assert clean(lake, policy()).orphans.count > 5
    assert stored(lake) == needed(lake)
    assert {file.path for file in lake.store.list_files("serving")} == serving
    unlist_and_clean(lake, 1)
    assert stored(lake) == needed(lake)
    assert problems(lake) == []
    left = {file.path for file in lake.store.list_files("serving")}
    assert len(left) == 3
    assert not [path for path in left if "release-000001" in path]
    with open_release(lake, lake.release()) as connection:
        open_workloads(lake, lake.release(), connection)
        assert connection.execute("SELECT count(*) FROM measurements").fetchone() == (3,)
    with maintenance_lock(lake):
        pass
