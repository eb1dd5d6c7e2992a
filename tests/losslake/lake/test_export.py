"""An export is read by other tools as its README says, percent-encoded partitions included."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pytest

from losslake.lake.export import export
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_schema.errors import LakeBroken, LossLakeError
from tests.ingest.offers import TrialOffer, study_files, unpacked

TRIALS = {1: TrialOffer(rows=["0,0.9", "10,nan"]), 2: TrialOffer()}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake.create(tmp_path / "lake")
    files = study_files(TRIALS, 64, "root/sub/mnist 100%/cnn/sgd") | study_files(TRIALS, 8)
    ingest(lake, [unpacked(tmp_path / "logs", files)])
    return lake


@pytest.fixture
def folder(lake: Lake, tmp_path: Path) -> Path:
    export(lake, lake.release(), tmp_path / "out")
    return tmp_path / "out"


def snippet(folder: Path, language: str, holding: str) -> str:
    """The code of the README that holds this text."""
    found = re.findall(rf"```{language}\n(.*?)```", (folder / "README.md").read_text("utf-8"), re.DOTALL)
    return next(str(code) for code in found if holding in code)


def test_sha256sum_finds_every_file_in_order(folder: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=True)


def test_the_duckdb_line_of_the_readme_works(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    rows = duckdb.sql(snippet(folder, "sql", "read_parquet"))
    assert rows is not None
    assert rows.shape[0] == 5
    assert set(map(str, rows.project("value").fetchall())) <= {"(0.9,)", "(0.5,)", "(0.25,)", "(nan,)"}
    assert set(rows.project("dataset").fetchall()) == {("mnist 100%",)}
    assert set(rows.project("collection").fetchall()) == {("root/sub",)}


@pytest.mark.parametrize("holding", ["polars", "pyarrow"])
def test_the_python_lines_of_the_readme_work(folder: Path, monkeypatch: pytest.MonkeyPatch, holding: str) -> None:
    monkeypatch.chdir(folder)
    lines = snippet(folder, "python", holding).strip().splitlines()
    names: dict[str, object] = {"pl": pl, "ds": ds}
    exec("\n".join([*lines[:-1], f"shown = {lines[-1]}"]), names)
    table = names["shown"]
    assert isinstance(table, pl.DataFrame | pd.DataFrame)
    assert len(table) == 5
    assert set(table["collection"]) == {"root/sub"}
    assert set(map(str, table["value"])) <= {"0.9", "0.5", "0.25", "nan"}


def test_links_share_the_bytes_of_the_lake(lake: Lake, tmp_path: Path) -> None:
    export(lake, lake.release(), tmp_path / "linked", link=True)
    inodes = {(lake.folder / file.path).stat().st_ino for file in lake.files(lake.release())}
    assert {path.stat().st_ino for path in (tmp_path / "linked").rglob("*.parquet")} == inodes


def test_a_folder_that_holds_something_is_refused_and_left_alone(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("x")
    with pytest.raises(LossLakeError, match="is not empty"):
        export(lake, lake.release(), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_an_altered_file_stops_the_export_and_leaves_nothing(lake: Lake, tmp_path: Path) -> None:
    file = next(file for file in lake.files(lake.release()) if file.table == "records")
    data = bytearray((lake.folder / file.path).read_bytes())
    data[10] ^= 1
    (lake.folder / file.path).write_bytes(data)
    with pytest.raises(LakeBroken, match="was altered"):
        export(lake, lake.release(), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".out*"))
