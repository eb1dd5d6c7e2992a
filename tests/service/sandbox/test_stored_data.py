"""SQL over a release in a bucket: workers have no network, and get what the service gives them of this release."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_service.sandbox import errors, stored_data
from losslake_service.sandbox.channel import ChannelClosed
from losslake_service.sandbox.errors import SqlProblem
from losslake_service.sandbox.stored_data import MAX_RANGE_BYTES, DataFileClient, open_pair
from losslake_service.sandbox.workers import BucketData
from tests.service.sandbox.asking import SMALL, UNCHECKED, Asked, now

PATH, SIZE = "warehouse/a.parquet", MAX_RANGE_BYTES * 2 + 100


class Asker(Asked):
    """A sandbox over a lake whose data files come from somewhere."""

    def __init__(self, lake: Lake, program: str | None = None) -> None:
        super().__init__(lake, replace(SMALL, workers=1), program)


@pytest.fixture(scope="module")
def unchecked(remote_lake: Lake) -> Iterator[Asker]:
    """Its workers run every statement."""
    asked = Asker(remote_lake, UNCHECKED)
    now(asked.sandbox.start(asked.file, asked.data_files))
    yield asked
    asked.sandbox.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) AS n, count(value) AS values, sum(step) AS steps FROM measurements",
        "SELECT * FROM measurements WHERE batch_size = 8 ORDER BY ALL LIMIT 50",
        "SELECT collection, count(*) AS n FROM records GROUP BY ALL ORDER BY ALL",
        "SELECT * FROM steps_to('val/classification_error', 0.3) ORDER BY ALL",
        "SHOW TABLES",
    ],
)
def test_statements_have_equal_results_over_bucket_and_folder(lake: Lake, unchecked: Asker, statement: str) -> None:
    with open_release(lake, lake.release()) as local:
        expected = local.sql(statement).to_arrow_table().to_pylist()
    assert repr(unchecked(statement)) == repr(expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "FROM read_parquet('losslake://warehouse/other.parquet')",
        "FROM read_blob('losslake://lake.toml')",
        "FROM read_blob('losslake://warehouse/../lake.toml')",
        "FROM read_text('/etc/passwd')",
        "FROM read_blob('{cache}/../../../catalog.db')",
        "FROM 's3://losslake/x.parquet'",
        "FROM read_csv('{endpoint}/x.csv')",
        "ATTACH 'losslake://warehouse/x.duckdb' AS x",
        "COPY (SELECT 1) TO 'losslake://warehouse/x.parquet'",
        "COPY (SELECT 1) TO '{parquet}'",
        "COPY (SELECT 1) TO '{cache}/x.parquet'",
        "SET allowed_directories = ['losslake://']",
        "SET enable_external_access = true",
    ],
)
def test_unchecked_statements_reach_nothing_but_the_release(unchecked: Asker, statement: str) -> None:
    lake = unchecked.lake
    lake.store.put("warehouse/other.parquet", b"PAR1 of another release")
    before = {file.path: file.modified for file in lake.store.list_files("")}
    file = lake.files(lake.release())[0].path
    facts = {"cache": lake.folder, "parquet": f"losslake://{file}", "endpoint": "http://127.0.0.1:1"}
    outcome = unchecked.outcome(statement.format(**facts))
    assert isinstance(outcome, SqlProblem) or outcome == []
    assert {file.path: file.modified for file in lake.store.list_files("")} == before


class Data:
    """The data files of a release: one."""

    def size(self, path: str) -> int | None:
        return SIZE if path == PATH else None

    def read(self, path: str, start: int, stop: int) -> bytes:
        assert path == PATH
        assert 0 <= start < stop <= SIZE
        return bytes(number % 251 for number in range(start, stop)) if stop - start < 1000 else bytes(stop - start)


class Pair:
    """Both ends, the worker's as a socket."""

    def __init__(self, data: Data) -> None:
        self.ours, self.theirs = open_pair(data)

    def respond(self, seconds: float = 5.0) -> None:
        self.ours.respond(time.monotonic() + seconds)


def question(path: str, start: int, stop: int) -> bytes:
    return struct.pack("!HQQ", len(path.encode()), start, stop) + path.encode()


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ((PATH, 0, 0), SIZE),
        ((PATH, 3, 8), 5),
        ((PATH, SIZE - 1, SIZE), 1),
        ((PATH, SIZE - 1, SIZE + 1), -1),
        ((PATH, 2**63, 2**63 + 1), -1),
        (("warehouse/b.parquet", 0, 1), -1),
        (("../catalog.db", 0, 0), -1),
        (("", 0, 0), -1),
    ],
)
def test_service_serves_only_ranges_of_the_releases_files(asked: tuple[str, int, int], found: int) -> None:
    pair = Pair(Data())
    pair.theirs.sendall(question(*asked))
    pair.respond()
    assert struct.unpack("!q", pair.theirs.recv(8)) == (found,)
    data = pair.theirs.recv(100, socket.MSG_DONTWAIT) if asked[2] and found > 0 else b""
    assert data == (Data().read(*asked) if asked[2] and found > 0 else b"")


@pytest.mark.parametrize(
    "asked",
    [question(PATH, 0, MAX_RANGE_BYTES + 1), question(PATH, 9, 8), question("x" * 5000, 0, 1), b"\xff" * 18],
    ids=["too much", "backwards", "a long path", "noise"],
)
def test_invalid_file_requests_close_the_channel(asked: bytes) -> None:
    pair = Pair(Data())
    pair.theirs.sendall(asked)
    with pytest.raises(ChannelClosed):
        pair.respond()


def test_silent_worker_times_out_with_its_statement() -> None:
    for asked in (b"\0", question(PATH, 0, MAX_RANGE_BYTES)):
        pair = Pair(Data())
        pair.theirs.sendall(asked)
        with pytest.raises(TimeoutError):
            pair.respond(0.1)


def test_closed_worker_socket_raises_channel_closed() -> None:
    pair = Pair(Data())
    pair.theirs.sendall(question(PATH, 0, MAX_RANGE_BYTES))
    pair.theirs.close()
    with pytest.raises(ChannelClosed):
        pair.respond()


@pytest.mark.slow
def test_long_ranges_are_requested_in_parts() -> None:
    pair = Pair(Data())
    asks = DataFileClient(pair.theirs)

    async def both() -> bytes:
        reading = asyncio.create_task(asyncio.to_thread(asks.read, PATH, 1, SIZE))
        for _ in range(3):
            await asyncio.to_thread(pair.respond)
        return await reading

    assert len(asyncio.run(both())) == SIZE - 1


class Unsteady:
    """A release's files in a store that fails, or gives no answer for a while."""

    def __init__(self, data: BucketData) -> None:
        self._data = data
        self.size = data.size
        self.seconds = 0.0
        self.fails = False

    def read(self, path: str, start: int, stop: int) -> bytes:
        time.sleep(self.seconds)
        if self.fails:
            raise OSError("the store failed")
        return self._data.read(path, start, stop)


@pytest.mark.slow
def test_store_failure_is_unavailable_and_not_a_time_limit(remote_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = "SELECT count(*) AS n, sum(value + step) FROM measurements"
    asker = Asker(remote_lake)
    assert isinstance(asker.data_files, BucketData)
    asker.data_files = store = Unsteady(asker.data_files)
    try:
        store.fails = True
        assert asker.fails(statement).kind == errors.UNAVAILABLE
        store.fails, store.seconds = False, 0.4
        assert asker.fails(statement).kind == errors.TIME
        monkeypatch.setattr(stored_data, "_STORE_TIMEOUT", 0.2)
        store.seconds = 2.0
        assert asker.fails(statement).kind == errors.UNAVAILABLE
        now(abandoned(asker, statement))
        store.seconds = 0.0
        assert asker(statement)[0]["n"] > 0
    finally:
        asker.sandbox.close()


async def abandoned(asker: Asker, statement: str) -> None:
    """Ask, and go away while a file is being read."""
    asking = asyncio.create_task(asker.rows(statement))
    await asyncio.sleep(0.3)
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking
