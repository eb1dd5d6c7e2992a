"""The list of a release's files says of each what is in it."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from losslake.index.file_list import FILES, file_list
from losslake.lake.export import export
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_schema.errors import LakeBroken
from tests.ingest.offers import TrialOffer, study_files, unpacked

HEADER = "step,val/loss"
TRIALS = {
    1: TrialOffer(["0,inf", "10,nan", "30,0.5"], header=HEADER),
    7: TrialOffer(["5,-0.25", "20,nan"], header=HEADER),
}
ONLY_NAN = {1: TrialOffer(rows=["0,nan"])}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("listed")
    lake = Lake.create(folder / "lake")
    files = study_files(TRIALS, 64, "root/sub/mnist 100%/cnn/sgd") | study_files(ONLY_NAN, 8)
    ingest(lake, [unpacked(folder / "logs", files)])
    return lake


def test_every_file_of_an_export_is_listed_with_its_rows_and_partition(lake: Lake, tmp_path: Path) -> None:
    export(lake, lake.release(), tmp_path / "out")
    rows = file_list(lake, lake.release()).to_pylist()
    assert {row["path"] for row in rows} == {
        path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.parquet")
    }
    for row in rows:
        file = tmp_path / "out" / row["path"]
        assert (row["bytes"], row["rows"]) == (file.stat().st_size, pq.read_metadata(file).num_rows)
        assert row["path"].startswith(row["table"])


def test_ranges_are_those_of_the_values_and_nan_is_neither_least_nor_greatest(lake: Lake) -> None:
    rows = file_list(lake, lake.release()).to_pylist()
    (row,) = (row for row in rows if row["table"] == "measurements" and row["batch_size"] == 64)
    assert (row["collection"], row["dataset"]) == ("root/sub", "mnist 100%")
    assert (row["metric_min"], row["metric_max"]) == ("val/loss",) * 2
    assert (row["trial_id_min"], row["trial_id_max"]) == (1, 7)
    assert (row["step_min"], row["step_max"]) == (0, 30)
    assert (row["value_min"], row["value_max"]) == (-0.25, math.inf)


def test_file_of_nan_only_has_no_value_range(lake: Lake) -> None:
    rows = file_list(lake, lake.release()).to_pylist()
    (row,) = (row for row in rows if row["table"] == "measurements" and row["batch_size"] == 8)
    assert (row["value_min"], row["value_max"], row["step_max"]) == (None, None, 0)


def test_tables_without_a_column_have_no_range_of_it(lake: Lake) -> None:
    rows = {row["path"]: row for row in file_list(lake, lake.release()).to_pylist()}
    assert (rows["trials.parquet"]["trial_id_min"], rows["trials.parquet"]["trial_id_max"]) == (1, 7)
    assert rows["trials.parquet"]["value_min"] is None
    assert rows["studies.parquet"]["collection"] is None


def test_file_list_is_built_once_per_release(lake: Lake) -> None:
    first = file_list(lake, lake.release())
    assert first.schema.names == FILES.names
    (lake.folder / "warehouse").rename(lake.folder / "away")
    try:
        assert file_list(lake, lake.release()).equals(first)
    finally:
        (lake.folder / "away").rename(lake.folder / "warehouse")


def test_missing_file_is_reported(lake: Lake) -> None:
    shutil.rmtree(lake.folder / "serving")
    (lake.folder / lake.files(lake.release())[0].path).unlink()
    with pytest.raises(LakeBroken, match="is missing"):
        file_list(lake, lake.release())
