"""Withdrawn trials are in earlier releases only, whatever is ingested later, until they are restored."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake.lake.verification import verify
from losslake_ingest.releases.withdrawal import restore, withdraw
from losslake_ingest.run import ingest
from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_schema.names import Trial
from tests.ingest.offers import Files, TrialOffer, study_files, tar_bytes, unpacked, written

STUDY = "root/mnist/cnn/sgd/8"
OTHER = "root/mnist/cnn/sgd/64"
ELSEWHERE = "other/part/mnist/cnn/sgd/8"


def trial(best: float) -> TrialOffer:
    return TrialOffer(rows=("0,0.9", f"10,{best}"))


def offered() -> Files:
    return (
        study_files({number: trial(number / 10) for number in (1, 2, 3)}, 8)
        | study_files({1: trial(0.15)}, 64)
        | study_files({1: trial(0.35)}, 8, "other/part/mnist/cnn/sgd")
    )


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("logs") / "logs.tar", tar_bytes(offered()))


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory, archive: Path) -> tuple[Path, Path]:
    lake = Lake.create(tmp_path_factory.mktemp("lakes") / "lake")
    ingest(lake, [archive])
    names(lake)
    return lake.folder, shutil.copytree(lake.folder, lake.folder.with_name("as_ingested"))


@pytest.fixture
def lake(ingested: tuple[Path, Path]) -> Lake:
    """Return a lake with the release of the archive; its catalog names paths, so that it can't be used elsewhere."""
    folder, as_ingested = ingested
    shutil.rmtree(folder)
    return Lake.open(shutil.copytree(as_ingested, folder))


def names(lake: Lake, release: int | None = None) -> set[str]:
    """Return the trials of a release, after a check that all of its tables have the same ones."""
    found = lake.release(release)
    connection = open_release(lake, found)
    key = "concat_ws('/', collection, dataset, model, optimizer, batch_size, trial_id)"
    trials, measured = (
        {name for (name,) in connection.sql(f"SELECT DISTINCT {key} FROM {table}").fetchall()}
        for table in ("trials", "measurements")
    )
    connection.close()
    assert trials == measured
    assert len(trials) == found.n_trials
    assert verify(lake, found).problems == ()
    return trials


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        (f"{STUDY}/1", {f"{STUDY}/1"}),
        pytest.param(STUDY, {f"{STUDY}/{number}" for number in (1, 2, 3)}, marks=pytest.mark.slow),
        pytest.param(OTHER, {f"{OTHER}/1"}, marks=pytest.mark.slow),
        ("other/part", {f"{ELSEWHERE}/1"}),
    ],
)
def test_next_release_lacks_the_trials_and_the_earlier_one_keeps_them(lake: Lake, name: str, gone: set[str]) -> None:
    before = names(lake)
    withdrawal = withdraw(lake, [name], "wrong data set", "ada")
    assert withdrawal.release == 2
    assert set(map(str, withdrawal.trials)) == gone
    assert names(lake) == before - gone
    assert names(lake, 1) == before


def test_a_release_without_trials_is_refused(lake: Lake) -> None:
    with pytest.raises(LossLakeError, match="nothing would remain"):
        withdraw(lake, ["root", "other/part"], "all wrong", "ada")
    assert lake.release().number == 1


def test_ledger_says_who_withdrew_what_when_and_why(lake: Lake) -> None:
    withdraw(lake, [f"{STUDY}/1"], "wrong data set", "ada")
    (entry,) = lake.ledger("withdrawn")
    assert (entry.path, entry.source, entry.reason, entry.release) == (f"{STUDY}/1", "ada", "wrong data set", 2)
    assert entry.sha256 is not None
    assert "wrong data set" in lake.release().notes


@pytest.mark.parametrize(
    "name", [f"{STUDY}/1", *(pytest.param(name, marks=pytest.mark.slow) for name in (STUDY, "root"))]
)
def test_ingesting_the_same_logs_again_doesnt_bring_trials_back(lake: Lake, archive: Path, name: str) -> None:
    withdraw(lake, [name], "wrong data set", "ada")
    after = names(lake)
    summary = ingest(lake, [archive])
    assert not summary.published
    assert {q.rule for q in summary.quarantined} <= {"withdrawn"}
    assert names(lake) == after


@pytest.mark.slow
def test_another_log_of_the_study_is_accepted_and_the_withdrawn_one_is_named(lake: Lake, tmp_path: Path) -> None:
    withdraw(lake, [STUDY], "wrong data set", "ada")
    files = study_files({1: trial(0.1), 2: trial(0.05)}, 8)
    summary = ingest(lake, [unpacked(tmp_path / "again", files)])
    (refused,) = summary.quarantined
    assert refused.rule == "withdrawn"
    assert "wrong data set" in refused.message
    assert f"losslake withdraw {STUDY}/1 --undo" in refused.message
    assert names(lake) & {f"{STUDY}/{number}" for number in (1, 2, 3)} == {f"{STUDY}/2"}


@pytest.mark.slow
def test_restored_trials_may_be_ingested_again(lake: Lake, tmp_path: Path) -> None:
    before = names(lake)
    withdraw(lake, [f"{STUDY}/1", OTHER], "wrong data set", "ada")
    assert restore(lake, [f"{STUDY}/1"], "right after all", "ada") == [Trial.parse(f"{STUDY}/1")]
    ingest(lake, [unpacked(tmp_path / "unpacked", offered())])
    assert names(lake) == before - {f"{OTHER}/1"}


def test_a_dry_run_changes_nothing(lake: Lake) -> None:
    assert len(withdraw(lake, ["root"], "", "ada", dry_run=True).trials) == 4
    assert lake.release().number == 1
    assert not lake.ledger("withdrawn")


def test_a_name_without_trials_is_refused(lake: Lake) -> None:
    for name in ("roo", "mnist", f"{STUDY}/99", "root/mnist/cnn/sgd", ""):
        with pytest.raises(LossLakeError, match="no collection, study or trial of the newest release is named"):
            withdraw(lake, ["root", name], "wrong", "ada")
        with pytest.raises(LossLakeError, match=r"nothing named .* is withdrawn"):
            restore(lake, [name], "", "ada")


@pytest.mark.slow
def test_numbers_of_withdrawn_runs_are_not_given_to_others(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    mapping = """
        collection = {name = "c"}
        run = {dataset = "d", model = "m", optimizer = "o", batch_size = "8"}
        metrics = {loss = "val/cross_entropy_error"}
    """
    logs = {"losslake.toml": mapping.encode(), "a.csv": b"step,loss\n0,2\n1,1\n", "b.csv": b"step,loss\n0,3\n1,1\n"}
    ingest(lake, [unpacked(tmp_path / "runs", logs)])
    withdraw(lake, ["c/d/m/o/8/2"], "wrong", "ada")
    ingest(lake, [unpacked(tmp_path / "runs", {"c.csv": b"step,loss\n0,4\n1,1\n"})])
    assert names(lake) == {"c/d/m/o/8/1", "c/d/m/o/8/3"}


def test_a_moved_lake_is_refused(lake: Lake, tmp_path: Path) -> None:
    moved = Lake.open(shutil.copytree(lake.folder, tmp_path / "moved"))
    with pytest.raises(LakeBroken, match=f"was moved or copied from {lake.folder}: .*'losslake init --adopt"):
        withdraw(moved, [STUDY], "wrong", "ada")
