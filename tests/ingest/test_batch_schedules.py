"""Trials whose batch size changes are stored, listed, moved and erased like others, in a study without a batch size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pytest

from losslake.index.serving import open_release
from losslake.lake.data_files import read_small_table
from losslake.lake.export import export
from losslake.lake.lake import Lake
from losslake.lake.verification import verify
from losslake_ingest.bundles.writing import write_bundle
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest
from losslake_ingest.releases import compaction
from losslake_ingest.releases.compaction import compact
from losslake_ingest.releases.erasure import erase
from losslake_ingest.releases.withdrawal import withdraw
from losslake_ingest.run import ingest
from losslake_schema.names import CHANGES, Study, Trial
from tests.scheduled_lake import FIXED, MAPPING, SCHEDULED, THREE, WORKLOAD, scheduled_lake, write_runs
from tests.without_history import history_is_written

STUDY = f"{WORKLOAD}/scheduled"
NULL_FOLDER = "batch_size=__HIVE_DEFAULT_PARTITION__"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    with history_is_written():
        return scheduled_lake(tmp_path_factory.mktemp("scheduled"))


def test_a_study_without_a_batch_size_has_a_name_of_its_own() -> None:
    study = Study.parse(STUDY)
    assert (study.batch_size, str(study)) == (CHANGES, STUDY)
    assert Trial.parse(f"{STUDY}/3") == Trial(study, 3)
    assert study.folder().endswith(f"/{NULL_FOLDER}")
    assert Study.of({**study.shown_key()}) == Study.of(study.key()) == study


def test_tables_paths_and_iceberg_have_null_for_the_batch_size(made: Lake) -> None:
    release = made.release()
    assert verify(made, release).problems == ()
    files = [file for file in made.files(release) if file.study == Study.parse(STUDY)]
    assert {file.table for file in files} == {"measurements", "records"}
    assert all(f"/{NULL_FOLDER}/" in file.path for file in files)
    (studies,) = (file for file in made.files(release) if file.table == "studies")
    stored = duckdb.read_parquet(str(made.store.local(studies.path, studies.bytes)))
    assert sorted(stored.fetchall(), key=repr)  # readable by itself
    assert stored.filter("batch_size IS NULL").count("*").fetchall() == [(1,)]
    by_iceberg = made.table("measurements").scan(row_filter="batch_size is null").to_arrow()
    assert len(by_iceberg) == len(SCHEDULED) * 60
    assert by_iceberg["batch_size"].null_count == len(by_iceberg)


def test_views_have_null_and_the_name_that_all_trials_share(tmp_path: Path, made: Lake) -> None:
    counts = {"studies": 1, "trials": 4, "measurements": 240, "steps_to_target": 4, "trial_resources": 4}
    with open_release(made, made.release()) as connection:
        for view, n in counts.items():
            assert connection.sql(f"FROM {view} WHERE batch_size IS NULL").count("*").fetchall() == [(n,)], view
            assert connection.sql(f"FROM {view} WHERE batch_size = 0").fetchall() == [], view
        assert connection.sql("SELECT schedule FROM studies WHERE batch_size IS NULL").fetchall() == [(None,)]
        assert connection.sql("SELECT batch_sizes, n_studies FROM workloads").fetchall() == [([8, 16, 32, 64], 5)]
    shared = scheduled_lake(tmp_path, {"s0": THREE, "b8_0": FIXED["b8_0"]})
    with open_release(shared, shared.release()) as connection:
        rows = connection.sql("SELECT batch_size, schedule FROM studies ORDER BY batch_size").fetchall()
    assert rows == [(8, None), (None, "8-16-32")]


def test_the_trial_states_its_pieces(made: Lake) -> None:
    with open_release(made, made.release()) as connection:
        found = connection.sql(
            "SELECT attributes['batch_schedule'], attributes['batch_schedule_name'] FROM trials "
            "WHERE batch_size IS NULL"
        ).fetchall()
    assert sorted(found) == [("[[0, 8], [20, 16], [40, 32]]", '"8-16-32"')] * 3 + [("[[0, 8], [30, 64]]", '"8-64"')]


def test_the_same_logs_again_change_nothing_and_others_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "MOST_PARTS", 0)
    lake = scheduled_lake(tmp_path, {"s0": THREE})
    assert not ingest(lake, [tmp_path / "logs"]).published
    more = [write_runs(tmp_path / name, {name: THREE}) for name in ("s1", "s2", "s3", "s4", "s5")]
    assert ingest(lake, more).trials_ingested == 5
    digests = {trial["content_digest"] for trial in _trials(lake)}
    assert compact(lake).release is not None
    assert [trial["batch_size"] for trial in _trials(lake)] == [CHANGES] * 6
    assert {trial["content_digest"] for trial in _trials(lake)} == digests
    assert verify(lake, lake.release()).problems == ()


def test_the_schedule_is_part_of_a_trials_digest(tmp_path: Path) -> None:
    digests = set()
    for name, pieces in (("a", "0:8 20:16"), ("b", "0:8 21:16")):
        mapping = f'schedule.batch_size = "{pieces}"\n{MAPPING}'
        lake = scheduled_lake(tmp_path / name, {"s0": THREE}, mapping)
        digests.add(read_small_table(lake.store, lake.files(lake.release()), "trials")["content_digest"][0].as_py())
    assert len(digests) == 2


def test_withdrawn_and_erased_trials_are_gone_and_the_rest_is_whole(tmp_path: Path) -> None:
    lake = scheduled_lake(tmp_path)
    assert [str(each) for each in withdraw(lake, [f"{STUDY}/1"], "wrong", "ada").trials] == [f"{STUDY}/1"]
    erase(lake, [f"{STUDY}/2"], "asked to", "ada")
    assert [trial["trial_id"] for trial in _trials(lake) if trial["batch_size"] == CHANGES] == [3, 4]
    assert verify(lake, lake.release()).problems == ()


def test_a_bundle_gives_the_same_release(tmp_path: Path, made: Lake) -> None:
    path = tmp_path / "demo.losslake"
    write_bundle(made, made.release(), path, "https://host/c@1")
    lake = Lake.create(tmp_path / "other")
    summary = ingest(lake, [path], Request())
    assert not summary.broken
    mine, others = ({t["content_digest"] for t in _trials(each)} for each in (lake, made))
    assert mine == others
    assert {t["batch_size"] for t in _trials(lake)} == {CHANGES, 8, 16, 32, 64}


def _trials(lake: Lake) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_small_table(lake.store, lake.files(lake.release()), "trials").to_pylist()
    return rows


@pytest.mark.parametrize("keys_in_files", [False, True])
def test_an_export_is_read_by_others_with_null(tmp_path: Path, made: Lake, keys_in_files: bool) -> None:
    export(made, made.release(), tmp_path / "out", keys_in_files=keys_in_files)
    rows = duckdb.read_parquet(
        str(tmp_path / "out" / "measurements" / "**" / "*.parquet"), hive_partitioning=not keys_in_files
    )
    assert rows.filter("batch_size IS NULL").count("*").fetchall() == [(240,)]


@pytest.mark.parametrize("reader", ["pandas", "polars", "pyarrow"])
def test_readers_of_the_documentation_give_null(tmp_path: Path, made: Lake, reader: str) -> None:
    export(made, made.release(), tmp_path / "out")
    place = str(tmp_path / "out" / "measurements")
    if reader == "pandas":
        sizes = pd.read_parquet(place, partitioning=ds.partitioning(flavor="hive"))["batch_size"]
        assert int(sizes.isna().sum()) == 240
    elif reader == "polars":
        rows = pl.scan_parquet(f"{place}/**/*.parquet", hive_partitioning=True).collect()
        assert rows["batch_size"].null_count() == 240
    else:
        assert ds.dataset(place, partitioning="hive").to_table()["batch_size"].null_count == 240


def test_a_mapping_states_the_schedule(tmp_path: Path) -> None:
    stated = 'schedule.batch_size = "0:8 20:16"\nschedule.name = "warm-up"\n'
    lake = scheduled_lake(tmp_path, {"b8_0": FIXED["b8_0"]}, stated + MAPPING)
    with open_release(lake, lake.release()) as connection:
        assert connection.sql("SELECT batch_size, schedule FROM studies").fetchall() == [(None, "warm-up")]


def test_a_schedule_of_one_size_is_an_ordinary_study(tmp_path: Path) -> None:
    lake = scheduled_lake(tmp_path, {"b8_0": FIXED["b8_0"]}, 'schedule.batch_size = "0:32 9:32"\n' + MAPPING)
    (trial,) = _trials(lake)
    assert (trial["batch_size"], trial["attributes"]) == (32, [])


def refused(folder: Path, log: str, mapping: str = MAPPING) -> str:
    (folder / "losslake.toml").write_text(mapping)
    (folder / "log.csv").write_text(log)
    (quarantined,) = plan_ingest(None, [folder], Request()).quarantined
    return quarantined.message


def rows(sizes: dict[int, int], name: str = "batch_size") -> str:
    lines = (f"{step},{size},{1 / step if step else 9},{step}\n" for step, size in sizes.items())
    return f"step,{name},loss,elapsed\n" + "".join(lines)


def test_a_row_has_the_batch_size_of_the_update_that_ended_there(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "losslake.toml").write_text(MAPPING)
    (tmp_path / "logs" / "log.csv").write_text(rows({0: 4, 1: 8, 2: 8, 3: 16, 9: 16, 10: 8, 40: 8}))
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [tmp_path / "logs"])
    (trial,) = _trials(lake)
    assert ("batch_schedule", "[[0, 8], [2, 16], [9, 8]]") in trial["attributes"]


def test_a_change_between_rows_far_apart_is_refused_with_what_to_state(tmp_path: Path) -> None:
    message = refused(tmp_path, rows({1: 8, 2: 8, 5: 16}))
    assert "whose change after step 2 may be at any step up to 5" in message
    assert 'batch_size = "0:64 1000:128" under [schedule]' in message
    assert "whose change before the first row may be at any step up to 3" in refused(tmp_path, rows({3: 8, 4: 16}))


def test_a_column_of_one_process_is_refused(tmp_path: Path) -> None:
    assert "may be of one process" in refused(tmp_path, rows({1: 8, 2: 16}, "micro_batch_size"))
    beside = MAPPING.replace("[fields]", "[files]\nside = ['config.json']\n[fields]")
    (tmp_path / "config.json").write_text('{"world_size": 4}')
    assert "of one process beside world_size" in refused(tmp_path, rows({1: 8, 2: 16}), beside)


def test_examples_are_no_steps_where_the_batch_size_changes(tmp_path: Path) -> None:
    mapping = 'schedule.batch_size = "0:8 20:16"\n' + MAPPING.replace('"updates"', '"examples"')
    assert "from which no steps are computed where the batch size changes" in refused(tmp_path, rows({8: 8}), mapping)


@pytest.mark.parametrize("pieces", ["64", "0:64 5:0", "1:64", "0:64 5:8 5:9"])
def test_a_schedule_that_can_not_be_read_is_refused(tmp_path: Path, pieces: str) -> None:
    message = refused(tmp_path, rows({1: 8}), f'schedule.batch_size = "{pieces}"\n' + MAPPING)
    assert "the schedule of the batch size can't be read" in message
