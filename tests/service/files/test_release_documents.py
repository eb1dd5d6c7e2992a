"""The documents of a release over HTTP name its files by the address that they were asked for at."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from fastapi.testclient import TestClient

from losslake.lake.croissant import croissant
from losslake.lake.lake import Lake
from losslake.lake.readme_and_licences import collections_of
from tests.applications import without_sql

DOCUMENTS = ("README.md", "CITATION.cff", "SHA256SUMS", "croissant.json")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_are_served_with_the_files_and_below_the_release(odd_client: TestClient, name: str) -> None:
    below, beside = odd_client.get(f"/data/1/{name}"), odd_client.get(f"/v1/releases/1/{name}")
    assert (below.status_code, below.content) == (200, beside.content)
    assert below.headers["etag"] == beside.headers["etag"]
    assert odd_client.head(f"/v1/releases/1/{name}").status_code == 200


def test_the_release_s_description_is_iterated_from_the_served_files(
    served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import mlcroissant
    from mlcroissant._src.core import constants

    monkeypatch.setattr(constants, "DOWNLOAD_PATH", tmp_path)
    with urlopen(f"{served}/data/1/croissant.json", timeout=60) as answer:
        (tmp_path / "croissant.json").write_bytes(answer.read())
    with caplog.at_level(logging.WARNING):
        dataset = mlcroissant.Dataset(tmp_path / "croissant.json")
        collections = {row["collections/collection"].decode() for row in dataset.records("collections")}
        assert len(list(dataset.records("trials"))) == 30
    assert {"ünï", "a/b", "a%2Fb", "<script>alert(1)"} <= collections
    assert [record for record in caplog.records if record.name.startswith("absl")] == []


@pytest.mark.parametrize("path", ["/data/1/croissant.json", "/v1/releases/1/losslake.duckdb"])
@pytest.mark.parametrize("host", ["a b", "x'; DROP", '"><script>', "user@host", "a/b", "host:port", "", "-x", "[::1"])
def test_invalid_host_header_is_refused(odd_client: TestClient, path: str, host: str) -> None:
    refused = odd_client.get(path, headers={"Host": host})
    assert (refused.status_code, refused.json()["type"]) == (400, "urn:losslake:problem:unknown-host")


@pytest.mark.parametrize("host", ["127.0.0.1:1", "[::1]:80", "localhost"])
def test_file_urls_use_the_host_header(odd_client: TestClient, host: str) -> None:
    described = odd_client.get("/data/1/croissant.json", headers={"Host": host}).json()
    assert described["url"] == f"http://{host}/data/1/"


def test_public_url_overrides_the_host_header(odd_lake: Lake) -> None:
    app = without_sql(odd_lake, public_url="https://lake.example/base")
    described = json.loads(TestClient(app).get("/data/1/croissant.json").content)
    assert described["url"] == "https://lake.example/base/data/1/"


def test_the_description_is_built_once_for_few_addresses_and_sent_as_a_file(
    odd_client: TestClient, odd_lake: Lake
) -> None:
    def request(number: int, **headers: str) -> Any:
        return odd_client.get("/data/1/croissant.json", headers={"Host": f"localhost:{number}", **headers})

    answers = [request(number) for number in range(20)]
    folder = odd_lake.folder / "serving"
    built = {path: path.stat().st_mtime_ns for path in folder.glob("remote-*.json")}
    assert len(built) == 16
    assert len({answer.headers["etag"] for answer in answers}) == 20
    release, files = odd_lake.release(), odd_lake.files(odd_lake.release())
    text = croissant(release, files, collections_of(odd_lake, files), "http://localhost:19")
    assert answers[19].content == text.encode()
    with_range = request(19, Range="bytes=10-19")
    assert (with_range.status_code, with_range.content) == (206, text.encode()[10:20])
    assert request(19, **{"If-None-Match": answers[19].headers["etag"]}).status_code == 304
    assert {path: path.stat().st_mtime_ns for path in folder.glob("remote-*.json")} == built


@pytest.mark.slow
def test_databases_are_cached_for_few_addresses_only(odd_client: TestClient, odd_lake: Lake) -> None:
    answers = [
        odd_client.get("/v1/releases/1/losslake.duckdb", headers={"Host": f"localhost:{number}"})
        for number in range(20)
    ]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.headers["etag"] for answer in answers}) == 20
    assert len(list((odd_lake.folder / "serving").glob("remote-*.duckdb"))) <= 16
