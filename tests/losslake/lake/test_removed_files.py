"""Every operation that removes files from Iceberg's tables finds them, or says in a line why it can't."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyiceberg.exceptions import CommitFailedException

from losslake.index.maintenance import clean
from losslake.lake import iceberg
from losslake.lake.catalog import PatientCatalog
from losslake.lake.lake import Lake
from losslake.lake.verification import verify
from losslake_ingest.releases import compaction
from losslake_ingest.releases.compaction import compact
from losslake_ingest.releases.withdrawal import withdraw
from losslake_ingest.run import ingest
from losslake_schema.errors import LakeBroken, LossLakeError
from tests.ingest.offers import written
from tests.losslake.index.maintenance.lakes import ingest_study, policy
from tests.slow_manifests import evaluate_manifests_slowly

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
def test_threads_that_evaluate_manifests_at_once_skip_no_removed_file(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, change: Callable[[Lake], None]
) -> None:
    evaluated = evaluate_manifests_slowly(monkeypatch)
    change(lake)
    assert len(evaluated) >= len(BATCH_SIZES)
    for release in lake.releases():
        assert verify(lake, release).problems == ()


def test_a_file_that_iceberg_lacks_is_one_line_and_changes_nothing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    before = lake.release()
    monkeypatch.setattr(iceberg._Replacement, "_build_manifest_evaluator", lambda *_: lambda _: False)
    with pytest.raises(LakeBroken, match=r"Missing required files.*run 'losslake verify'") as refused:
        correct_a_study(lake)
    assert "\n" not in str(refused.value)
    assert lake.releases()[0] == before
    assert verify(lake, before).problems == ()
    monkeypatch.undo()
    correct_a_study(lake)
    assert lake.release().number == before.number + 1


@pytest.mark.parametrize("error", [CommitFailedException("branch main has changed"), ValueError("sequence number 3")])
def test_a_commit_that_conflicts_each_time_is_one_line_and_changes_nothing(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    before, attempts = lake.release(), []

    def conflict(*_: object) -> None:
        attempts.append(1)
        raise error

    with monkeypatch.context() as changes:
        changes.setattr(PatientCatalog, "commit_table", conflict)
        with pytest.raises(LossLakeError, match="run the same command again") as refused:
            correct_a_study(lake)
    assert str(error) in str(refused.value)
    assert len(attempts) == iceberg.ATTEMPTS
    assert lake.releases()[0] == before
    correct_a_study(lake)
    assert lake.release().number == before.number + 1
