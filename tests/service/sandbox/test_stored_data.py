"""SQL over a release in a bucket: workers have no network, and get what the service gives them of this release."""

from __future__ import annotations

import asyncio
import math
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_service.sandbox import errors, stored_data
from losslake_service.sandbox.channel import ChannelClosed
from losslake_service.sandbox.errors import SqlProblem
from losslake_service.sandbox.stored_data import MAX_RANGE_BYTES, DataFileClient, StoreUnavailable, open_pair
from losslake_service.sandbox.workers import RemoteFiles
from tests.servers.processes import SECONDS
from tests.service.sandbox.sandbox_client import SMALL, UNCHECKED_WORKER, SandboxClient, now

PATH, SIZE = "warehouse/a.parquet", MAX_RANGE_BYTES * 2 + 100


class RemoteClient(SandboxClient):
    """A sandbox over a lake whose data files come from somewhere."""

    def __init__(self, lake: Lake, program: str | None = None) -> None:
        super().__init__(lake, replace(SMALL, workers=1), program)


@pytest.fixture(scope="module")
def unchecked(remote_lake: Lake) -> Iterator[RemoteClient]:
    """Its workers run every statement."""
    client = RemoteClient(remote_lake, UNCHECKED_WORKER)
    now(client.sandbox.start(client.file, client.data_files))
    yield client
    client.sandbox.close()


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
def test_statements_have_equal_results_over_bucket_and_folder(
    lake: Lake, unchecked: RemoteClient, statement: str
) -> None:
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
def test_unchecked_statements_reach_nothing_but_the_release(unchecked: RemoteClient, statement: str) -> None:
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

    def respond(self, seconds: float = SECONDS) -> None:
        self.ours.respond(time.monotonic() + seconds)


def question(path: str, start: int, stop: int) -> bytes:
    return struct.pack("!HQQ", len(path.encode()), start, stop) + path.encode()


@pytest.mark.parametrize(
    ("requested", "found"),
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
def test_service_serves_only_ranges_of_the_releases_files(requested: tuple[str, int, int], found: int) -> None:
    pair = Pair(Data())
    pair.theirs.sendall(question(*requested))
    pair.respond()
    assert struct.unpack("!q", pair.theirs.recv(8)) == (found,)
    data = pair.theirs.recv(100, socket.MSG_DONTWAIT) if requested[2] and found > 0 else b""
    assert data == (Data().read(*requested) if requested[2] and found > 0 else b"")


@pytest.mark.parametrize(
    "message",
    [question(PATH, 0, MAX_RANGE_BYTES + 1), question(PATH, 9, 8), question("x" * 5000, 0, 1), b"\xff" * 18],
    ids=["too much", "backwards", "a long path", "noise"],
)
def test_invalid_file_requests_close_the_channel(message: bytes) -> None:
    pair = Pair(Data())
    pair.theirs.sendall(message)
    with pytest.raises(ChannelClosed, match="invalid request for a data file"):
        pair.respond()


@pytest.mark.parametrize("seconds", [0.1, 0.0])
def test_silent_worker_times_out_with_its_statement(seconds: float) -> None:
    for message in (b"\0", question(PATH, 0, MAX_RANGE_BYTES)):
        pair = Pair(Data())
        pair.theirs.sendall(message)
        with pytest.raises(TimeoutError, match="timed out"):
            pair.respond(seconds)


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


class HangingData(Data):
    """A release's files in a store that gives no answer until it may."""

    def __init__(self) -> None:
        self.reads = threading.Semaphore(0)
        self.may_answer = threading.Event()

    def read(self, path: str, start: int, stop: int) -> bytes:
        self.reads.release()
        self.may_answer.wait()
        return super().read(path, start, stop)


def test_reads_that_hang_keep_no_other_worker_waiting() -> None:
    data = HangingData()
    pairs = [Pair(data) for _ in range(12)]
    with ThreadPoolExecutor(len(pairs)) as pool:
        for pair in pairs:
            pair.theirs.sendall(question(PATH, 0, 1))
            pool.submit(pair.respond)
        try:
            assert all(data.reads.acquire(timeout=SECONDS) for _ in pairs)
        finally:
            data.may_answer.set()


@pytest.mark.parametrize(
    ("seconds", "error", "message"),
    [(1, TimeoutError, "timed out"), (10, StoreUnavailable, f"no response for {PATH}")],
)
def test_only_a_long_read_is_blamed_on_the_store(
    seconds: int, error: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = HangingData()
    pair = Pair(data)
    pair.theirs.sendall(question(PATH, 0, 1))
    deadline = time.monotonic() + SECONDS
    # The read begins at the deadline, so that it is given up at once, and a clock says how long it took.
    clock = iter([deadline, deadline + seconds])
    monkeypatch.setattr(stored_data, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    try:
        with pytest.raises(error, match=message):
            pair.ours.respond(deadline)
    finally:
        data.may_answer.set()


class UnsteadyStore:
    """A release's files in a store that fails, or gives no answer until it may."""

    def __init__(self, data: RemoteFiles) -> None:
        self._data = data
        self.size = data.size
        self.fails = False
        self.reading = threading.Event()
        self.may_answer = threading.Event()
        self.may_answer.set()

    def read(self, path: str, start: int, stop: int) -> bytes:
        self.reading.set()
        self.may_answer.wait()
        if self.fails:
            raise OSError("the store failed")
        return self._data.read(path, start, stop)


COUNT = "SELECT count(*) AS n, sum(value + step) FROM measurements"


@pytest.fixture
def unsteady(remote_lake: Lake) -> Iterator[tuple[RemoteClient, UnsteadyStore]]:
    client = RemoteClient(remote_lake)
    assert isinstance(client.data_files, RemoteFiles)
    client.data_files = store = UnsteadyStore(client.data_files)
    yield client, store
    store.may_answer.set()
    client.sandbox.close()


@pytest.mark.slow
def test_store_failure_is_unavailable(unsteady: tuple[RemoteClient, UnsteadyStore]) -> None:
    client, store = unsteady
    store.fails = True
    assert client.fails(COUNT).kind == errors.UNAVAILABLE
    store.fails = False
    assert client(COUNT)[0]["n"] > 0


@pytest.mark.slow
def test_abandoned_statement_leaves_a_sandbox_that_answers(unsteady: tuple[RemoteClient, UnsteadyStore]) -> None:
    client, store = unsteady

    async def abandon() -> None:
        running = asyncio.create_task(client.rows(COUNT))
        assert await asyncio.to_thread(store.reading.wait, SECONDS)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

    store.may_answer.clear()
    now(abandon())
    store.may_answer.set()
    assert client(COUNT)[0]["n"] > 0


@pytest.mark.slow
def test_store_that_does_not_answer_ends_the_statement_at_its_limit(
    remote_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_data, "_STORE_TIMEOUT", math.inf)
    client = SandboxClient(remote_lake, replace(SMALL, workers=1, seconds=0.6))
    assert isinstance(client.data_files, RemoteFiles)
    client.data_files = store = UnsteadyStore(client.data_files)
    store.may_answer.clear()
    assert client.fails(COUNT).kind == errors.TIME
    store.may_answer.set()
    client.sandbox.close()
