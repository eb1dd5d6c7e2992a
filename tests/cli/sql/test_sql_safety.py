"""SQL never writes to the lake; output files are complete or absent."""

from __future__ import annotations

import hashlib
import io
import json
import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from losslake.lake.lake import Lake
from tests.cli.conftest import Run


def state_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a release, without serving/, which is rebuilt when missing."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "serving" not in path.parts)
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO '{file}'",
        "COPY (PIVOT (SELECT 1 AS a) ON a) TO '{file}'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{file}'",
        "PREPARE p AS COPY (SELECT 1) TO '{file}'; EXECUTE p",
        "EXPORT DATABASE '{file}.d'",
        "ATTACH '{lake}/catalog.db' AS x",
        "ATTACH '{lake}/new.duckdb' AS x (READ_WRITE)",
        "SET enable_profiling = 'json'; SET profiling_output = '{file}'; SELECT 1",
        "PRAGMA enable_profiling = 'json'; PRAGMA profile_output = '{file}'; SELECT 1",
        "SET log_query_path = '{file}'; SELECT 1",
        "CALL enable_logging(storage = 'file', storage_path = '{lake}')",
        "SELECT 1; COPY (SELECT 1) TO '{file}'",
    ],
)
def test_no_statement_writes_to_the_lake(losslake: Run, lake: Lake, statement: str) -> None:
    losslake("sql", "-c", "SELECT 1")
    before = state_of(lake.folder)
    file = lake.folder / next(f.path for f in lake.files(lake.release()) if f.table == "records")
    done = losslake("sql", "-c", statement.format(file=file, lake=lake.folder))
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert state_of(lake.folder) == before


def test_names_and_strings_that_look_like_writing_statements_are_allowed(losslake: Run) -> None:
    query = "EXPLAIN SELECT 'COPY x TO y' -- export"
    assert losslake("sql", "-c", query).returncode == 0
    assert losslake("sql", "-c", "CREATE TEMP TABLE t AS SELECT 7 AS a; FROM t", "--format", "csv").stdout == "a\n7\n"


def test_local_files_can_be_joined(losslake: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("trial_id,who\n1,ada\n")
    query = f"SELECT who FROM trials JOIN '{tmp_path}/mine.csv' USING (trial_id) WHERE batch_size = 8"
    assert losslake("sql", "-c", query, "--format", "csv").stdout == "who\nada\n"


def test_a_setting_prints_nothing_into_the_result(losslake: Run) -> None:
    assert losslake("sql", "-c", "SET threads = 1; SELECT 2 AS a", "--format", "csv").stdout == "a\n2\n"


def test_output_in_the_lake_is_refused(losslake: Run, lake: Lake) -> None:
    done = losslake("sql", "-c", "SELECT 1", "--format", "csv", "--output", lake.folder / "lake.toml")
    assert done.returncode == 1
    assert "is read-only" in done.stderr


def test_a_file_holds_one_result_and_appears_when_complete(losslake: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    done = losslake("sql", "-c", "SELECT 1 AS a; SELECT 2 AS a", "--format", "csv", "--output", target)
    assert done.returncode == 1
    assert "one result" in done.stderr
    assert target.read_text() == "a\n1\n"
    # The error comes after many rows were written.
    late = "SELECT CASE WHEN range = 90000 THEN error('late') ELSE range END AS a FROM range(100000)"
    assert losslake("sql", "-c", late, "--format", "csv", "--output", target).returncode == 1
    assert target.read_text() == "a\n1\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_invalid_output_is_reported_in_one_line(losslake: Run, tmp_path: Path) -> None:
    nowhere = losslake("sql", "-c", "SELECT 1", "--format", "csv", "--output", tmp_path / "no/such/x.csv")
    assert "No such file" in nowhere.stderr
    table = losslake("sql", "-c", "SELECT 1", "--output", tmp_path / "x")
    assert "a table can't be written to a file" in table.stderr


FLOATS = (0.1, 5e-324, 1.7976931348623157e308, 0.7, 1 / 3, -0.0)


def test_csv_and_json_give_back_every_float_and_integer(losslake: Run) -> None:
    floats = ", ".join(f"'{x!r}'::DOUBLE" for x in FLOATS)
    query = f"SELECT unnest([{floats}]) AS x, 9223372036854775807 AS n"
    rows = losslake("sql", "-c", query, "--format", "csv").stdout.splitlines()[1:]
    assert [float(row.split(",")[0]).hex() for row in rows] == [x.hex() for x in FLOATS]
    records = json.loads(losslake("sql", "-c", query, "--format", "json").stdout)
    assert [record["x"].hex() for record in records] == [x.hex() for x in FLOATS]
    assert {record["n"] for record in records} == {2**63 - 1}


def test_json_has_strings_for_nonfinite_numbers(losslake: Run) -> None:
    query = "SELECT 'nan'::DOUBLE AS a, 'inf'::DOUBLE AS b, ['-inf'::DOUBLE] AS c"
    assert json.loads(losslake("sql", "-c", query, "--format", "json").stdout) == [
        {"a": "NaN", "b": "Infinity", "c": ["-Infinity"]}
    ]


def test_parquet_keeps_types_and_prints_no_warning(losslake: Run, tmp_path: Path) -> None:
    query = "SELECT 'nan'::DOUBLE AS a, 2::SMALLINT AS b, {'x': [1]} AS c"
    done = losslake("sql", "-c", query, "--format", "parquet", "--output", tmp_path / "x.parquet")
    assert (done.returncode, done.stderr) == (0, "")
    table = pq.read_table(io.BytesIO((tmp_path / "x.parquet").read_bytes()))
    assert [str(field.type) for field in table.schema] == ["double", "int16", "struct<x: list<element: int32>>"]
    assert math.isnan(table["a"][0].as_py())
