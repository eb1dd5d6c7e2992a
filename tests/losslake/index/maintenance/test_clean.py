"""Cleanup deletes unneeded files after the grace time and keeps those of listed releases."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session

from losslake.index.file_list import FILE_LIST_VERSION
from losslake.index.maintenance import clean, maintenance_lock
from losslake.index.serving import open_release
from losslake.index.shared import path_of
from losslake.index.workloads import open_workloads, workloads_folder
from losslake.lake import iceberg, retention
from losslake.lake.croissant import CROISSANT_VERSION
from losslake.lake.lake import Lake
from losslake.lake.retention import to_unlist, unlist
from losslake_schema.errors import LakeBroken, LossLakeError, UnknownRelease
from losslake_schema.tables import TABLES
from tests.losslake.index.maintenance.lakes import (
    content,
    ingest_study,
    ingest_study_killed,
    needed,
    policy,
    problems,
    stored,
    unlist_and_clean,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder for the lake below, whose files can be restored only to the same path."""
    folder = tmp_path_factory.mktemp("maintained")
    made = Lake.create(folder / "lake")
    for value in (1.0, 2.0):
        ingest_study(made, folder / f"logs{value}", value)
    ingest_study_killed(made, folder / "killed", 4.0)
    ingest_study(made, folder / "logs3.0", 3.0)
    made.engine.dispose()
    (folder / "lake").rename(folder / "as it was")
    return folder


@pytest.fixture
def lake(place: Path) -> Lake:
    """Three releases of a study, and the leftovers of a killed ingest."""
    shutil.rmtree(place / "lake", ignore_errors=True)
    shutil.copytree(place / "as it was", place / "lake")
    return Lake.open(place / "lake")


@pytest.mark.slow
def test_remains_of_a_killed_ingest_are_deleted_and_every_release_stays(lake: Lake) -> None:
    before = {release.number: content(lake, release) for release in lake.releases()}
    cleaned = clean(lake, policy())
    assert (cleaned.snapshots, cleaned.branches) == (0, 0)
    assert cleaned.orphans.count > 5
    assert cleaned.orphans.bytes > 0
    assert stored(lake) == needed(lake)
    assert {release.number: content(lake, release) for release in lake.releases()} == before
    assert problems(lake) == []


def test_branches_that_earlier_versions_left_are_deleted(lake: Lake) -> None:
    branch = f"ingest-{0:032x}"
    lake.table("trials").manage_snapshots().create_branch(lake.release().snapshots["trials"], branch).commit()
    assert clean(lake, policy(timedelta(hours=1))).branches == 0
    assert clean(lake, policy()).branches == 1
    assert branch not in lake.table("trials").metadata.refs
    assert problems(lake) == []


def test_table_that_others_change_each_time_is_one_line_and_loses_nothing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def conflict(_: object, staged: Sequence[iceberg.StagedTable]) -> None:
        raise iceberg.TablesChanged(staged[0].name)

    unlist(lake, [1])
    monkeypatch.setattr(iceberg, "publish", conflict)
    with pytest.raises(LossLakeError, match=r"kept changing Iceberg's table \w+ in .*: run the same command again"):
        clean(lake, policy())
    assert problems(lake) == []
    monkeypatch.undo()
    clean(lake, policy())
    assert stored(lake) == needed(lake)


def test_table_that_is_changed_meanwhile_is_expired_on_top_of_that(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, publish, tags = lake.release(2).snapshots["trials"], iceberg.publish, ["paper"]

    def tag_first(session: Session, staged: Sequence[iceberg.StagedTable]) -> None:
        if staged[0].name == "trials" and tags:
            lake.table("trials").manage_snapshots().create_tag(snapshot, tags.pop()).commit()
        publish(session, staged)

    monkeypatch.setattr(iceberg, "publish", tag_first)
    unlist_and_clean(lake, 1)
    assert {"main", "paper", "release-2", "release-3"} == set(lake.table("trials").metadata.refs)
    assert problems(lake) == []


def test_release_that_is_published_during_a_cleanup_keeps_its_files(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_files, meanwhile = retention._live_files, [1]

    def publish_after(*arguments: Any) -> set[str]:
        live = live_files(*arguments)
        if meanwhile and meanwhile.pop():
            ingest_study(lake, tmp_path / "meanwhile", 5.0, 16)
        return live

    monkeypatch.setattr(retention, "_live_files", publish_after)
    clean(lake, policy(timedelta(minutes=-1)))
    assert lake.release().number == 4
    assert problems(lake) == []
    assert stored(lake) >= needed(lake)


def test_files_younger_than_the_grace_time_stay(lake: Lake) -> None:
    before = stored(lake)
    cleaned = clean(lake, policy(timedelta(hours=1)))
    assert (cleaned.orphans.count, cleaned.snapshots, cleaned.branches) == (0, 0, 0)
    assert stored(lake) == before


def test_an_unlisted_release_loses_its_files_and_keeps_its_number(lake: Lake, tmp_path: Path) -> None:
    cleaned = unlist_and_clean(lake, 1)
    assert cleaned.snapshots > 0
    assert stored(lake) == needed(lake)
    assert problems(lake) == []
    assert [release.number for release in lake.releases()] == [3, 2]
    assert [release.number for release in lake.releases(include_unlisted=True)] == [3, 2, 1]
    with pytest.raises(UnknownRelease, match=r"release 1 was unlisted on \d{4}-\d\d-\d\d: use another"):
        lake.release(1)
    assert "release-1" not in lake.table("trials").metadata.refs
    assert "release-2" in lake.table("trials").metadata.refs
    ingest_study(lake, tmp_path / "more", 5.0, 16)
    assert lake.release().number == 4
    assert problems(lake) == []


def test_the_files_of_an_unlisted_release_stay_for_the_grace_time(lake: Lake) -> None:
    release = lake.release(1)
    unlist(lake, [1])
    clean(lake, policy(timedelta(hours=1)))
    assert lake.files(release)
    clean(lake, policy())
    with pytest.raises(LakeBroken, match=r"the file list .* is missing: restore it, or use another release"):
        lake.files(release)
    clean(lake, policy(timedelta(hours=1)))
    assert problems(lake) == []


def test_a_dry_run_reports_the_same_and_changes_nothing(lake: Lake) -> None:
    unlist(lake, [1])
    at = policy(dry_run=True)
    before = stored(lake)
    planned = clean(lake, at)
    assert stored(lake) == before
    done = clean(lake, policy())
    assert (planned.snapshots, planned.branches) == (done.snapshots, done.branches)
    assert planned.orphans.count == done.orphans.count


def test_the_newest_release_is_never_unlisted(lake: Lake) -> None:
    with pytest.raises(LossLakeError, match="release 3 is the newest and can't be unlisted"):
        to_unlist(lake, None, [3])
    unlist(lake, [1, 2, 3])
    assert [release.number for release in lake.releases()] == [3]


def test_keep_unlists_all_but_the_newest_releases(lake: Lake) -> None:
    assert to_unlist(lake, 1, []) == [1, 2]
    assert to_unlist(lake, 2, [2]) == [1, 2]
    assert to_unlist(lake, 5, []) == []
    with pytest.raises(UnknownRelease, match="there is no release 9"):
        to_unlist(lake, None, [9])


def test_nothing_is_deleted_if_the_file_list_of_a_listed_release_is_missing(lake: Lake) -> None:
    lake.store.delete([lake.release(2).manifest])
    before = stored(lake)
    with pytest.raises(LakeBroken, match=r"the file list .* is missing"):
        clean(lake, policy())
    assert {path for path in before if "/data/" in path} <= stored(lake)


def test_data_of_foreign_tags_and_branches_stays(lake: Lake) -> None:
    table = lake.table("measurements")
    snapshot = lake.release(1).snapshots["measurements"]
    assert snapshot is not None
    table.manage_snapshots().create_tag(snapshot, "paper").commit()
    unlist_and_clean(lake, 1, 2)
    assert lake.table("measurements").scan(snapshot_id=snapshot).to_arrow().num_rows == 3


def test_only_one_process_maintains_a_lake(lake: Lake) -> None:
    with (
        maintenance_lock(lake),
        pytest.raises(LossLakeError, match="is already maintaining the lake"),
        maintenance_lock(lake),
    ):
        pass
    with maintenance_lock(lake):
        pass


@pytest.mark.slow
def test_serving_files_of_listed_releases_and_the_current_version_stay(lake: Lake) -> None:
    for number in (1, 3):
        release = lake.release(number)
        with open_release(lake, release) as connection:
            open_workloads(lake, release, connection)
    serving = lake.folder / "serving"
    (serving / "release-000003-0123456789ab-abcdef-v0.duckdb").touch()
    path_of(lake, lake.release(), f"files-v{FILE_LIST_VERSION}.parquet").touch()
    path_of(lake, lake.release(), f"abcdef012345-v{CROISSANT_VERSION}.json", "remote").touch()
    shared = {path.name for path in workloads_folder(lake).iterdir()}
    names = {path.name for path in serving.iterdir()}
    os.utime(workloads_folder(lake), (0, 0))
    (earlier,) = serving.glob("release-000001-*.duckdb")
    assert clean(lake, policy(timedelta(hours=1))).serving_files.count == 0
    assert clean(lake, policy()).serving_files.count == 2
    assert not earlier.exists()
    with open_release(lake, lake.release(1)) as connection:
        assert connection.execute("SELECT count(*) FROM trials").fetchone() == (1,)
    assert earlier.exists()
    cleaned = unlist_and_clean(lake, 1)
    assert cleaned.serving_files.count == 3
    left = {path.name for path in serving.iterdir()}
    assert {name for name in names - left if not name.startswith(("release-000001", "release-000003-0"))} == set()
    assert len(shared) == 2
    assert len(list(workloads_folder(lake).iterdir())) == 1
    with open_release(lake, lake.release()) as connection:
        assert connection.execute("SELECT count(*) FROM measurements").fetchone() == (3,)


def test_a_lake_without_a_release_is_left_alone(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    clean(lake, policy())
    ingest_study(lake, tmp_path / "logs", 1.0)
    assert problems(lake) == []
    assert {name for name in TABLES if lake.table(name).metadata.snapshots} == set(TABLES)
