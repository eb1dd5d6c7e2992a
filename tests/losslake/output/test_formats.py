"""Each format holds every Arrow type, and comes out of its usual clients as it went in."""

from __future__ import annotations

import csv
import io
import json
import math
import struct
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import duckdb
import orjson
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.output import json_rows
from losslake.output.answer import Answer
from losslake.output.formats import FORMATS
from losslake.output.json_rows import FEW_ROWS, ROWS_AT_A_TIME
from losslake.output.texts import json_text
from tests.losslake.output.types import TYPES, Typed

CONNECTION = duckdb.connect()
FLOATS = st.lists(st.floats(), max_size=100)


def answer(arrays: Sequence[pa.Array], names: Sequence[str], copies: int = 1) -> Answer:
    """An answer of these columns, in several batches."""
    batch = pa.RecordBatch.from_arrays(list(arrays), names=list(names))
    return Answer({"release": 1}, batch.schema, iter([batch] * copies))


def written(arrays: Sequence[pa.Array], names: Sequence[str], format: str, copies: int = 1) -> bytes:  # noqa: A002
    return b"".join(FORMATS[format].encode(answer(arrays, names, copies)))


def many(typed: Typed) -> pa.Array:
    """The column so many times that it is more than few rows."""
    return pa.concat_arrays([typed.array] * (FEW_ROWS // len(typed.values) + 1))


@pytest.fixture(params=TYPES)
def typed(request: pytest.FixtureRequest) -> Typed:
    return TYPES[request.param]


def test_json_has_every_type_and_the_same_for_few_rows_as_for_many(typed: Typed) -> None:
    few = json.loads(written([typed.array], ["c"], "json"))
    assert repr(few) == repr({"release": 1, "rows": [{"c": as_read(value)} for value in typed.in_json]})
    column = many(typed)
    whole = json.loads(written([column], ["c"], "json"))["rows"]
    assert repr(whole) == repr(few["rows"] * (len(column) // len(typed.values)))


def as_read(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def test_few_rows_are_written_byte_for_byte_like_many(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    few = written([typed.array], ["c"], "json")
    monkeypatch.setattr(json_rows, "FEW_ROWS", 0)
    assert written([typed.array], ["c"], "json") == few


ODD = st.one_of(
    st.none(), st.booleans(), st.text(st.characters(), max_size=4), st.integers(), st.floats(), st.decimals(),
    st.binary(max_size=3), st.datetimes(), st.dates(), st.timedeltas(), st.uuids(),
)  # fmt: skip


@given(st.recursive(ODD, lambda each: st.lists(each) | st.dictionaries(st.text(max_size=3) | st.integers(), each)))
def test_values_are_written_alike_with_and_without_nan_beside_them(value: Any) -> None:
    assert json_text([value, math.nan]) == f'[{json_text(value)},"NaN"]'


def test_columns_with_one_value_in_all_rows_are_written_byte_for_byte_like_few_rows(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(len(typed.array)):
        same = pa.concat_arrays([typed.array.slice(number, 1)] * 3)
        for arrays in ([same], [same, same], [pa.array(["é", None, ","]), same, pa.array([1, 1, 1])]):
            names = [f"c{at}" for at in range(len(arrays))]
            few = written(arrays, names, "json", copies=2)
            with monkeypatch.context() as patch:
                patch.setattr(json_rows, "FEW_ROWS", 0)
                assert written(arrays, names, "json", copies=2) == few


@given(FLOATS.filter(len))
def test_floats_before_another_column_are_written_byte_for_byte_like_few_rows(values: list[float]) -> None:
    arrays, names = [pa.array(values), pa.array(range(len(values)))], ["x", "n"]
    few = written(arrays, names, "json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_rows, "FEW_ROWS", 0)
        assert written(arrays, names, "json") == few


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()], ids=str)
def test_integers_and_nonfinite_numbers_of_several_pieces_are_those_of_the_columns(kind: pa.DataType) -> None:
    size = 2**kind.bit_width
    limits = [0, size - 1] if pa.types.is_unsigned_integer(kind) else [-size // 2, size // 2 - 1]
    n_rows = 5 * (ROWS_AT_A_TIME // 4)
    integers = [*limits, *(number % 100 for number in range(n_rows - 2))]
    floats = [float("nan"), float("inf"), -float("inf"), None, 0.1] * (n_rows // 5)
    batch = pa.record_batch({"i": pa.array(integers, kind), "x": pa.array(floats), "j": pa.array(integers, kind)})
    text = b"".join(FORMATS["json"].encode(Answer({}, batch.schema, iter([batch.slice(0, 5), batch.slice(5)]))))
    rows = json.loads(text)["rows"]
    assert [row["i"] for row in rows] == [row["j"] for row in rows] == integers
    assert [row["x"] for row in rows] == ["NaN", "Infinity", "-Infinity", None, 0.1] * (n_rows // 5)


def test_slices_of_a_column_are_written_like_the_column(typed: Typed) -> None:
    array = typed.array
    rows = json.loads(written([array], ["c"], "json"))["rows"]
    for start in range(len(array)):
        assert repr(json.loads(written([array.slice(start)], ["c"], "json"))["rows"]) == repr(rows[start:])


def test_csv_has_of_every_type_what_json_has(typed: Typed) -> None:
    text = written([pa.array(range(len(typed.values))), typed.array], ["n", "c"], "csv").decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["c"] for row in rows] == [in_csv(value) for value in written_values(typed)]


def written_values(typed: Typed) -> Iterator[Any]:
    """As JSON has them, decimals with all their digits."""
    text = written([typed.array], ["c"], "json")
    return (
        row["c"] for row in json.loads(text, parse_float=None if pa.types.is_floating(typed.kind) else Decimal)["rows"]
    )


def in_csv(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return json_text(value)
    words = {None: "", True: "true", False: "false", "Infinity": "inf", "-Infinity": "-inf"}
    if isinstance(value, (str, bool)) or value is None:
        return str(words.get(value, value))
    return format(value, "f") if isinstance(value, Decimal) else json_text(value)


def test_arrow_and_parquet_hold_every_type_for_polars_pandas_pyarrow_and_duckdb(typed: Typed) -> None:
    arrow = pa.ipc.open_stream(written([typed.array], ["c"], "arrow", copies=2)).read_all()
    parquet = pq.read_table(pa.BufferReader(written([typed.array], ["c"], "parquet", copies=2)))
    assert len(arrow) == len(parquet) == 2 * len(typed.values)
    again = written([arrow["c"].combine_chunks()], ["c"], "json")
    assert again == written([parquet["c"].combine_chunks()], ["c"], "json")
    assert repr(json.loads(again)["rows"][: len(typed.values)]) == repr(
        [{"c": as_read(value)} for value in typed.in_json]
    )
    assert pl.read_parquet(io.BytesIO(written([typed.array], ["c"], "parquet"))).height == len(typed.values)
    assert pl.read_ipc_stream(io.BytesIO(written([typed.array], ["c"], "arrow"))).height == len(typed.values)
    assert len(pd.read_parquet(io.BytesIO(written([typed.array], ["c"], "parquet")))) == len(typed.values)
    present = sum(value is not None for value in typed.values)
    counts = CONNECTION.sql("SELECT count(c), count(*) FROM parquet").fetchall()
    assert counts == [(2 * present, 2 * len(typed.values))]


@given(FLOATS)
def test_floats_come_back_bit_for_bit_from_every_format(values: list[float]) -> None:
    columns = [pa.array(values, pa.float64())]
    rows = orjson.loads(written(columns, ["c"], "json"))["rows"]
    assert bits(float(row["c"]) for row in rows) == bits(values)
    assert bits(float(row["c"]) for row in json.loads(written(columns, ["c"], "json"))["rows"]) == bits(values)
    lines = csv.DictReader(io.StringIO(written(columns, ["c"], "csv").decode()))
    assert bits(float(row["c"]) for row in lines) == bits(values)
    for read in (
        pl.read_csv(io.BytesIO(written(columns, ["c"], "csv")), schema={"c": pl.Float64})["c"].to_list(),
        pd.read_csv(io.BytesIO(written(columns, ["c"], "csv")), dtype="float64")["c"].tolist(),
        pl.read_parquet(io.BytesIO(written(columns, ["c"], "parquet")))["c"].to_list(),
        pa.ipc.open_stream(written(columns, ["c"], "arrow")).read_all()["c"].to_pylist(),
    ):
        assert bits(read) == bits(values)


def bits(values: Any) -> list[bytes]:
    """NaN has many bit patterns, and texts tell of one."""
    return [b"NaN" if math.isnan(value) else struct.pack("<d", value) for value in values]


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), max_size=40))
def test_any_text_comes_back_from_every_format(values: list[str | None]) -> None:
    columns = [pa.array(range(len(values))), pa.array(values, pa.string())]
    named = ["n", "c"]
    assert [row["c"] for row in orjson.loads(written(columns, named, "json"))["rows"]] == values
    text = written(columns, named, "csv").decode()
    assert [row["c"] for row in csv.DictReader(io.StringIO(text, newline=""))] == [value or "" for value in values]
    for format in ("parquet", "arrow"):  # noqa: A001
        read = pl.read_parquet if format == "parquet" else pl.read_ipc_stream
        assert read(io.BytesIO(written(columns, named, format)))["c"].to_list() == values


def test_csv_distinguishes_null_from_empty_text() -> None:
    text = written([pa.array(["", None])], ["c"], "csv")
    assert text == b'c\n""\n\n'
    two = written([pa.array([1, 2]), pa.array(["", None])], ["n", "c"], "csv")
    assert pl.read_csv(io.BytesIO(two))["c"].to_list() == ["", None]
    assert duckdb.read_csv(io.BytesIO(two), allow_quoted_nulls=False).fetchall() == [(1, ""), (2, None)]


@pytest.mark.parametrize("format", FORMATS)
def test_duplicate_column_names_are_made_unique(format: str) -> None:  # noqa: A002
    body = written([pa.array([number]) for number in range(4)], ["a", "a", "a_1", "a"], format)
    if format == "json":
        names = list(json.loads(body)["rows"][0])
    elif format == "csv":
        names = body.decode().splitlines()[0].split(",")
    else:
        read = pl.read_parquet if format == "parquet" else pl.read_ipc_stream
        names = read(io.BytesIO(body)).columns
    assert names == ["a", "a_2", "a_1", "a_3"]


@pytest.mark.parametrize("copies", [0, 1])
def test_an_answer_without_rows_has_its_columns(copies: int) -> None:
    columns = [pa.array([], pa.float64()), pa.array([], pa.map_(pa.string(), pa.float64()))]
    assert json.loads(written(columns, ["a", "b"], "json", copies))["rows"] == []
    assert written(columns, ["a", "b"], "csv", copies) == b"a,b\n"
    if copies:
        assert pl.read_parquet(io.BytesIO(written(columns, ["a", "b"], "parquet", copies))).columns == ["a", "b"]
        assert pl.read_ipc_stream(io.BytesIO(written(columns, ["a", "b"], "arrow", copies))).columns == ["a", "b"]
    for format in ("parquet", "arrow"):  # noqa: A001
        body = written(columns, ["a", "b"], format, copies)
        table = pq.read_table(pa.BufferReader(body)) if format == "parquet" else pa.ipc.open_stream(body).read_all()
        assert (table.column_names, table.num_rows) == (["a", "b"], 0)


@pytest.mark.parametrize("format", FORMATS)
def test_an_answer_without_columns_can_be_written(format: str) -> None:  # noqa: A002
    assert written([], [], format)


@pytest.mark.parametrize("format", ["arrow", "parquet"])
def test_facts_are_in_the_metadata(format: str) -> None:  # noqa: A002
    body = written([pa.array([1])], ["a"], format)
    schema = pq.read_schema(pa.BufferReader(body)) if format == "parquet" else pa.ipc.open_stream(body).schema
    assert json.loads(schema.metadata[b"losslake"]) == {"release": 1}


def test_moments_beyond_the_calendar_of_python_are_written() -> None:
    moments = "SELECT unnest(['infinity', '-infinity', '20000-01-01']::TIMESTAMP[]) AS c"
    column = CONNECTION.sql(moments).to_arrow_table()["c"]
    rows = json.loads(written([column.combine_chunks()], ["c"], "json"))["rows"]
    assert [row["c"] for row in rows] == ["infinity", "-infinity", "20000-01-01T00:00:00.000000"]


@pytest.mark.parametrize("format", FORMATS)
def test_every_type_of_duckdb_can_be_written(format: str) -> None:  # noqa: A002
    table = CONNECTION.sql("FROM test_all_types()").to_arrow_table()
    batches = table.to_batches()
    body = b"".join(FORMATS[format].encode(Answer({}, table.schema, iter(batches))))
    if format == "json":
        assert len(orjson.loads(body)["rows"]) == 3
    elif format == "parquet":
        assert pl.read_parquet(io.BytesIO(body)).height == pq.read_table(pa.BufferReader(body)).num_rows == 3
    elif format == "arrow":
        assert pl.read_ipc_stream(io.BytesIO(body)).height == 3
    else:
        assert len(list(csv.reader(io.StringIO(body.decode(), newline="")))) == 4


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.bool_(), pa.decimal128(5, 2), pa.date32(), pa.int8()])
def test_bytes_under_nulls_are_not_written(kind: pa.DataType) -> None:
    size = 16 * 3
    dirty = [pa.py_buffer(b"\x02\x00"), pa.py_buffer(b"\xabSECRET!" * size)]
    column = pa.Array.from_buffers(kind, 3, dirty)
    clean = pa.Array.from_buffers(kind, 3, [dirty[0], pa.py_buffer(bytes(16) * 3)])
    for array in (column, pa.StructArray.from_arrays([column], ["a"]), column.slice(1)):
        read = pa.ipc.open_stream(written([array], ["c"], "arrow")).read_all()["c"].chunk(0)
        assert read.equals(array)
    two = [written([pa.array([None], kind)], ["c"], "arrow"), written([column.slice(2)], ["c"], "arrow")]
    assert two[0] == two[1]
    assert b"SECRET" not in written([column.slice(2)], ["c"], "arrow")
    assert clean.null_count == column.null_count


def test_invalid_utf8_becomes_replacement_characters() -> None:
    field = pa.field("c", pa.string(), metadata={"json": "yes"})
    batch = pa.RecordBatch.from_arrays([pa.array(['"\\ud800"'])], schema=pa.schema([field]))
    body = b"".join(FORMATS["json"].encode(Answer({}, batch.schema, iter([batch]))))
    assert orjson.loads(body)["rows"] == [{"c": "\ufffd"}]
