"""`/data` and `/hive` give the bytes of the release's files, whole or in part, and of nothing else."""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import os
import re
import shutil
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from fastapi.testclient import TestClient
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from losslake.lake.lake import Lake
from losslake.lake.public_paths import public_paths, url_path
from losslake_schema.errors import LakeBroken
from losslake_service.app import create_app
from losslake_service.entity_tags import Version
from losslake_service.files.file_response import LocalFileResponse
from losslake_service.files.ranges import ServedFile
from tests.servers.processes import SECONDS
from tests.service.files.conftest import WORKLOADS


@pytest.fixture(scope="session")
def sums(odd_client: TestClient) -> dict[str, str]:
    """The sha256 of each place."""
    lines = odd_client.get("/data/1/SHA256SUMS").text.splitlines()
    return {place: sha256 for sha256, place in (line.split("  ", 1) for line in lines)}


def raw(served: str, path: str, method: str = "GET") -> tuple[http.client.HTTPResponse, bytes]:
    """The answer to a path sent as it is, which clients would normalise."""
    connection = http.client.HTTPConnection(urlsplit(served).netloc, timeout=SECONDS)
    connection.putrequest(method, "/", skip_accept_encoding=True)
    connection._buffer[0] = f"{method} ".encode() + path.encode("latin-1") + b" HTTP/1.1"  # type: ignore[attr-defined]
    connection.endheaders()
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


def test_every_file_matches_its_checksum(odd_client: TestClient, sums: dict[str, str]) -> None:
    assert len(sums) > len(WORKLOADS) * 4
    for place, sha256 in sums.items():
        answer = odd_client.get(f"/data/1/{url_path(place)}")
        assert (answer.status_code, hashlib.sha256(answer.content).hexdigest()) == (200, sha256), place


def test_data_files_have_paths_for_readers_of_partitions_too(odd_client: TestClient, sums: dict[str, str]) -> None:
    for place, sha256 in sums.items():
        answer = odd_client.get(f"/hive/1/{place}")
        if place.endswith(".parquet"):
            assert (answer.status_code, answer.headers["etag"]) == (200, f'"{sha256}"'), place
        else:
            assert answer.status_code == 404


def test_file_has_type_length_and_validators(odd_client: TestClient, odd_lake: Lake, sums: dict[str, str]) -> None:
    answer = odd_client.get("/data/1/studies.parquet")
    assert answer.headers["etag"] == f'"{sums["studies.parquet"]}"'
    assert answer.headers["content-type"] == "application/vnd.apache.parquet"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["accept-ranges"] == "bytes"
    moment = f"{odd_lake.release(1).created_at:%a, %d %b %Y %H:%M:%S} GMT"
    assert answer.headers["last-modified"] == moment


def test_head_has_the_headers_of_get_and_no_body(odd_client: TestClient) -> None:
    told, given = odd_client.head("/data/1/studies.parquet"), odd_client.get("/data/1/studies.parquet")
    assert told.content == b""
    names = ("etag", "last-modified", "content-type", "content-length", "accept-ranges", "cache-control")
    assert [told.headers[name] for name in names] == [given.headers[name] for name in names]


def test_range_request_returns_206_with_the_bytes(odd_client: TestClient) -> None:
    whole = odd_client.get("/data/1/studies.parquet").content
    part = odd_client.get("/data/1/studies.parquet", headers={"Range": "bytes=-8"})
    assert (part.status_code, part.content) == (206, whole[-8:])
    assert part.headers["content-range"] == f"bytes {len(whole) - 8}-{len(whole) - 1}/{len(whole)}"
    assert part.headers["content-length"] == "8"


def test_range_beyond_the_end_gets_416_with_the_size(odd_client: TestClient) -> None:
    size = len(odd_client.get("/data/1/studies.parquet").content)
    refused = odd_client.get("/data/1/studies.parquet", headers={"Range": f"bytes={size}-"})
    assert (refused.status_code, refused.headers["content-range"]) == (416, f"bytes */{size}")
    assert refused.json()["type"] == "urn:losslake:problem:unsatisfiable-range"


def test_matching_etag_or_date_returns_304(odd_client: TestClient) -> None:
    for path in ("/data/1/studies.parquet", "/data/1/README.md"):
        etag = odd_client.get(path).headers["etag"]
        again = odd_client.get(path, headers={"If-None-Match": etag})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)


def test_failed_if_match_is_a_problem_document(odd_client: TestClient) -> None:
    refused = odd_client.get("/data/1/studies.parquet", headers={"If-Match": '"other"'})
    assert (refused.status_code, refused.json()["type"]) == (412, "urn:losslake:problem:precondition-failed")


def test_relative_links_of_folders_reach_every_file(odd_client: TestClient, sums: dict[str, str]) -> None:
    found, waiting, seen = set(), ["/data/"], set()
    while waiting:
        folder = waiting.pop()
        seen.add(folder)
        page = odd_client.get(folder)
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert "<script" not in page.text
        assert "<style" not in page.text
        assert "http" not in page.text
        rows = page.text.partition("<tbody>")[2].partition("</tbody>")[0]
        for link in map(unescape, re.findall(r'href="([^"]*)"', rows)):
            assert link.startswith(("./", "../"))
            target = urljoin(folder, link)
            if target.endswith("/"):
                waiting += [target] if target not in seen else []
            else:
                found.add(unquote(target.removeprefix("/data/1/")))
    assert found == {*sums, "SHA256SUMS", "croissant.json"}


@pytest.mark.parametrize("place", ["", "measurements", "measurements/collection=a%2Fb", "LICENSES"])
def test_folder_without_trailing_slash_redirects(odd_client: TestClient, place: str) -> None:
    path = f"/data/1/{url_path(place)}".rstrip("/")
    moved = odd_client.get(path)
    assert moved.status_code == 308
    assert urljoin(path, moved.headers["location"]) == f"{path}/"
    assert odd_client.get(f"{path}/").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/data/1/../1/studies.parquet",
        "/data/1/%2e%2e/%2e%2e/catalog.db",
        "/data/1/..%2f..%2fcatalog.db",
        "/data/1/./studies.parquet",
        "/data/1//studies.parquet",
        "/data/1/studies.parquet/",
        "/data/1/studies.parquet%00",
        "/data/1/%00",
        "/data/1/%ff%fe",
        "/data/1/measurements%2Fcollection=shallue2018/dataset=mnist/model=simple_cnn_base/optimizer=nesterov_momentum/batch_size=8/part-0.parquet",
        "/data/1/measurements/collection=a%2Fb/dataset=d/model=m/optimizer=o/batch_size=8/part-0.parquet",
        "/data/1/measurements/collection=shallue2018%20/",
        "/data%2F1/studies.parquet",
        "/data%2F1%2Fstudies.parquet",
        "/hive%2F1/studies.parquet",
        "/data/1/" + "a" * 20_000,
        "/data/1/" + "measurements/" * 1000,
        "/data/2/studies.parquet",
        "/data/0/studies.parquet",
        "/data/01/studies.parquet",
        "/data/-1/studies.parquet",
        "/data/%31%2F/studies.parquet",
        "/data/99999999999999999999/studies.parquet",
        "/data/newest/studies.parquet",
        "/hive/1/../1/studies.parquet",
        "/hive/1/%2e%2e/catalog.db",
        "/hive/1/",
        "/hive/1/%73tudies.parquet",
        "/v1/releases/2/README.md",
    ],
)
def test_only_files_of_the_release_are_served(served: str, path: str) -> None:
    response, body = raw(served, path)
    assert response.status == 404, body[:200]
    assert response.headers["content-type"] == "application/problem+json"
    assert len(body) < 25_000


def test_a_parameter_is_refused(odd_client: TestClient) -> None:
    for path in (
        "/data/",
        "/data/1/",
        "/data/1/studies.parquet",
        "/hive/1/studies.parquet",
        "/v1/releases/1/README.md",
    ):
        refused = odd_client.get(f"{path}?version=2")
        assert (refused.status_code, refused.json()["parameter"]) == (422, "version")


def harmed(odd_lake: Lake, tmp_path: Path) -> tuple[TestClient, Path]:
    """A client of a copy of the lake, and the file behind `/data/1/studies.parquet` in it."""
    shutil.copytree(odd_lake.folder, tmp_path / "lake")
    lake = Lake.open(tmp_path / "lake")
    public_path = {place: path for path, place in public_paths(lake.files(lake.release(1))).items()}
    return TestClient(create_app(lake), raise_server_exceptions=False), lake.folder / public_path["studies.parquet"]


def test_missing_or_truncated_file_is_a_problem_document(odd_lake: Lake, tmp_path: Path) -> None:
    client, file = harmed(odd_lake, tmp_path)
    assert client.get("/data/1/studies.parquet").status_code == 200
    for harm in (lambda: file.write_bytes(file.read_bytes()[:-1]), file.unlink, file.mkdir):
        harm()
        answer = client.get("/data/1/studies.parquet")
        assert (answer.status_code, answer.json()["type"]) == (503, "urn:losslake:problem:lake-unavailable")
        assert str(file) not in answer.text


def test_file_truncated_while_sent_aborts_the_response_and_not_the_process(odd_lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "cut").write_bytes(bytes(1_500_000))
    version = Version('"cut"', odd_lake.release(1).created_at)
    answer = LocalFileResponse(ServedFile(str(tmp_path / "cut"), 1_500_000, version, "application/octet-stream"), {})
    sent = []

    async def send(message: Message) -> None:
        sent.append(len(message.get("body", b"")))
        os.truncate(tmp_path / "cut", 600_000)

    with pytest.raises(LakeBroken, match="was truncated"):
        asyncio.run(answer({"type": "http", "method": "GET"}, receive_nothing, send))
    assert 500_000 < sum(sent) <= 600_000


async def receive_nothing() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


def test_a_large_file_arrives_whole(odd_lake: Lake, tmp_path: Path) -> None:
    content = bytes(range(256)) * 10_000
    (tmp_path / "large").write_bytes(content)
    version = Version('"large"', odd_lake.release(1).created_at)
    served = ServedFile(str(tmp_path / "large"), len(content), version, "application/octet-stream")

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await LocalFileResponse(served, Headers(scope=scope))(scope, receive, send)

    client = TestClient(application)
    assert client.get("/").content == content
    assert client.get("/", headers={"Range": "bytes=77-2000000"}).content == content[77:2_000_001]
