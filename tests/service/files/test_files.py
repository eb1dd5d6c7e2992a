"""The files of a release are listed in every format, and by sha256sum's."""

from __future__ import annotations

import io

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from losslake.index.file_list import file_list
from losslake.lake.lake import Lake

URL = "/v1/releases/1/files"
KEYS = ("collection", "dataset", "model", "optimizer", "batch_size")


def listed(odd_lake: Lake) -> list[tuple[str, int, str, int]]:
    rows = file_list(odd_lake, odd_lake.release(1)).to_pylist()
    return [(row["path"], row["bytes"], row["sha256"], row["rows"]) for row in rows]


@pytest.mark.parametrize("ask", ["?format={}", ".{}"])
@pytest.mark.parametrize("name", ["json", "csv", "arrow", "parquet"])
def test_every_format_lists_the_same(odd_client: TestClient, odd_lake: Lake, ask: str, name: str) -> None:
    answer = odd_client.get(URL + ask.format(name))
    assert answer.status_code == 200, answer.text
    assert answer.headers["losslake-release"] == "1"
    if name == "json":
        assert answer.json()["release"] == 1
        frame = pl.DataFrame(answer.json()["rows"], infer_schema_length=None)
    elif name == "csv":
        frame = pl.read_csv(io.BytesIO(answer.content))
    elif name == "arrow":
        frame = pl.DataFrame(pa.ipc.open_stream(answer.content).read_all())
    else:
        frame = pl.DataFrame(pq.read_table(io.BytesIO(answer.content)))
    assert frame.select("path", "bytes", "sha256", "rows").rows() == listed(odd_lake)
    assert frame.columns[:3] == ["table", "path", "url"]
    assert frame.columns[-2:] == ["value_min", "value_max"]
    first = frame.filter(pl.col("path").str.contains("mnist%20100%25/")).row(0, named=True)
    assert [first[key] for key in KEYS] == ["root/sub", "mnist 100%", "cnn", "sgd", 64]


def test_accept_chooses_the_format(odd_client: TestClient) -> None:
    answer = odd_client.get(URL, headers={"Accept": "text/csv"})
    assert answer.headers["content-type"].startswith("text/csv")


def test_each_url_gives_the_file(odd_client: TestClient) -> None:
    rows = odd_client.get(URL).json()["rows"]
    assert len(rows) > 20
    for row in rows:
        assert row["url"].startswith("http://localhost/hive/1/")
        answer = odd_client.get(row["url"])
        assert (answer.status_code, answer.headers["etag"]) == (200, f'"{row["sha256"]}"')


def test_checksums_are_those_beside_the_files(odd_client: TestClient) -> None:
    expected = odd_client.get("/data/1/SHA256SUMS")
    for url in (f"{URL}?format=sha256sums", "/v1/releases/1/SHA256SUMS"):
        answer = odd_client.get(url)
        assert answer.text == expected.text
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_unknown_parameter_is_named(odd_client: TestClient) -> None:
    for query, parameter in (("format=xml", "format"), ("dataset=mnist", "dataset")):
        refused = odd_client.get(f"{URL}?{query}")
        assert (refused.status_code, refused.json()["parameter"]) == (422, parameter)
    assert odd_client.get(f"{URL}.csv?format=json").status_code == 422
    assert odd_client.get("/v1/releases/7/files").json()["type"] == "urn:losslake:problem:unknown-release"


def test_matching_etag_of_the_list_returns_304(odd_client: TestClient) -> None:
    plain = {"Accept-Encoding": "identity"}
    for url in (URL, f"{URL}.parquet"):
        etag = odd_client.get(url, headers=plain).headers["etag"]
        assert odd_client.get(url, headers=plain | {"If-None-Match": etag}).status_code == 304
        assert odd_client.head(url, headers=plain).headers["etag"] == etag


def test_the_document_describes_every_column(odd_client: TestClient) -> None:
    document = odd_client.get("/openapi.json").json()
    described = document["components"]["schemas"]["FilesRow"]["properties"]
    assert list(described) == list(odd_client.get(URL).json()["rows"][0])
    assert {"/data/{release}/{place}", "/hive/{release}/{place}", "/v1/releases/{release}/losslake.duckdb"} <= set(
        document["paths"]
    )
