"""Many small files of a study become few, and say the same to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from losslake.index.maintenance import clean
from losslake.index.serving import open_release
from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake.lake.publishing import StagedRelease, stage_release
from losslake.lake.store.store import DataFile
from losslake.lake.verification import verify
from losslake_ingest.pipeline import gather
from losslake_ingest.pipeline.memory import Memory, forget
from losslake_ingest.releases import compaction
from losslake_ingest.releases.compaction import compact
from losslake_ingest.run import DEFAULT_REQUEST, ingest
from losslake_ingest.sources.open import open_source
from losslake_schema.release import Release
from tests.ingest.offers import written
from tests.losslake.index.maintenance.lakes import ingest_study, needed, policy, stored

pytestmark = pytest.mark.slow

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
RUNS = (
    ("a", "0,0.5,0.25\n5,nan,\n9,1e-300,0.1\n"),
    ("b", "0,-0.0,0.5\n1,0.30000000000000004,0.125\n"),
    ("c", "3,inf,0.75\n"),
    ("d", "0,0.123,\n2,3.0,\n"),
    ("e", "0,7,0.5\n"),
    ("f", "0,8.25,0.0625\n4,0.1,0.2\n"),
)


def small_logs(folder: Path) -> list[Path]:
    """A log for each run, which all go into one study, each with files of its own."""
    folder.mkdir()
    written(folder / "losslake.toml", MAPPING)
    logs = []
    for name, rows in RUNS:
        lines = [f"{name},{row}" for row in rows.splitlines()]
        text = "\n".join(["run,step,val/loss,val/classification_error", *lines, ""])
        logs.append(written(folder / f"{name}.csv", text.encode()))
    return logs


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A release of a study in many files, and of one that isn't."""
    made = Lake.create(tmp_path / "lake")
    ingest_study(made, tmp_path / "other", 1.0)
    ingest(made, small_logs(tmp_path / "logs"))
    return made


def said(lake: Lake, release: Release) -> list[tuple[object, ...]]:
    """Everything that SQL says of a release; values as text, so that NaN and -0 are told apart."""
    with open_release(lake, release) as connection:
        query = "SELECT * REPLACE (value::VARCHAR AS value) FROM {} ORDER BY ALL"
        return [
            row for name in ("measurements", "records") for row in connection.execute(query.format(name)).fetchall()
        ]


def parts(files: Sequence[DataFile]) -> int:
    return len({file.path for file in files if file.table == "records"})


def test_compacted_release_has_the_same_content_in_fewer_files(lake: Lake) -> None:
    before = lake.release()
    assert parts(lake.files(before)) == 1 + len(RUNS)
    done = compact(lake)
    after = lake.release()
    assert (done.release, done.studies) == (after.number, 1)
    assert done.files_after < done.files_before
    assert parts(lake.files(after)) == 2
    assert (after.content_digest, after.notes) == (before.content_digest, "compacted")
    assert after.n_measurements == before.n_measurements
    assert said(lake, after) == said(lake, before)
    for release in lake.releases():
        assert verify(lake, release).problems == ()
    for table in ("trials", "studies"):
        assert read_small_table(lake.store, lake.files(after), table).equals(
            read_small_table(lake.store, lake.files(before), table)
        )


def test_merging_again_changes_nothing(lake: Lake) -> None:
    compact(lake)
    number = lake.release().number
    assert compact(lake).release is None
    assert lake.release().number == number


def test_dry_run_publishes_nothing(lake: Lake) -> None:
    before = stored(lake)
    told = compact(lake, dry_run=True)
    assert (told.studies, told.files_before) == (1, 2 * len(RUNS))
    assert stored(lake) == before


def test_large_studies_are_merged_some_trials_at_a_time(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    before = lake.release()
    monkeypatch.setattr(compaction, "_MOST_ROWS", 10)
    compact(lake)
    assert parts(lake.files(lake.release())) == 1 + 2
    assert said(lake, lake.release()) == said(lake, before)
    assert compact(lake).release is None


def test_compaction_skips_studies_that_another_ingest_changes(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = written(tmp_path / "logs/g.csv", b"run,step,val/loss,val/classification_error\ng,0,0.5,0.5\n")

    def overtaken(*arguments: object) -> StagedRelease:
        monkeypatch.setattr(compaction, "stage_release", stage_release)
        staged = stage_release(*arguments)  # type: ignore[arg-type]
        ingest(lake, [more])
        return staged

    monkeypatch.setattr(compaction, "stage_release", overtaken)
    assert compact(lake).release is None
    assert lake.release().n_trials == 1 + len(RUNS) + 1
    assert verify(lake, lake.release()).problems == ()
    clean(lake, policy())
    assert stored(lake) == needed(lake)


def test_compaction_is_applied_to_a_concurrent_release(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtaken(*arguments: object) -> StagedRelease:
        monkeypatch.setattr(compaction, "stage_release", stage_release)
        staged = stage_release(*arguments)  # type: ignore[arg-type]
        ingest_study(lake, tmp_path / "meanwhile", 2.0, 64)
        return staged

    monkeypatch.setattr(compaction, "stage_release", overtaken)
    assert compact(lake).release == 4
    assert lake.release().content_digest == lake.release(3).content_digest
    assert [verify(lake, release).problems for release in lake.releases()] == [()] * 4


def test_study_with_a_wrong_digest_is_skipped(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "trial_digests", lambda trials, _: ["0" * 64] * len(trials))
    before = stored(lake)
    done = compact(lake)
    assert done.release is None
    assert "the stored curves don't match their digests" in done.skipped[0]
    assert stored(lake) == before


def test_compaction_keeps_sources_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake.create(tmp_path / "lake")
    small_logs(tmp_path / "logs")
    lines = [f"{name},{row}" for name, rows in RUNS for row in rows.splitlines()]
    log = written(tmp_path / "logs/all.csv", "\n".join(["run,step,val/loss,noise", *lines, ""]).encode())
    monkeypatch.setattr(gather, "LARGEST_PENDING", 1)
    ingest(lake, [log])
    assert compact(lake).files_before == 2 * len(RUNS)
    assert Memory(lake, DEFAULT_REQUEST).recall(open_source(log), lake.files(lake.release())) is not None
    assert forget(lake, dry_run=True) == 0
    ingest(lake, [written(tmp_path / "logs/more.csv", b"run,step,val/loss,noise\nz,0,0.5,1\n")])
    assert forget(lake, dry_run=True) == 1
    assert forget(lake, dry_run=False) == 1
    assert forget(lake, dry_run=False) == 0
