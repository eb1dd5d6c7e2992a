"""What an ingest does to what is stored: the same again changes nothing, a correction replaces, no fault loses."""

from __future__ import annotations

import bz2
import math
import shutil
import struct
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_schema.errors import LakeBroken
from tests.ingest.offers import METRIC, TrialOffer, study_files, tar_bytes, unpacked, written, zip_bytes

GOOD = {1: TrialOffer(), 2: TrialOffer(rows=["0,0.8", "5,0.4"]), 3: TrialOffer(rows=["0,nan", "7,0.1"])}


def curves(lake: Lake, number: int | None = None) -> list[tuple[object, ...]]:
    """Every measurement of a release, with floats as text so that NaN equals itself."""
    connection = open_release(lake, lake.release(number))
    rows = connection.execute("SELECT batch_size, trial_id, step, metric, value::VARCHAR FROM measurements").fetchall()
    connection.close()
    return sorted(rows)


def test_the_same_bytes_again_change_nothing(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    archive = written(tmp_path / "a.tar", tar_bytes(study_files(GOOD) | study_files(GOOD, 16)))
    first = ingest(lake, [archive])
    again = ingest(lake, [archive])
    assert (first.release, first.published, first.trials_ingested) == (1, True, 6)
    assert (again.release, again.published, again.trials_unchanged, again.studies_unchanged) == (1, False, 6, 2)
    assert len(lake.releases()) == 1
    assert [entry.outcome for entry in lake.ledger("unchanged")] == ["unchanged"] * 3


def test_the_same_files_in_another_container_change_nothing(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    files = study_files(GOOD)
    ingest(lake, [written(tmp_path / "a.tar", tar_bytes(files))])
    folder = unpacked(tmp_path / "folder", files)
    for other in (
        folder,
        written(tmp_path / "a.zip", zip_bytes(files)),
        written(tmp_path / "b", bz2.compress(tar_bytes(files))),
    ):
        assert not ingest(lake, [other]).published


def test_a_corrected_study_replaces_its_own_partition_in_a_new_release(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "one", study_files(GOOD) | study_files(GOOD, 16))])
    before = curves(lake)
    corrected = {**GOOD, 2: TrialOffer(rows=["0,0.8", "5,0.3"])}
    summary = ingest(lake, [unpacked(tmp_path / "two", study_files(corrected, workload="root/mnist/cnn/sgd"))])
    assert (summary.release, summary.studies_ingested, summary.trials_ingested) == (2, 1, 3)
    assert curves(lake, 1) == before
    assert set(before) ^ set(curves(lake, 2)) == {(8, 2, 5, METRIC, "0.4"), (8, 2, 5, METRIC, "0.3")}
    old, new = ({f.path for f in lake.files(lake.release(n)) if f.batch_size == 16} for n in (1, 2))
    assert old == new


def test_correction_opens_and_writes_only_files_of_its_study(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "one", study_files(GOOD) | study_files(GOOD, 16) | study_files(GOOD, 32))])
    before = {file.path: file for file in lake.files(lake.release())}
    others = [file for file in before.values() if file.study is not None and file.batch_size != 8]
    for file in others:
        (lake.folder / file.path).rename(tmp_path / Path(file.path).name)
    corrected = {**GOOD, 2: TrialOffer(rows=["0,0.8", "5,0.3"])}
    assert ingest(lake, [unpacked(tmp_path / "two", study_files(corrected))]).release == 2
    after = {file.path: file for file in lake.files(lake.release())}
    assert {file.batch_size for path, file in after.items() if path not in before and file.study is not None} == {8}
    assert {file.batch_size for path, file in before.items() if path not in after and file.study is not None} == {8}
    assert all(after[file.path] == file for file in others)
    for file in others:
        (tmp_path / Path(file.path).name).rename(lake.folder / file.path)
    table = lake.table("measurements")
    assert sorted(p.file.file_path.removeprefix(f"file://{lake.folder}/") for p in table.scan().plan_files()) == sorted(
        path for path, file in after.items() if file.table == "measurements"
    )


def test_a_study_that_lost_a_trial_on_purpose_loses_it_in_the_next_release(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "one", study_files(GOOD))])
    ingest(lake, [unpacked(tmp_path / "two", study_files({1: GOOD[1], 3: GOOD[3]}))])
    assert {row[1] for row in curves(lake)} == {1, 3}


def test_a_stored_trial_stays_when_its_new_version_is_quarantined(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "one", study_files(GOOD))])
    spoiled = {1: TrialOffer(rows=["0,0.7"]), 2: TrialOffer(rows=["0,bad"]), 3: TrialOffer(status="LOST")}
    ingest(lake, [unpacked(tmp_path / "two", study_files(spoiled))])
    assert curves(lake) == [
        (8, 1, 0, METRIC, "0.7"), (8, 2, 0, METRIC, "0.8"), (8, 2, 5, METRIC, "0.4"),
        (8, 3, 0, METRIC, "nan"), (8, 3, 7, METRIC, "0.1"),
    ]  # fmt: skip
    digests = [lake.table("trials").scan(snapshot_id=lake.release(n).snapshots["trials"]).to_arrow() for n in (1, 2)]
    kept = [{r["trial_id"]: r["content_digest"] for r in table.to_pylist()} for table in digests]
    assert kept[0][2] == kept[1][2]


def test_broken_archive_adds_complete_trials_and_removes_none(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    files = study_files(GOOD)
    ingest(lake, [unpacked(tmp_path / "one", files)])
    before = curves(lake)
    corrected = study_files({**GOOD, 1: TrialOffer(rows=["0,0.2"])}) | study_files(GOOD, 16)
    whole = tar_bytes(corrected)
    cut = whole[: whole.index(b"root/mnist/cnn/sgd/8/3/measurements.csv")]
    summary = ingest(lake, [written(tmp_path / "cut.tar", cut)])
    assert len(summary.broken) == 1
    assert "cut short" in summary.broken[0]
    assert set(before) - set(curves(lake)) == {row for row in before if row[1] == 1}
    assert [row for row in curves(lake) if row[1] == 1] == [(8, 1, 0, METRIC, "0.2")]
    complete = ingest(lake, [written(tmp_path / "whole.tar", whole)])
    assert complete.published
    fresh = Lake.create(tmp_path / "fresh")
    ingest(fresh, [tmp_path / "whole.tar"])
    assert lake.release().content_digest == fresh.release().content_digest


@pytest.mark.slow
def test_copied_lake_refuses_ingests_and_leaves_the_original_unchanged(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "one", study_files(GOOD))])
    shutil.copytree(lake.folder, tmp_path / "copy")
    before = sorted(lake.folder.rglob("*.*"))
    copy = Lake.open(tmp_path / "copy")
    with pytest.raises(LakeBroken, match="was moved or copied from"):
        ingest(copy, [unpacked(tmp_path / "two", study_files(GOOD, 16))])
    assert sorted(lake.folder.rglob("*.*")) == before
    assert curves(copy) == curves(lake)


def test_the_last_of_several_sources_counts(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    other = study_files({1: TrialOffer(rows=["0,0.125"])})
    summary = ingest(lake, [unpacked(tmp_path / "one", study_files(GOOD)), unpacked(tmp_path / "two", other)])
    assert summary.release == 1
    assert curves(lake) == [(8, 1, 0, METRIC, "0.125")]
    stored = {str(path) for path in (lake.folder / "warehouse/losslake/measurements/data").rglob("*.parquet")}
    assert stored == {str(lake.folder / f.path) for f in lake.files(lake.release()) if f.table == "measurements"}


@pytest.mark.slow
def test_content_digests_do_not_depend_on_order_or_container(tmp_path: Path) -> None:
    files = study_files(GOOD) | study_files(GOOD, 16)
    digests = set()
    for name, offer in (
        ("tar", written(tmp_path / "a.tar", tar_bytes(files))),
        ("reversed", written(tmp_path / "r.tar", tar_bytes(dict(reversed(files.items()))))),
        ("zip", written(tmp_path / "a.zip", zip_bytes(files))),
    ):
        lake = Lake.create(tmp_path / name)
        ingest(lake, [offer])
        digests.add(lake.release().content_digest)
    assert len(digests) == 1


@settings(max_examples=settings().max_examples // 5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(of_trials=st.lists(st.lists(st.floats(width=64), min_size=1, max_size=30), min_size=3, max_size=8))
def test_log_to_parquet_to_sql_is_bit_exact(tmp_path_factory: object, of_trials: list[list[float]]) -> None:
    folder: Path = tmp_path_factory.mktemp("exact")  # type: ignore[attr-defined]
    lake = Lake.create(folder / "lake")
    trials = {
        number: TrialOffer([f"{step},{value!r}" for step, value in enumerate(values)], header="step,val/loss")
        for number, values in enumerate(of_trials)
    }
    ingest(lake, [unpacked(folder / "logs", study_files(trials))])
    connection = open_release(lake, lake.release())
    found = connection.execute("SELECT value FROM measurements ORDER BY trial_id, step").fetchall()
    read = [value for (value,) in found]
    connection.close()
    for written_value, read_value in zip(chain(*of_trials), read, strict=True):
        same_bits = struct.pack("<d", written_value) == struct.pack("<d", read_value)
        assert same_bits or (math.isnan(written_value) and math.isnan(read_value))


def test_other_engines_read_main_and_every_release_by_its_tag(tmp_path: Path) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [unpacked(tmp_path / "one", study_files(GOOD))])
    ingest(lake, [unpacked(tmp_path / "two", study_files(GOOD, 16))])
    table = lake.table("measurements")
    assert table.scan().to_arrow().num_rows == 14
    assert table.scan(snapshot_id=table.metadata.refs["release-1"].snapshot_id).to_arrow().num_rows == 7
    assert set(table.metadata.refs) == {"main", "release-1", "release-2"}
