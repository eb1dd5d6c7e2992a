"""Values that a float32 states take half the bytes in a bundle, and come back as the float64 of the log's text."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.lake.lake import Lake
from losslake_ingest.bundles.layout import SCHEMAS, SHORT_MEASUREMENTS
from losslake_ingest.bundles.short_values import SHORT, with_long_values, with_short_values
from losslake_ingest.contracts.rules import SourceBroken
from losslake_ingest.run import ingest
from tests.ingest.bundles.made_up import bundle_of, changed, members, with_column

RANDOM = np.random.default_rng(7)
PRINTED = [str(value) for value in RANDOM.lognormal(0, 3, 4_000).astype(np.float32)]
LOGS = {
    f"runs/ann/b8/lr0.{trial}/a.csv": "\n".join(
        ["step,loss", *(f"{step},{value}" for step, value in enumerate(PRINTED[trial * 1000 : (trial + 1) * 1000]))]
    ).encode()
    + b"\n"
    for trial in range(1, 4)
}


def bits(values: list[float]) -> list[bytes]:
    return [struct.pack("<d", value) for value in values]


@given(st.lists(st.one_of(st.floats(), st.floats(width=32), st.floats(width=32).map(str).map(float)), max_size=30))
def test_every_float64_comes_back_to_the_bit(values: list[float]) -> None:
    rows = pa.table({"step": list(range(len(values))), "value": pa.array(values, pa.float64())})
    short = with_short_values(rows)
    assert bits(with_long_values(short)["value"].to_pylist()) == bits(values)
    pairs = zip(short["value"].to_pylist(), short[SHORT].to_pylist(), strict=True)
    assert all((long is None) != (brief is None) for long, brief in pairs)


@pytest.mark.parametrize(
    ("text", "is_short"),
    [("8.048015", True), ("0.5", True), ("1e-07", True), ("0.0", True), ("-0.0", True), ("inf", True), ("3", True),
     ("0.7499999999999999", False), ("16777217", False), ("1e39", False), ("6.626087456846951", False)],
)  # fmt: skip
def test_a_value_is_short_if_it_is_the_shortest_decimal_of_a_float32(text: str, is_short: bool) -> None:
    short = with_short_values(pa.table({"value": [float(text)]}))[SHORT].to_pylist()
    assert (short[0] is not None) == is_short


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle_of(tmp_path_factory.mktemp("short"), LOGS, "s")


def test_a_bundle_of_printed_float32_has_layout_3_and_the_content_of_the_logs(bundle: Path, tmp_path: Path) -> None:
    files = members(bundle)
    assert json.loads(files["bundle.json"])["bundle"] == 3
    lake, of_logs = Lake.create(tmp_path / "lake"), Lake.open(bundle.parent / "lake-s")
    assert ingest(lake, [bundle]).trials_ingested == 3
    assert lake.release().content_digest == of_logs.release().content_digest


def test_duckdb_reads_the_values_by_one_expression(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "m.parquet").write_bytes(members(bundle)["measurements.parquet"])
    values = "coalesce(value, CAST(CAST(value_float32 AS TEXT) AS DOUBLE))"
    query = f"SELECT {values} FROM read_parquet(?) ORDER BY trial_id, step"
    rows = duckdb.execute(query, [str(tmp_path / "m.parquet")]).fetchall()
    assert bits([value for (value,) in rows]) == bits([float(text) for text in PRINTED[1000:4000]])


def test_a_value_that_is_stated_twice_is_refused(bundle: Path, tmp_path: Path) -> None:
    twice = changed(
        bundle, tmp_path / "b.tar", {"measurements": with_column("value", lambda values: [1.0] * len(values))}
    )
    with pytest.raises(SourceBroken, match="a measurement states its value twice"):
        ingest(Lake.create(tmp_path / "lake"), [twice])


def test_short_values_are_one_more_column() -> None:
    assert SHORT_MEASUREMENTS.names == [*SCHEMAS["measurements"].names, "value_float32"]
    assert SHORT_MEASUREMENTS.field(SHORT).type == pa.float32()
