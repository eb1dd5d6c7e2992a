"""pandas, Polars, pyarrow, DuckDB with httpfs, curl and the standard library read the same curve, to the last bit."""

from __future__ import annotations

import csv
import io
import json
import math
import struct
import subprocess
from collections.abc import Callable, Iterable
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.clients.conftest import CURVE, METRIC, ROOT, TRIAL
from tests.servers.processes import SECONDS, program

HTTPFS_PYTHON = ROOT / ".venv-httpfs" / "bin" / "python"
Curve = list[tuple[int, float]]
WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def url(served: str, ending: str = "", **more: str) -> str:
    return f"{served}/v1/curves{ending}?{urlencode({'trial': TRIAL, 'metric': METRIC, **more})}"


def opened(address: str, **headers: str) -> bytes:
    with urlopen(Request(address, headers=headers), timeout=SECONDS) as answer:
        body: bytes = answer.read()
        return body


def curve(steps: Iterable[int], values: Iterable[float]) -> Curve:
    return list(zip(steps, values, strict=True))


def bits(points: Curve) -> list[tuple[int, bytes]]:
    """Return a comparable form of a curve, in which every NaN is the same."""
    return [(step, b"NaN" if math.isnan(value) else struct.pack("<d", value)) for step, value in points]


def number(value: float | str) -> float:
    return WORDS[value] if isinstance(value, str) else value


def pandas_csv(served: str) -> Curve:
    frame = pd.read_csv(url(served, ".csv"))
    return curve(frame["step"], frame["value"])


def pandas_parquet(served: str) -> Curve:
    frame = pd.read_parquet(url(served, ".parquet"))
    return curve(frame["step"], frame["value"])


def polars_csv(served: str) -> Curve:
    frame = pl.read_csv(url(served, format="csv"))
    return curve(frame["step"], frame["value"])


def polars_parquet(served: str) -> Curve:
    frame = pl.read_parquet(url(served, format="parquet"))
    return curve(frame["step"], frame["value"])


def polars_scan(served: str) -> Curve:
    frame = pl.scan_parquet(url(served, ".parquet")).select("step", "value").collect()
    return curve(frame["step"], frame["value"])


def polars_arrow(served: str) -> Curve:
    frame = pl.read_ipc_stream(opened(url(served, ".arrow")))
    return curve(frame["step"], frame["value"])


def pyarrow_arrow(served: str) -> Curve:
    table = pa.ipc.open_stream(opened(url(served), Accept="application/vnd.apache.arrow.stream")).read_all()
    return curve(table["step"].to_pylist(), table["value"].to_pylist())


def pyarrow_parquet(served: str) -> Curve:
    table = pq.read_table(io.BytesIO(opened(url(served), Accept="application/vnd.apache.parquet")))
    return curve(table["step"].to_pylist(), table["value"].to_pylist())


def pyarrow_csv(served: str) -> Curve:
    options = pyarrow.csv.ConvertOptions(null_values=[""])
    table = pyarrow.csv.read_csv(io.BytesIO(opened(url(served), Accept="text/csv")), convert_options=options)
    return curve(table["step"].to_pylist(), table["value"].to_pylist())


def python_csv(served: str) -> Curve:
    rows = csv.DictReader(io.StringIO(opened(url(served, ".csv")).decode()))
    return [(int(row["step"]), float(row["value"])) for row in rows]


def python_json(served: str) -> Curve:
    rows = json.loads(opened(url(served)))["rows"]
    return [(row["step"], number(row["value"])) for row in rows]


def curl_json(served: str) -> Curve:
    command = [str(program("curl", "curl")), "--silent", "--fail", "--compressed", url(served)]
    answer = subprocess.run(command, capture_output=True, check=True, timeout=SECONDS)
    return [(row["step"], number(row["value"])) for row in json.loads(answer.stdout)["rows"]]


def curl_sql(served: str) -> Curve:
    statement = "SELECT step, value FROM measurements WHERE metric = ? AND trial_id = 1 ORDER BY step"
    body = json.dumps({"sql": statement, "parameters": [METRIC]})
    command = [str(program("curl", "curl")), "--silent", "--fail", "--data", body, f"{served}/v1/sql.csv"]
    answer = subprocess.run(command, capture_output=True, check=True, text=True, timeout=SECONDS)
    return [(int(row["step"]), float(row["value"])) for row in csv.DictReader(io.StringIO(answer.stdout))]


def duckdb_over_http(*statements: str) -> Curve:
    """Run statements in a DuckDB with httpfs, in a separate environment; return the rows of the last one."""
    if not HTTPFS_PYTHON.exists():
        pytest.skip("needs .venv-httpfs, a DuckDB client that reads over HTTP: make setup makes it")
    command = [str(HTTPFS_PYTHON), str(ROOT / "tests" / "clients" / "duckdb_with_httpfs.py")]
    done = subprocess.run(command, input=json.dumps(statements), capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return [(step, float.fromhex(value)) for step, value in json.loads(done.stdout)]


def duckdb_parquet(served: str) -> Curve:
    return duckdb_over_http(f"SELECT step, value FROM '{url(served, '.parquet')}'")


def duckdb_csv(served: str) -> Curve:
    return duckdb_over_http(f"SELECT step, value FROM '{url(served, '.csv')}'")


def duckdb_attached(served: str) -> Curve:
    return duckdb_over_http(
        f"ATTACH '{served}/v1/releases/1/losslake.duckdb' AS losslake",
        "USE losslake",
        f"SELECT step, value FROM measurements WHERE metric = '{METRIC}' AND trial_id = 1 ORDER BY step",
    )


@pytest.mark.parametrize(
    "client",
    [
        pandas_csv, pandas_parquet, polars_csv, polars_parquet, polars_scan, polars_arrow, pyarrow_arrow,
        pyarrow_parquet, pyarrow_csv, python_csv, python_json, curl_json, curl_sql, duckdb_parquet, duckdb_csv,
        duckdb_attached,
    ],
)  # fmt: skip
def test_every_client_gets_the_same_curve(served: str, client: Callable[[str], Curve]) -> None:
    assert bits(client(served)) == bits(CURVE)
