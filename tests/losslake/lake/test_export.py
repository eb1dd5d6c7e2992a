"""Other tools read an export as its README says, percent-encoded partitions included."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from losslake.index.serving import open_release
from losslake.lake.export import export
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_schema.tables import PARTITIONED, TABLES
from tests.ingest.offers import TrialOffer, study_files, unpacked

TRIALS = {1: TrialOffer(rows=["0,0.9", "10,nan"]), 2: TrialOffer()}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("export")
    lake = Lake.create(folder / "lake")
    files = study_files(TRIALS, 64, "root/sub/mnist 100%/cnn/sgd") | study_files(TRIALS, 8)
    ingest(lake, [unpacked(folder / "logs", files)])
    return lake


@pytest.fixture(scope="module", params=[False, True], ids=["keys in paths", "keys in files"])
def folder(request: pytest.FixtureRequest, lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported") / "out"
    export(lake, lake.release(), out, keys_in_files=request.param)
    return out


def test_each_file_has_the_keys_of_its_study(lake: Lake, tmp_path: Path) -> None:
    export(lake, lake.release(), tmp_path / "out", keys_in_files=True)
    for table in PARTITIONED:
        paths = sorted((tmp_path / "out" / table).rglob("*.parquet"))
        whole = pa.concat_tables(pq.ParquetFile(path).read() for path in paths)
        assert whole.schema.equals(TABLES[table])
        connection = open_release(lake, lake.release())
        expected = connection.sql(f"SELECT * FROM {table} ORDER BY ALL").fetchall()
        found = duckdb.execute("SELECT * FROM whole ORDER BY ALL").fetchall()
        assert list(map(repr, found)) == list(map(repr, expected))
        connection.close()
    assert not [path for path in (tmp_path / "out").rglob("*=*") if "LICENSES" not in str(path)]


def snippet(folder: Path, language: str, holding: str) -> str:
    """Return the code block of the README that contains a text."""
    blocks = re.findall(rf"```{language}\n(.*?)```", (folder / "README.md").read_text("utf-8"), re.DOTALL)
    return next(str(code) for code in blocks if holding in code)


def test_sha256sum_accepts_every_file(folder: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=True)


def test_the_duckdb_line_of_the_readme_works(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    rows = duckdb.sql(snippet(folder, "sql", "read_parquet"))
    assert rows is not None
    assert rows.shape[0] == 5
    assert set(map(str, rows.project("value").fetchall())) <= {"(0.9,)", "(0.5,)", "(0.25,)", "(nan,)"}
    assert set(rows.project("dataset").fetchall()) == {("mnist 100%",)}
    assert set(rows.project("collection").fetchall()) == {("root/sub",)}


@pytest.mark.parametrize("holding", ["polars", "pandas", "pyarrow"])
def test_the_python_lines_of_the_readme_work(folder: Path, monkeypatch: pytest.MonkeyPatch, holding: str) -> None:
    monkeypatch.chdir(folder)
    lines = snippet(folder, "python", holding).strip().splitlines()
    names: dict[str, object] = {"pl": pl, "ds": ds, "pd": pd}
    exec("\n".join([*lines[:-1], f"shown = {lines[-1]}"]), names)
    table = names["shown"]
    assert isinstance(table, pl.DataFrame | pd.DataFrame)
    assert len(table) == 5
    assert set(table["collection"]) == {"root/sub"}
    assert set(map(str, table["value"])) <= {"0.9", "0.5", "0.25", "nan"}


def test_hard_links_share_the_bytes_of_the_lake(lake: Lake, tmp_path: Path) -> None:
    export(lake, lake.release(), tmp_path / "linked", link=True)
    inodes = {(lake.folder / file.path).stat().st_ino for file in lake.files(lake.release())}
    assert {path.stat().st_ino for path in (tmp_path / "linked").rglob("*.parquet")} == inodes


def test_a_folder_that_is_not_empty_is_refused_and_unchanged(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("x")
    with pytest.raises(LossLakeError, match="is not empty"):
        export(lake, lake.release(), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_an_altered_file_aborts_the_export_and_leaves_no_files(lake: Lake, tmp_path: Path) -> None:
    file = next(file for file in lake.files(lake.release()) if file.table == "records")
    whole = (lake.folder / file.path).read_bytes()
    (lake.folder / file.path).write_bytes(whole[:10] + bytes([whole[10] ^ 1]) + whole[11:])
    try:
        with pytest.raises(LakeBroken, match="was altered"):
            export(lake, lake.release(), tmp_path / "out")
    finally:
        (lake.folder / file.path).write_bytes(whole)
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".out*"))
