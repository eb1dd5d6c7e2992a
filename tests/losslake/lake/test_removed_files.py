"""Every operation that removes files from Iceberg's tables finds them, or says in a line why it can't."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from losslake.index.maintenance import clean
from losslake.lake import iceberg, publishing, snapshots
from losslake.lake.iceberg import StagedTable
from losslake.lake.lake import Lake
from losslake.lake.verification import verify
from losslake_ingest.pipeline import publish
from losslake_ingest.releases import compaction
from losslake_ingest.releases.compaction import compact
from losslake_ingest.releases.withdrawal import withdraw
from losslake_ingest.run import ingest
from losslake_schema.errors import LakeBroken, LossLakeError
from tests.ingest.offers import written
from tests.losslake.index.maintenance.lakes import ingest_study, policy

BATCH_SIZES = (1, 8, 64)
STUDY = "root/mnist/cnn/sgd/8"
MAPPING = b"""
[collection]
name = "mine"
[run]
dataset = "mnist"
model = "cnn"
optimizer = "sgd"
column = "run"
[fields]
batch_size = 8
"""


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Return a lake with a manifest per study."""
    lake = Lake.create(tmp_path / "lake")
    for number, batch_size in enumerate(BATCH_SIZES):
        ingest_study(lake, tmp_path / f"study{number}", 1.0, batch_size)
    return lake


def correct_a_study(lake: Lake) -> None:
    ingest_study(lake, lake.folder.parent / "corrected", 2.0)


def withdraw_a_study(lake: Lake) -> None:
    withdraw(lake, [STUDY], "a test", "the tests")


def merge_small_files(lake: Lake) -> None:
    logs = lake.folder.parent / "logs"
    logs.mkdir()
    written(logs / "losslake.toml", MAPPING)
    ingest(lake, [written(logs / f"{run}.csv", f"run,step,val/loss\n{run},0,0.5\n".encode()) for run in "abc"])
    with pytest.MonkeyPatch.context() as changes:
        changes.setattr(compaction, "MOST_PARTS", 2)
        assert compact(lake).studies == 1


def correct_and_maintain(lake: Lake) -> None:
    correct_a_study(lake)
    clean(lake, policy())


@pytest.mark.parametrize("change", [correct_a_study, withdraw_a_study, merge_small_files, correct_and_maintain])
def test_every_release_stays_whole(lake: Lake, change: Callable[[Lake], None]) -> None:
    change(lake)
    for release in lake.releases():
        assert verify(lake, release).problems == ()


def test_a_file_that_iceberg_lacks_is_one_line_and_changes_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    before = lake.release()
    monkeypatch.setattr(snapshots, "manifest_evaluator", lambda *_: lambda _: False)
    with pytest.raises(
        LakeBroken, match=r"it lacks 1 files to remove, such as file://.*run 'losslake verify'"
    ) as refused:
        correct_a_study(lake)
    assert "\n" not in str(refused.value)
    assert lake.releases()[0] == before
    assert verify(lake, before).problems == ()
    monkeypatch.undo()
    correct_a_study(lake)
    assert lake.release().number == before.number + 1


@pytest.mark.parametrize("lacks", ["the table", "its metadata", "its snapshot"])
def test_a_table_that_iceberg_lacks_is_one_line_and_changes_nothing(lake: Lake, lacks: str) -> None:
    before, location = lake.release(), Path(lake.table("trials").metadata_location.removeprefix("file://"))
    with lake.engine.begin() as connection:
        if lacks == "the table":
            connection.exec_driver_sql("DELETE FROM iceberg_tables WHERE table_name = 'trials'")
        elif lacks == "its snapshot":
            change = "UPDATE losslake_release_snapshots SET snapshot_id = 7 WHERE \"table\" = 'trials'"
            connection.exec_driver_sql(change)
        else:
            location.unlink()
    with pytest.raises(LakeBroken, match=r"Iceberg's table trials in .* can't be changed \(.*\); no release is lost"):
        correct_a_study(lake)
    assert [release.number for release in lake.releases()] == [before.number, *range(before.number - 1, 0, -1)]


def test_tables_that_others_change_each_time_are_one_line_and_nothing_is_published(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, attempts = lake.release(), []

    def conflict(_: object, staged: Sequence[StagedTable]) -> None:
        attempts.append(1)
        raise iceberg.TablesChanged(staged[0].name)

    with monkeypatch.context() as changes:
        changes.setattr(iceberg, "publish", conflict)
        changes.setattr(publish, "ATTEMPTS", 3)
        with pytest.raises(LossLakeError, match="run the same command again"):
            correct_a_study(lake)
    assert len(attempts) == 3
    assert lake.releases()[0] == before
    correct_a_study(lake)
    assert lake.release().number == before.number + 1


def test_release_is_staged_again_if_maintenance_changes_a_table_meanwhile(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, tags = publishing.stage_release, iter(["paper"])

    def tag_a_table(*arguments: Any) -> publishing.StagedRelease:
        staged = stage(*arguments)
        for tag in tags:
            table = lake.table("trials")
            table.manage_snapshots().create_tag(lake.release().snapshots["trials"], tag).commit()
        return staged

    monkeypatch.setattr(publishing, "stage_release", tag_a_table)
    correct_a_study(lake)
    number = lake.release().number
    assert number == len(BATCH_SIZES) + 1
    assert {"paper", f"release-{number}"} <= set(lake.table("trials").metadata.refs)
    assert verify(lake, lake.release()).problems == ()
