"""A lake in a bucket gives the same bytes by the same requests as one in a folder, whoever sends them."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient
from starlette.types import Message, Receive, Send

from losslake.lake.lake import Lake
from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_service.files import delivery
from losslake_service.files.delivery import ReadRange, stored_file_response
from losslake_service.files.ranges import AnswerHead
from tests.applications import without_sql
from tests.repository.checkout import ROOT
from tests.servers.nginx import nginx_server
from tests.servers.processes import SECONDS, free_port
from tests.service.running import served

FILE = "/data/1/trials.parquet"
DATA = bytes(index % 251 for index in range(1000))
NEW_EACH_TIME = ("date", "x-request-id")
SCOPE = {"type": "http", "method": "GET"}


async def never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def answer(part: range, read: ReadRange, receive: Receive, send: Send) -> None:
    response = await stored_file_response(AnswerHead(200, {}, part), part, read, "f")
    await response(SCOPE, receive, send)


def client_of(lake: Lake, **settings: object) -> TestClient:
    return TestClient(without_sql(lake, **settings), raise_server_exceptions=False, follow_redirects=False)


@pytest.fixture(scope="session")
def local(lake: Lake) -> Iterator[TestClient]:
    with client_of(lake) as client:
        yield client


@pytest.fixture(scope="session")
def remote(remote_lake: Lake) -> Iterator[TestClient]:
    with client_of(remote_lake) as client:
        yield client


@pytest.mark.slow
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Range": "bytes=10-99"},
        {"Range": "bytes=-8"},
        {"Range": "bytes=999999999-"},
        {"Range": "bytes=0-1", "If-Range": '"other"'},
        {"If-Match": '"other"'},
        {"If-None-Match": "*"},
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_bucket_and_folder_give_equal_responses(
    local: TestClient, remote: TestClient, method: str, headers: dict[str, str]
) -> None:
    one, other = (client.request(method, FILE, headers=headers) for client in (local, remote))
    assert one.status_code == other.status_code
    told = ("etag", "content-length", "content-range", "content-type", "cache-control", "accept-ranges")
    if one.status_code < 400:
        assert one.content == other.content
        assert [one.headers.get(name) for name in told] == [other.headers.get(name) for name in told]


def test_every_file_matches_its_checksum(remote: TestClient) -> None:
    sums = [line.split("  ", 1) for line in remote.get("/data/1/SHA256SUMS").text.splitlines()]
    assert len(sums) > 20
    for sha256, place in sums:
        path = place.replace("%", "%25")
        assert hashlib.sha256(remote.get(f"/data/1/{path}").content).hexdigest() == sha256, place


def test_missing_file_gets_503(remote_lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSSLAKE_CACHE", str(tmp_path))
    empty_handed = Lake.open(str(remote_lake))
    gone = next(file.path for file in empty_handed.files(empty_handed.release()) if file.table == "goals")
    data = empty_handed.store.read(gone)
    empty_handed.store.delete([gone])
    try:
        told = client_of(empty_handed).get("/data/1/goals.parquet")
        assert (told.status_code, told.json()["type"]) == (503, "urn:losslake:problem:lake-unavailable")
    finally:
        empty_handed.store.put(gone, data)


@pytest.mark.parametrize("part", [range(1000), range(7), range(8, 16), range(13, 1000), range(999, 1000)], ids=str)
def test_long_file_is_streamed_in_chunks(part: range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "CHUNK_BYTES", 8)
    sent: list[bytes] = []

    async def read(start: int, stop: int) -> bytes:
        assert stop <= (start // 8 + 1) * 8
        return DATA[start:stop]

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))

    asyncio.run(answer(part, read, never, send))
    assert b"".join(sent) == DATA[part.start : part.stop]


def test_fetching_stops_when_the_client_disconnects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "CHUNK_BYTES", 8)
    fetched: list[int] = []
    leaves = asyncio.Event()

    async def read(start: int, stop: int) -> bytes:
        fetched.append(start)
        await asyncio.sleep(0)
        return DATA[start:stop]

    async def send(_: Message) -> None:
        if len(fetched) > 5:
            leaves.set()
            await never()

    async def receive() -> Message:
        await leaves.wait()
        return {"type": "http.disconnect"}

    asyncio.run(asyncio.wait_for(answer(range(1000), read, receive, send), SECONDS))
    assert 5 < len(fetched) < 12


def test_store_failure_aborts_the_response(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "CHUNK_BYTES", 8)
    sent: list[bytes] = []

    async def read(start: int, stop: int) -> bytes:
        if start >= 80:
            raise OSError("the store failed")
        return DATA[start:stop]

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))

    with pytest.raises(LakeBroken, match="the store failed"):
        asyncio.run(answer(range(1000), read, never, send))
    assert b"".join(sent) == DATA[: len(b"".join(sent))]


def test_redirect_leads_to_the_file_until_it_expires(remote_lake: Lake, local: TestClient) -> None:
    whole = local.get(FILE)
    with client_of(remote_lake, data_delivery="redirect") as client:
        moved = client.get(FILE)
        assert (moved.status_code, moved.headers["cache-control"]) == (307, "private, no-store")
        url = moved.headers["location"]
        assert "X-Amz-Expires=600" in url
        assert httpx.get(url).content == whole.content
        assert httpx.get(url, headers={"Range": "bytes=5-9"}).content == whole.content[5:10]
        told = httpx.head(client.head(FILE).headers["location"])
        assert (told.status_code, told.headers["content-length"]) == (200, str(len(whole.content)))
        known = client.get(FILE, headers={"If-None-Match": whole.headers["etag"]})
        assert (known.status_code, known.content) == (304, b"")
        assert client.get(FILE, headers={"Range": "bytes=99999999-"}).status_code == 416
        assert client.get("/data/1/README.md").status_code == 200


def test_redirect_uses_data_url_endpoint(remote_lake: Lake) -> None:
    with client_of(remote_lake, data_delivery="redirect", data_url_endpoint="https://s3.example") as client:
        assert client.get(FILE).headers["location"].startswith("https://s3.example/losslake/")


def test_redirect_with_a_lake_in_a_folder_is_an_error(lake: Lake) -> None:
    with pytest.raises(LossLakeError, match="needs a lake in a bucket"):
        without_sql(lake, data_delivery="redirect")


def documented_configuration(lake: Lake, service: str) -> str:
    """Return the locations of nginx that docs/operating.md has for a folder, for this lake and service."""
    documentation = (ROOT / "docs" / "operating.md").read_text()
    block = next(
        text for text in re.findall(r"```nginx\n(.*?)```", documentation, re.DOTALL) if "/stored-data/" in text
    )
    own = 'proxy_set_header X-Store-Status "";'
    assert own in documentation
    front = f"location / {{ proxy_pass {service}; {own} }}"
    return f"{front}{block.replace('/srv/lake', str(lake.folder)).replace('http://losslake', service)}"


def test_nginx_sends_the_files_of_a_folder(lake: Lake, local: TestClient, tmp_path: Path) -> None:
    whole = local.get(FILE)
    with served(tmp_path, lake=str(lake), data_delivery="nginx") as service:
        port = free_port()
        server = f"listen 127.0.0.1:{port}; {documented_configuration(lake, service.url)}"
        (tmp_path / "nginx.conf").write_text(f"pid nginx.pid; events {{}} http {{ server {{ {server} }} }}")
        with nginx_server(tmp_path / "nginx.conf", port), httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
            got = client.get(FILE)
            assert got.content == whole.content
            own = client.get(FILE, headers={"If-Match": "*"})
            assert {name: value for name, value in own.headers.items() if name not in NEW_EACH_TIME} == {
                name: value for name, value in got.headers.items() if name not in NEW_EACH_TIME
            }
            assert got.headers["etag"] == whole.headers["etag"]
            part = client.get(FILE, headers={"Range": "bytes=3-8", "If-Range": got.headers["etag"]})
            assert (part.status_code, part.content) == (206, whole.content[3:9])
            assert part.headers.get_list("accept-ranges") == ["bytes"]
            assert client.get(FILE, headers={"If-None-Match": got.headers["etag"]}).status_code == 304
            assert client.get(FILE, headers={"If-Match": '"other"'}).status_code == 412
            assert client.head(FILE).headers["content-length"] == str(len(whole.content))
            odd = next(
                line
                for line in client.get("/data/1/SHA256SUMS").text.splitlines()
                if "%2F" in line and ".parquet" in line
            )
            sha256, _, place = odd.partition("  ")
            data = client.get(f"/hive/1/{place}")
            assert (data.status_code, hashlib.sha256(data.content).hexdigest()) == (200, sha256), data.text[:500]
            assert client.get("/stored-data/lake.toml").status_code in (404, 503)
            file = lake.folder / next(file.path for file in lake.files(lake.release()) if file.table == "goals")
            hidden = file.rename(file.with_suffix(".hidden"))
            try:
                missing = client.get("/data/1/goals.parquet")
            finally:
                hidden.rename(file)
            assert (missing.status_code, missing.headers.get_list("cache-control")) == (503, ["no-store"])
            assert missing.json()["type"] == "urn:losslake:problem:lake-unavailable"


def test_long_files_of_a_bucket_are_not_left_to_nginx(remote_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    with client_of(remote_lake, data_delivery="nginx") as client:
        assert "x-accel-redirect" in client.get(FILE).headers
        size = int(client.head(FILE).headers["content-length"])
    monkeypatch.setattr(delivery, "LONGEST_BY_NGINX", size - 1)
    with client_of(remote_lake, data_delivery="nginx") as client:
        sent = client.get(FILE)
        assert "x-accel-redirect" not in sent.headers
        assert len(sent.content) == size
