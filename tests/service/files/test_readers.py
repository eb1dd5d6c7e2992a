"""Every reader of Parquet or Iceberg gets the float64s from the raw files of a release that REST gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from fastapi.testclient import TestClient

from losslake.lake.export import export
from losslake.lake.lake import Lake
from losslake_schema.names import Study, Workload
from losslake_schema.tables import STUDY_KEYS
from tests.applications import without_sql
from tests.losslake.spark.hostile import hostile_lake

COLUMNS = [*STUDY_KEYS, "metric", "trial_id", "step", "value"]
Values = list[tuple[object, ...]]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return hostile_lake(tmp_path_factory.mktemp("readers"))


@pytest.fixture(scope="module")
def folder(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the files of `measurements`, byte by byte those of the lake."""
    folder = tmp_path_factory.mktemp("export") / "out"
    export(lake, lake.release(), folder)
    return folder / "measurements"


@pytest.fixture(scope="module")
def answered(lake: Lake) -> Iterator[Values]:
    """Return the measurements of all studies as REST gives them."""
    with TestClient(without_sql(lake), base_url="http://localhost") as client:
        studies = client.get("/v1/studies", params={"limit": 1000}).json()["rows"]
        tables = []
        for row in studies:
            study = Study(Workload(*(row[key] for key in STUDY_KEYS[:4])), row["batch_size"])
            answer = client.get("/v1/curves.arrow", params={"study": str(study)})
            table = pa.ipc.open_stream(answer.content).read_all().select(COLUMNS[4:])
            tables.append(table.to_pandas().assign(**{key: row[key] for key in STUDY_KEYS[:4]}))
        yield values_of(pd.concat(tables))


def values_of(rows: pd.DataFrame) -> Values:
    """Return sorted rows; floats by all their digits, which tells -0.0 from 0.0."""
    columns = [map(repr, rows[name].astype(float)) if name == "value" else rows[name].astype(str) for name in COLUMNS]
    return sorted(zip(*columns, strict=True))


def test_pandas(folder: Path, answered: Values) -> None:
    assert values_of(pd.read_parquet(folder)) == answered


def test_polars(folder: Path, answered: Values) -> None:
    assert values_of(pl.read_parquet(f"{folder}/**/*.parquet", hive_partitioning=True).to_pandas()) == answered


def test_pyarrow(folder: Path, answered: Values) -> None:
    assert values_of(ds.dataset(folder, partitioning="hive").to_table().to_pandas()) == answered


def test_duckdb(folder: Path, answered: Values) -> None:
    rows = duckdb.execute(f"FROM read_parquet('{folder}/**/*.parquet', hive_partitioning = true)")
    assert values_of(rows.df()) == answered


def test_pyiceberg(lake: Lake, answered: Values) -> None:
    assert values_of(lake.table("measurements").scan().to_arrow().to_pandas()) == answered


@pytest.mark.slow
def test_spark(folder: Path, answered: Values) -> None:
    pytest.importorskip("pyspark", reason="PySpark is missing: pip install 'losslake[spark]'")
    from losslake.spark.session import spark_session

    with spark_session("local[1]") as spark:
        rows = spark.read.parquet(str(folder)).toArrow().to_pandas()
    for key in STUDY_KEYS[:4]:  # Spark decodes each byte of a percent-encoded name as a character
        rows[key] = [name.encode("latin-1").decode() for name in rows[key].astype(str)]
    assert values_of(rows) == answered


def test_every_row_has_a_value(folder: Path, answered: Values) -> None:
    assert pd.read_parquet(folder)["value"].count() + sum(value == "nan" for *_, value in answered) == len(answered)
    assert {"nan", "inf", "-inf", "-0.0", "0.30000000000000004", "1e-320"} <= {value for *_, value in answered}
