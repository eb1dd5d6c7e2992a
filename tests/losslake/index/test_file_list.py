"""The list of a release's files says of each what is in it."""

from __future__ import annotations

import hashlib
import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.index.file_list import FILES, file_list
from losslake.lake.export import export
from losslake.lake.lake import Lake
from losslake.lake.manifest import MANIFEST
from losslake.lake.ranges import ranges_of
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


@contextmanager
def away(lake: Lake) -> Iterator[None]:
    """Hide the data files."""
    (lake.folder / "warehouse").rename(lake.folder / "away")
    try:
        yield
    finally:
        (lake.folder / "away").rename(lake.folder / "warehouse")


def forget_lists(lake: Lake) -> None:
    """Delete the cached lists."""
    for cached in (lake.folder / "serving").glob("*-files-*"):
        cached.unlink()


def forget_ranges(lake: Lake) -> None:
    """Write the newest manifest as an earlier version did, which had no ranges."""
    release = lake.release()
    path = lake.folder / release.manifest
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
    with closing(sqlite3.connect(lake.folder / "catalog.db")) as catalog, catalog:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        catalog.execute("UPDATE losslake_releases SET manifest_sha256 = ? WHERE number = ?", (digest, release.number))


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
    (lake.folder / lake.release().manifest).rename(lake.folder / "away")
    assert file_list(lake, lake.release()).equals(first)
    (lake.folder / "away").rename(lake.folder / lake.release().manifest)


def test_ingest_knows_the_ranges_of_what_it_wrote(lake: Lake) -> None:
    forget_lists(lake)
    with away(lake):
        listed = file_list(lake, lake.release())
    forget_lists(lake)
    forget_ranges(lake)
    assert file_list(lake, lake.release()).equals(listed)


def test_earlier_versions_read_a_manifest_as_they_know_no_further_column(lake: Lake) -> None:
    assert pq.read_table(lake.folder / lake.release().manifest).cast(MANIFEST).num_rows == len(
        lake.files(lake.release())
    )


def test_ranges_of_unchanged_files_are_carried_over_from_release_to_release(lake: Lake, tmp_path: Path) -> None:
    forget_lists(lake)
    forget_ranges(lake)
    of_earlier_version = file_list(lake, lake.release()).to_pylist()
    for batch_size in (16, 32):
        ingest(lake, [unpacked(tmp_path / f"logs-{batch_size}", study_files(ONLY_NAN, batch_size))])
        with away(lake):
            rows = file_list(lake, lake.release()).to_pylist()
        assert all(row in rows for row in of_earlier_version if row["batch_size"])
        of_new_study = [row for row in rows if row["batch_size"] == batch_size]
        assert [(row["table"], row["trial_id_max"]) for row in of_new_study] == [("measurements", 1), ("records", None)]


def test_missing_file_with_unknown_ranges_is_reported(lake: Lake) -> None:
    forget_lists(lake)
    forget_ranges(lake)
    (lake.folder / lake.files(lake.release())[0].path).unlink()
    with pytest.raises(LakeBroken, match="is missing"):
        file_list(lake, lake.release())


@given(st.lists(st.lists(st.floats() | st.sampled_from([0.0, -0.0]), max_size=4), max_size=4))
def test_ranges_ignore_nan_and_nulls(chunks: list[list[float]]) -> None:
    values = pa.chunked_array([[None, *chunk] for chunk in chunks], pa.float64())
    numbers = [value for chunk in chunks for value in chunk if not math.isnan(value)]
    *_, least, greatest = ranges_of(pa.table({"value": values}))
    assert (least, greatest) == (min(numbers, default=None), max(numbers, default=None))
