"""Usual clients get a release from a running service: wget a folder, DuckDB, Polars and pyarrow the partitions."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_schema.tables import STUDY_KEYS

ROOT = Path(__file__).parents[3]
METRIC = "val/classification_error"
PYTHON_WITH_HTTPFS = ROOT / ".venv-httpfs" / "bin" / "python"
HERE = Path(__file__).parent
QUESTIONS = (
    f"SELECT * FROM result_at('{METRIC}', 0.4) ORDER BY ALL",
    f"SELECT * FROM steps_to('{METRIC}', 0.4) ORDER BY ALL",
    "SELECT * FROM steps_to_target ORDER BY ALL",
    "SELECT * FROM steps_to_result ORDER BY ALL",
    "SELECT * FROM measurements WHERE collection = 'root/sub' AND batch_size = 8 ORDER BY ALL",
    "SELECT * FROM records ORDER BY ALL",
    "SELECT * FROM trials ORDER BY collection, batch_size, trial_id",
    "SELECT * FROM studies ORDER BY collection, batch_size",
    "SELECT * FROM workloads ORDER BY collection",
    "SELECT * FROM metrics ORDER BY ALL",
    "SELECT * FROM goals ORDER BY ALL",
    "SELECT * FROM collections ORDER BY ALL",
)


@pytest.mark.skipif(shutil.which("wget") is None, reason="needs wget")
def test_wget_mirrors_a_release_whose_checksums_hold(served: str, tmp_path: Path) -> None:
    options = ["--recursive", "--level=inf", "--no-parent", "--no-host-directories", "--cut-dirs=2", "--quiet"]
    subprocess.run(
        ["wget", *options, "--reject=index.html*", f"{served}/data/1/"], cwd=tmp_path, check=True, timeout=60
    )
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=tmp_path, check=True)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_resumes(served: str, tmp_path: Path) -> None:
    url = f"{served}/data/1/studies.parquet"
    with urlopen(url, timeout=60) as answer:
        whole = answer.read()
    (tmp_path / "part").write_bytes(whole[:100])
    subprocess.run(["curl", "--silent", "--fail", "-C", "-", "-o", "part", url], cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "part").read_bytes() == whole


def hive_urls(served: str, table: str) -> list[str]:
    with urlopen(f"{served}/data/1/SHA256SUMS", timeout=60) as answer:
        places = [line.split("  ", 1)[1] for line in answer.read().decode().splitlines()]
    return [f"{served}/hive/1/{place}" for place in places if place.startswith(f"{table}/")]


def test_polars_takes_the_keys_from_the_urls(served: str, odd_lake: Lake) -> None:
    frame = pl.scan_parquet(hive_urls(served, "measurements"), hive_partitioning=True).select(STUDY_KEYS).unique()
    with open_release(odd_lake, odd_lake.release()) as connection:
        expected = connection.sql("SELECT DISTINCT collection, dataset, model, optimizer, batch_size FROM measurements")
        assert set(frame.collect().rows()) == set(expected.fetchall())


def test_pyarrow_reads_a_file(served: str) -> None:
    with urlopen(hive_urls(served, "measurements")[0], timeout=60) as answer:
        assert pq.read_table(io.BytesIO(answer.read())).num_rows > 0


def answers_over_http(database: str, *options: str) -> dict[str, Any]:
    """What a DuckDB with httpfs answers the questions, each as JSON text."""
    if not PYTHON_WITH_HTTPFS.exists():
        pytest.skip("needs .venv-httpfs, a DuckDB client that reads over HTTP: make setup makes it")
    questions = json.dumps(QUESTIONS)
    command = [str(PYTHON_WITH_HTTPFS), str(HERE / "ask_over_http.py"), database, *options]
    asked = subprocess.run(command, input=questions, capture_output=True, text=True, timeout=100)
    assert asked.returncode == 0, asked.stderr
    answers: dict[str, Any] = json.loads(asked.stdout)
    return answers


def expected_answers(lake: Lake) -> dict[str, Any]:
    """What the lake itself answers."""
    with open_release(lake, lake.release()) as connection:
        return {question: rows_of(connection, question) for question in QUESTIONS}


def rows_of(connection: duckdb.DuckDBPyConnection, question: str) -> list[Any]:
    found: list[Any] = json.loads(json.dumps(connection.execute(question).fetchall()))
    return found


def same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    """As texts, since NaN differs from itself."""
    assert found.keys() == expected.keys()
    return [q for q in found if json.dumps(found[q]) != json.dumps(expected[q])] == []


def test_an_attached_release_answers_as_the_lake_does(served: str, odd_lake: Lake) -> None:
    found = answers_over_http(f"{served}/v1/releases/1/losslake.duckdb")
    assert same(found, expected_answers(odd_lake))
    assert all(found.values())


def test_a_downloaded_database_is_small_and_answers_as_the_lake_does(
    served: str, odd_lake: Lake, tmp_path: Path
) -> None:
    with urlopen(f"{served}/v1/releases/1/losslake.duckdb", timeout=60) as answer:
        (tmp_path / "renamed.duckdb").write_bytes(answer.read())
    assert (tmp_path / "renamed.duckdb").stat().st_size < 2_000_000
    assert same(answers_over_http(str(tmp_path / "renamed.duckdb")), expected_answers(odd_lake))


def test_a_question_for_one_study_fetches_no_file_of_another(served: str, odd_lake: Lake) -> None:
    """Told by DuckDB's own plan, in which the files that are left of each scan stand."""
    plan = answers_over_http(f"{served}/v1/releases/1/losslake.duckdb", "--plan")
    (text,) = plan.values()
    scanned = [int(number) for number in re.findall(r"(\d+)/12 ", text)]
    assert scanned == [1]
