"""A result is written in its format by the worker: the rows that fit, and nothing that a service would have to make."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from losslake.output.answer import Answer
from losslake.output.formats import FORMATS
from losslake_service.sandbox.errors import SqlLimits
from losslake_service.sandbox.results import CELLS, LONGEST_CELL, OUTPUTS, ways_to_all_rows, write_result
from losslake_service.sandbox.spool import SpooledResult, spool

NESTED = pa.table(
    {
        "n": pa.array(range(500), pa.int64()),
        "list": pa.array([[[i, None], []] if i % 3 else None for i in range(500)], pa.list_(pa.list_(pa.int64()))),
        "struct": pa.array([{"a": float(i), "b": "x" * (i % 7)} for i in range(500)]),
    }
)


def written(
    table: pa.Table,
    name: str,
    folder: Path,
    max_bytes: int = 1 << 20,
    max_rows: int = 1 << 20,
    spooled_bytes: int = 1 << 30,
) -> tuple[SpooledResult, bytes]:
    ways = ways_to_all_rows(SqlLimits(result_rows=300), max_rows)
    with tempfile.TemporaryFile(buffering=0) as spooled, (folder / name).open("wb", buffering=0) as file:
        result = spool(table.to_reader(max_chunksize=10), spooled.fileno(), max_rows, spooled_bytes)
        done = write_result(spooled.fileno(), result, OUTPUTS[name], {"release": 1}, file.fileno(), max_bytes, ways)
    return done, (folder / name).read_bytes()


@pytest.mark.parametrize("name", ["csv", "arrow", "parquet"])
def test_result_has_the_same_rows_as_an_answer_in_this_format(name: str, tmp_path: Path) -> None:
    done, content = written(NESTED, name, tmp_path)
    digest = hashlib.blake2b(content, digest_size=16).hexdigest()
    assert (done.rows, done.truncated, done.digest) == (500, None, digest)
    if name == "csv":
        assert content == b"".join(FORMATS[name].encode(Answer({}, NESTED.schema, iter(NESTED.to_batches()))))
    elif name == "arrow":
        assert pa.ipc.open_stream(content).read_all().to_pylist() == NESTED.to_pylist()


def test_json_says_whether_and_how_to_get_the_rest(tmp_path: Path) -> None:
    _, content = written(NESTED, "json", tmp_path)
    document = json.loads(content)
    assert document["rows"] == NESTED.to_pylist()
    assert (document["release"], document["truncated"], document["all_rows"]) == (1, False, None)
    done, content = written(NESTED, "json", tmp_path, max_bytes=10_000)
    document = json.loads(content)
    assert document["rows"] == NESTED.to_pylist()[: done.rows]
    assert 0 < done.rows < 500
    assert len(content) <= 10_000
    assert (document["truncated"], done.truncated) == ("bytes", "bytes")
    assert document["all_rows"] == "as JSON the result has more than 64 MB: request .arrow or .parquet"


@pytest.mark.parametrize(
    ("limits", "way"),
    [
        ({"max_rows": 299}, "the result has more rows: request .csv, .arrow or .parquet, or a larger limit"),
        ({"max_rows": 300}, "the result has more than 300 rows, the limit sql_result_rows: reduce the query"),
        ({"spooled_bytes": 20_000}, "the result has more than 64 MB, the limit sql_result_mb: reduce the query"),
        (
            {"spooled_bytes": 20_000, "max_bytes": 1000},
            "the result has more than 64 MB, the limit sql_result_mb: reduce the query",
        ),
    ],
)
def test_other_formats_are_named_only_where_they_have_more_rows(
    limits: dict[str, int], way: str, tmp_path: Path
) -> None:
    document = json.loads(written(NESTED, "json", tmp_path, **limits)[1])
    assert document["truncated"] in ("rows", "bytes")
    assert document["all_rows"].startswith(way)


def test_a_row_that_does_not_fit_leaves_no_rows(tmp_path: Path) -> None:
    done, content = written(pa.table({"a": ["x" * 200_000]}), "json", tmp_path, max_bytes=1000)
    assert (done.rows, done.truncated, json.loads(content)["rows"]) == (0, "bytes", [])


def test_cells_are_texts_of_bounded_length(tmp_path: Path) -> None:
    table = pa.table({"a": ["x" * 2000, None], "b": [1.5, float("nan")], "c": [[1] * 1000, []]})
    document = json.loads(written(table, CELLS.name, tmp_path)[1])
    assert [column["is_number"] for column in document["columns"]] == [False, True, False]
    (a, b, c), last = document["rows"]
    assert a == "x" * LONGEST_CELL + "… (1,500 more characters)"
    assert (b, c[:6], last) == ("1.5", "[1,1,1", [None, '"NaN"', "[]"])
