"""A file that is only partly in the page cache is sent whole, however it is requested."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection, IncompleteRead
from pathlib import Path

import pytest
from starlette.types import Message

from losslake.lake.lake import Lake
from losslake_service.entity_tags import Version
from losslake_service.files.file_response import MAX_MESSAGE, LocalFileResponse
from losslake_service.files.ranges import ServedFile
from tests.servers.nginx import nginx_server
from tests.servers.processes import ADDRESS, SECONDS, free_port
from tests.service.files.half_cached import cache_half, folder_on_disk
from tests.service.running import Running
from tests.service.running import served as running_service

CONTENT = random.Random(7).randbytes(1_000_000)
# Sent in one message, in the longest one, and in chunks.
SIZES = [20_000, 100_000, MAX_MESSAGE, MAX_MESSAGE + 1, len(CONTENT)]
N_CLIENTS = 4
N_DOWNLOADS = 500


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with folder_on_disk() as folder:
        yield folder


def respond(folder: Path, size: int, headers: dict[str, str], method: str = "GET") -> list[Message]:
    """Return the messages of a response with a file of which only the first half is cached."""
    path = folder / str(size)
    path.write_bytes(CONTENT[:size])
    cache_half(path)
    file = ServedFile(str(path), size, Version('"x"'), "application/octet-stream")
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    asyncio.run(LocalFileResponse(file, headers)({"type": "http", "method": method, "headers": []}, receive, send))
    return sent


def length_and_body(messages: list[Message]) -> tuple[int, bytes]:
    """Return the Content-Length, and the body."""
    length = next(int(value) for name, value in messages[0]["headers"] if name == b"content-length")
    return length, b"".join(message.get("body", b"") for message in messages)


@pytest.mark.parametrize("size", SIZES)
def test_half_cached_file_is_sent_whole(folder: Path, size: int) -> None:
    messages = respond(folder, size, {})
    assert length_and_body(messages) == (size, CONTENT[:size])
    if size <= MAX_MESSAGE:
        assert [message["type"] for message in messages] == ["http.response.start", "http.response.body"]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("first", [0, 1, 7_000, -12_000])
def test_half_cached_range_is_sent_whole(folder: Path, size: int, first: int) -> None:
    asked, start = (f"bytes={first}", size + first) if first < 0 else (f"bytes={first}-{size - 2}", first)
    stop = size if first < 0 else size - 1
    assert length_and_body(respond(folder, size, {"range": asked})) == (stop - start, CONTENT[start:stop])


@pytest.mark.parametrize("size", SIZES)
def test_head_of_half_cached_file_has_its_length(folder: Path, size: int) -> None:
    assert length_and_body(respond(folder, size, {}, "HEAD")) == (size, b"")


@contextmanager
def in_front(service: Running, proxy: str, folder: Path) -> Iterator[int]:
    """Provide the port of a service, or of nginx before it."""
    if proxy == "none":
        yield service.port
        return
    port = free_port()
    server = f"listen {ADDRESS}:{port}; location / {{ proxy_pass {service.url}; }}"
    (folder / "nginx.conf").write_text(f"pid nginx.pid; events {{}} http {{ server {{ {server} }} }}")
    with nginx_server(folder / "nginx.conf", port):
        yield port


def body_from(port: int, path: str, headers: dict[str, str]) -> bytes:
    """Return the body as far as it comes."""
    with closing(HTTPConnection(ADDRESS, port, timeout=SECONDS)) as connection:
        connection.request("GET", path, headers=headers)
        try:
            return connection.getresponse().read()
        except IncompleteRead as error:
            return error.partial


@pytest.mark.slow
@pytest.mark.parametrize("proxy", ["none", "nginx"])
def test_500_downloads_of_half_cached_files_are_whole(folder: Path, lake: Lake, tmp_path: Path, proxy: str) -> None:
    with running_service(folder, lake=str(lake.folder)) as service, in_front(service, proxy, tmp_path) as port:

        def n_short(client: int) -> int:
            path, short = folder / f"of-client-{client}", 0
            path.write_bytes(CONTENT[:200_000])
            for number in range(N_DOWNLOADS // N_CLIENTS):
                cache_half(path)
                asked, stop = ({"Range": "bytes=0-189999"}, 190_000) if number % 2 else ({}, 200_000)
                short += body_from(port, f"/file/{path.name}", asked) != CONTENT[:stop]
            return short

        with ThreadPoolExecutor(N_CLIENTS) as pool:
            assert sum(pool.map(n_short, range(N_CLIENTS))) == 0
