"""An export for Hugging Face: what its viewer and readers need to know is in the card, and is true of the files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import mlcroissant
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from losslake.index.serving import open_release
from losslake.lake import hugging_face
from losslake.lake.export import export
from losslake.lake.hugging_face import check_repository, dataset_card, upload_command
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_schema.errors import LossLakeError
from losslake_schema.tables import PARTITIONED, TABLES
from tests.ingest.offers import TrialOffer, study_files, unpacked
from tests.losslake.lake.test_readme_and_licences import RELEASE, collection

REPOSITORY = "ann/curves"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("hub")
    lake = Lake.create(folder / "lake")
    trials = {1: TrialOffer(rows=["0,0.9", "10,nan"]), 2: TrialOffer()}
    workload = "root/sub/mnist 100%/cnn/sgd"
    ingest(lake, [unpacked(folder / "logs", study_files(trials, 64, workload) | study_files(trials, 8, workload))])
    return lake


@pytest.fixture(scope="module")
def folder(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported") / "out"
    export(lake, lake.release(), out, hugging_face=REPOSITORY)
    return out


def card(text: str) -> Mapping[str, Any]:
    _, front, body = text.split("---\n", 2)
    assert body.strip()
    about: Mapping[str, Any] = yaml.safe_load(front)
    return about


def globs(folder: Path) -> Mapping[str, list[str]]:
    """The files by configuration, found by the card's patterns as the Hub's file system finds them."""
    about = card((folder / "README.md").read_text("utf-8"))
    files = fsspec.filesystem("file")
    return {
        config["config_name"]: files.glob(f"{folder}/{each['path']}")
        for config in about["configs"]
        for each in config["data_files"]
    }


def test_the_globs_of_the_card_match_every_file_once(folder: Path) -> None:
    matched = [path for paths in globs(folder).values() for path in paths]
    assert sorted(matched) == sorted(map(str, folder.rglob("*.parquet")))
    assert list(globs(folder)) == list(TABLES)


def test_every_table_has_the_rows_of_the_release(lake: Lake, folder: Path) -> None:
    files = lake.files(lake.release())
    for table, paths in globs(folder).items():
        expected = sum(file.rows for file in files if file.table == table)
        assert sum(pq.read_metadata(path).num_rows for path in paths) == expected
        assert duckdb.read_parquet(paths).shape[0] == expected
        assert pl.scan_parquet(paths).collect().height == expected
        assert TABLES[table].names == pl.read_parquet(paths).columns


def test_a_table_of_many_studies_is_in_few_files_study_by_study(lake: Lake, folder: Path) -> None:
    for table in PARTITIONED:
        (path,) = globs(folder)[table]
        sizes = pq.read_table(path)["batch_size"].to_pylist()
        assert sorted(size for size, _ in groupby(sizes)) == [8, 64]
        expected = open_release(lake, lake.release()).sql(f"SELECT * FROM {table} ORDER BY ALL").fetchall()
        assert str(duckdb.execute(f"SELECT * FROM '{path}' ORDER BY ALL").fetchall()) == str(expected)


def test_a_table_of_many_rows_is_in_several_files(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hugging_face, "ROWS_IN_FILE", 4)
    monkeypatch.setattr(hugging_face, "ROWS_IN_GROUP", 2)
    export(lake, lake.release(), tmp_path / "out", hugging_face=REPOSITORY)
    paths = globs(tmp_path / "out")["measurements"]
    rows = [pq.read_metadata(path).num_rows for path in paths]
    assert len(paths) > 2
    assert max(rows) == 4
    described = mlcroissant.Dataset(jsonld=str(tmp_path / "out/croissant.json"))
    assert len(list(described.records(record_set="measurements"))) == sum(rows)


def test_no_file_has_a_type_that_the_viewer_refuses(folder: Path) -> None:
    for path in folder.rglob("*.parquet"):
        refused = [
            field for field in pq.read_schema(path) if pa.types.is_map(field.type) or pa.types.is_dictionary(field.type)
        ]
        assert not refused, path


def test_metaparameters_are_those_of_the_release(lake: Lake, folder: Path) -> None:
    connection = open_release(lake, lake.release())
    path = folder / "trials.parquet"
    found = duckdb.sql(
        f"SELECT trial_id, map_from_entries(parameters), map_from_entries(attributes) FROM '{path}' ORDER BY 1"
    )
    expected = connection.sql("SELECT trial_id, parameters, attributes FROM base.trials ORDER BY 1")
    assert found is not None
    assert str(found.fetchall()) == str(expected.fetchall())
    connection.close()


def test_checksums_and_croissant_describe_the_files_as_they_are(folder: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=True)
    described = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    for table in ("trials", *PARTITIONED):
        assert len(list(described.records(record_set=table))) == sum(
            pq.read_metadata(path).num_rows for path in globs(folder)[table]
        )


@pytest.mark.parametrize(
    ("licences", "expected"),
    [(["Apache-2.0"], "apache-2.0"), (["Apache-2.0", "MIT"], ["apache-2.0", "mit"]), (["as on their site"], "other")],
)
def test_the_licence_of_a_card_is_one_that_the_hub_knows(licences: list[str], expected: object) -> None:
    rows = [collection(collection=f"c{at}", licence=licence) for at, licence in enumerate(licences)]
    about = card(dataset_card(REPOSITORY, RELEASE, [], rows, "# Title\n"))
    assert about["license"] == expected
    assert ("license_link" in about) == (expected == "other")
    assert about["size_categories"] == ["n<1K"]


@pytest.mark.parametrize(
    ("n_measurements", "size"),
    [
        (999, "n<1K"),
        (1000, "1K<n<10K"),
        (9_999, "1K<n<10K"),
        (71_600_000, "10M<n<100M"),
        (10**12 - 1, "100B<n<1T"),
        (10**12, "n>1T"),
    ],
)
def test_a_card_has_the_size_category_of_its_measurements(n_measurements: int, size: str) -> None:
    release = replace(RELEASE, n_measurements=n_measurements)
    assert card(dataset_card(REPOSITORY, release, [], [], "# Title\n"))["size_categories"] == [size]


@pytest.mark.parametrize("name", ["curves", "a/b/c", "ann/--curves", "ann/cur ves", "ann/x.git", "", "ann/$(id)"])
def test_a_name_that_cannot_be_a_repository_is_refused(name: str) -> None:
    with pytest.raises(LossLakeError, match="give OWNER/NAME"):
        check_repository(name)


def test_the_last_line_of_the_command_publishes_the_folder(lake: Lake, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "losslake", "export", "my curves", "--lake", str(lake.folder)]
    done = subprocess.run(
        [*command, "--hugging-face", REPOSITORY], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    last = done.stdout.splitlines()[-1]
    assert (
        last
        == upload_command(REPOSITORY, Path("my curves"))
        == "hf upload ann/curves 'my curves' . --repo-type dataset"
    )
