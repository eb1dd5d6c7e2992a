"""pandas, Polars, DuckDB and R read an answer from its address, and see the same floats."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import duckdb
import pandas as pd
import polars as pl
import pytest

from tests.bundled import bundled_lake
from tests.servers.processes import SECONDS
from tests.servers.processes import program as installed
from tests.service.running import served

pytestmark = pytest.mark.slow

QUERY = "workload=bundled/digits/mlp_64/nesterov_momentum&target=0.05"
COLUMNS = ["batch_size", "steps", "value", "examples", "perfect_scaling_steps"]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    lake = bundled_lake(tmp_path_factory).folder
    with served(lake, lake=str(lake)) as running:
        yield f"{running.url}/v1/scaling"


@pytest.fixture(scope="module")
def expected(address: str) -> list[list[float | None]]:
    with urlopen(f"{address}?{QUERY}", timeout=SECONDS) as answer:
        rows = json.load(answer)["rows"]
    return [[row[name] for name in COLUMNS] for row in rows]


def test_pandas_reads_both(address: str, expected: list[list[float | None]]) -> None:
    for frame in (pd.read_csv(f"{address}.csv?{QUERY}"), pd.read_parquet(f"{address}.parquet?{QUERY}")):
        assert frame[COLUMNS].astype(object).values.tolist() == expected


def test_polars_reads_both(address: str, expected: list[list[float | None]], tmp_path: Path) -> None:
    for frame in (pl.read_csv(f"{address}.csv?{QUERY}"), pl.read_parquet(f"{address}.parquet?{QUERY}")):
        assert [list(row) for row in frame.select(COLUMNS).rows()] == expected


def test_duckdb_reads_both(address: str, expected: list[list[float | None]], tmp_path: Path) -> None:
    for ending in ("csv", "parquet"):
        file = tmp_path / f"answer.{ending}"
        with urlopen(f"{address}.{ending}?{QUERY}", timeout=SECONDS) as answer:
            file.write_bytes(answer.read())
        rows = duckdb.execute(f"SELECT {', '.join(COLUMNS)} FROM '{file}'").fetchall()
        assert [list(row) for row in rows] == expected


def test_r_reads_csv(address: str, expected: list[list[float | None]]) -> None:
    """Parquet in R needs the package arrow, which Debian doesn't have."""
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    program = f"""
    answer <- read.csv("{address}.csv?{QUERY}")
    for (row in seq_len(nrow(answer))) cat(sprintf("%.17g", as.numeric(answer[row, c({names})])), "\\n")
    """
    command = [str(installed("Rscript", "r-base-core")), "-e", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    rows = [[float(text) for text in line.split()] for line in done.stdout.splitlines()]
    assert rows == expected
