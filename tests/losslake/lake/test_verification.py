"""`verify` detects any damage of a release, for LossLake and for other Iceberg engines."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from losslake.lake import verification
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile, Store
from losslake.lake.verification import Verification, verify
from losslake_ingest.run import ingest
from losslake_schema.database import ReleaseRow
from tests.ingest.offers import TrialOffer, study_files, unpacked


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("verified")
    files = study_files({1: TrialOffer(), 2: TrialOffer()}, 64, "root/sub/mnist 100%/cnn/sgd")
    lake = Lake.create(folder / "lake")
    ingest(lake, [unpacked(folder / "logs", files | study_files({1: TrialOffer()}))])
    return lake


@pytest.fixture
def lake(stored: Lake, tmp_path: Path) -> Lake:
    """Return a lake to damage: a fresh copy of the original, at the same path."""
    copy = stored.folder.with_name("kept")
    if not copy.exists():
        shutil.copytree(stored.folder, copy)
    shutil.rmtree(stored.folder)
    shutil.copytree(copy, stored.folder)
    return Lake.open(stored.folder)


def verified(lake: Lake) -> Verification:
    return verify(lake, lake.release())


def one_file(lake: Lake, table: str) -> Path:
    return lake.folder / next(file.path for file in lake.files(lake.release()) if file.table == table)


def test_an_intact_release_has_no_problems_and_every_file_is_counted(lake: Lake) -> None:
    heard: list[tuple[int, int]] = []
    release = lake.release()
    result = verify(lake, release, lambda done, total: heard.append((done, total)))
    files = lake.files(release)
    assert result.problems == ()
    assert (result.files, result.bytes) == (len(files), sum((lake.folder / f.path).stat().st_size for f in files))
    assert result.rows == sum(pq.read_metadata(lake.folder / f.path).num_rows for f in files)
    assert heard == [(done, len(files)) for done in range(1, len(files) + 1)]


@pytest.mark.parametrize("table", ["measurements", "records", "trials", "studies", "goals"])
def test_one_changed_bit_in_any_table_is_detected(lake: Lake, table: str) -> None:
    path = one_file(lake, table)
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 4
    path.write_bytes(data)
    (problem,) = verified(lake).problems
    assert str(path.relative_to(lake.folder)) in problem
    assert "altered" in problem


def test_every_damaged_file_is_named(lake: Lake) -> None:
    cut, gone = one_file(lake, "measurements"), one_file(lake, "records")
    cut.write_bytes(cut.read_bytes()[:-1])
    gone.unlink()
    problems = verified(lake).problems
    assert [str(cut.relative_to(lake.folder)) in problems[0], str(gone.relative_to(lake.folder)) in problems[1]]
    assert "published with" in problems[0]
    assert "missing" in problems[1]


@pytest.mark.parametrize("count", ["n_measurements", "n_trials", "n_studies", "n_evaluations"])
def test_counts_that_differ_from_the_files_are_detected(lake: Lake, count: str) -> None:
    with Session(lake.engine) as session:
        session.execute(update(ReleaseRow).values({count: 77}))
        session.commit()
    (problem,) = verified(lake).problems
    assert "published with 77" in problem


def test_an_altered_or_missing_file_list_is_the_only_problem(lake: Lake) -> None:
    manifest = lake.folder / lake.release().manifest
    manifest.write_bytes(manifest.read_bytes() + b"x")
    assert "altered" in verified(lake).problems[0]
    manifest.unlink()
    assert "missing" in verified(lake).problems[0]


@pytest.mark.parametrize("pattern", ["*.avro", "*.metadata.json"])
@pytest.mark.parametrize("harm", ["missing", "junk"])
def test_damaged_iceberg_metadata_is_detected(lake: Lake, pattern: str, harm: str) -> None:
    for path in (lake.folder / "warehouse").rglob(pattern):
        if harm == "missing":
            path.unlink()
        else:
            path.write_bytes(b"junk")
    problems = verified(lake).problems
    assert problems
    assert all("Iceberg's metadata can't be read" in problem and "\n" not in problem for problem in problems)


def test_a_snapshot_of_another_release_is_detected(lake: Lake, tmp_path: Path) -> None:
    first = lake.release()
    ingest(lake, [unpacked(tmp_path / "more", study_files({5: TrialOffer()}, 128))])
    second = lake.release()
    assert verify(lake, first).problems == verify(lake, second).problems == ()
    mixed = replace(first, snapshots=second.snapshots)
    assert any("is only in Iceberg" in problem for problem in verify(lake, mixed).problems)


def test_files_that_releases_share_are_checked_once_and_reported_for_each(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(lake, [unpacked(tmp_path / "more", study_files({5: TrialOffer()}, 128))])
    releases = lake.releases()
    shared = {file.path for file in lake.files(releases[0])} & {file.path for file in lake.files(releases[1])}
    damaged = lake.folder / min(shared)
    damaged.write_bytes(damaged.read_bytes()[:-1])
    alone = [verify(lake, release) for release in releases]
    assert [len(result.problems) for result in alone] == [1, 1]
    read: list[str] = []
    file_problem = verification._file_problem

    def count(store: Store, file: DataFile) -> str | None:
        read.append(file.path)
        return file_problem(store, file)

    monkeypatch.setattr(verification, "_file_problem", count)
    checked = verification.Checked()
    assert [verify(lake, release, checked=checked) for release in releases] == alone
    assert sorted(read) == sorted({file.path for release in releases for file in lake.files(release)})


def test_a_lake_behind_a_symbolic_link_is_intact_and_a_moved_lake_is_reported(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(lake.folder)
    assert verified(Lake.open(tmp_path / "link")).problems == ()
    shutil.copytree(lake.folder, tmp_path / "copy")
    (problem,) = verified(Lake.open(tmp_path / "copy")).problems
    assert "moved or copied" in problem


def test_a_study_without_records_is_intact(tmp_path: Path) -> None:
    trial = TrialOffer(header="step,val/of_no_known_direction")
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "logs", study_files({1: trial}))])
    assert [file.rows for file in lake.files(lake.release()) if file.table == "records"] == [0]
    assert verified(lake).problems == ()
