"""A bucket as the file store of a lake, over real S3 with verified signatures."""

from __future__ import annotations

import hashlib
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.store import S3Store

from losslake.lake.store import bucket as bucket_module
from losslake.lake.store.blocks import BlockCache
from losslake.lake.store.bucket_store import BucketStore
from losslake.lake.store.ranged_files import StoredFiles
from losslake.lake.store.s3 import open_store
from losslake.lake.store.store import DataFile
from tests.servers.failing_proxy import FailingProxy, Failure, failing_proxy
from tests.servers.processes import ADDRESS
from tests.servers.s3 import S3

ODD = "warehouse/losslake/data/collection=a%2Fb/dataset=mnist 100%25/model=ünï/batch_size=8/x+y&z=1#2.parquet"
DATA = bytes(range(256)) * 20_000


@pytest.fixture(autouse=True)
def _credentials(s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s3.let_in(monkeypatch, tmp_path / "cache")


@pytest.fixture
def url(s3: S3) -> str:
    return s3.new_warehouse()


@pytest.fixture
def store(url: str, tmp_path: Path) -> BucketStore:
    return store_at(url, tmp_path)


@pytest.fixture
def proxy(s3: S3) -> Iterator[FailingProxy]:
    with failing_proxy(s3.port) as running:
        yield running


def store_at(url: str, folder: Path, endpoint: str | None = None) -> BucketStore:
    return open_store(url, endpoint, BlockCache(folder / "cache", 100_000_000))


def parquet(store: BucketStore, path: str, rows: int) -> DataFile:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"step": range(rows), "value": [0.5] * rows}), sink, row_group_size=rows // 4)
    data = sink.getvalue()
    store.put(path, data)
    return DataFile("measurements", path, data.size, hashlib.sha256(data).hexdigest(), rows)


def test_object_keys_are_the_unescaped_paths(store: BucketStore, url: str, s3: S3) -> None:
    store.put(ODD, b"data")
    bucket, _, prefix = url.removeprefix("s3://").partition("/")
    plain = S3Store(bucket, client_options={"allow_http": True})
    assert [entry["path"] for entry in obstore.list(plain, prefix).collect()] == [f"{prefix}/{ODD}"]
    assert store.url_of(ODD) == f"{url}/{ODD}"


def test_a_stored_file_is_read_whole_by_ranges_and_as_a_local_file(store: BucketStore) -> None:
    store.put(ODD, DATA)
    store.sync([ODD])
    assert bytes(store.read(ODD)) == DATA
    with store.open(ODD, len(DATA)) as file:
        file.seek(len(DATA) - 10)
        assert file.read(100) == DATA[-10:]
        file.seek(1_048_570)
        assert file.read(20) == DATA[1_048_570:1_048_590]
    local = store.local(ODD, len(DATA))
    assert local.read_bytes() == DATA
    assert local.suffix == ".parquet"


def test_a_local_file_is_moved_in_and_copied_back(store: BucketStore, tmp_path: Path) -> None:
    (tmp_path / "finished").write_bytes(DATA)
    store.move_in(tmp_path / "finished", ODD)
    assert not (tmp_path / "finished").exists()
    store.copy_to(ODD, tmp_path / "copy", link=False)
    assert (tmp_path / "copy").read_bytes() == DATA


def test_files_are_listed_and_deleted_by_folder(store: BucketStore) -> None:
    for path in ("serving/a", "serving/b/c", "servings/d", ODD):
        store.put(path, b"data")
    listed = {file.path: file.bytes for file in store.list_files("serving")}
    assert listed == {"serving/a": 4, "serving/b/c": 4}
    store.delete(["serving/a", ODD, "not there"])
    assert {file.path for file in store.list_files("")} == {"serving/b/c", "servings/d"}


@pytest.mark.parametrize("others", [0, 70], ids=["few, asked one by one", "many, listed"])
def test_a_missing_file_is_reported(store: BucketStore, others: int) -> None:
    paths = [f"data/{number}" for number in range(others)] + [ODD]
    for path in paths:
        store.put(path, b"data")
    assert store.first_missing(paths) is None
    store.delete([ODD])
    assert store.first_missing(paths) == ODD
    for read in (lambda: store.read(ODD), lambda: store.local(ODD, 4), lambda: store.open(ODD, 4).read()):
        with pytest.raises(FileNotFoundError, match="does not exist"):
            read()


def test_a_list_continues_over_several_pages(store: BucketStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_module, "_PAGE_SIZE", 3)
    for number in range(7):
        store.put(f"data/a b={number}%25", b"data")
    assert [file.path for file in store.list_files("data/")] == [f"data/a b={number}%25" for number in range(7)]


def test_duckdb_reads_only_attached_files(store: BucketStore) -> None:
    file, other = parquet(store, ODD, 4000), parquet(store, "other.parquet", 4)
    with duckdb.connect() as connection:
        store.attach(connection, lambda: [file])
        result = connection.cursor().execute(
            "SELECT count(*), sum(step) FROM read_parquet($1) WHERE step >= 3000", [store.name_for_queries(file.path)]
        )
        assert result.fetchall() == [(1000, sum(range(3000, 4000)))]
        with pytest.raises(duckdb.IOException):
            connection.execute("SELECT 1 FROM read_parquet($1)", [store.name_for_queries(other.path)])


class OvertakenConnection:
    """A connection whose thread lets others go on between a look at its file systems and what it does then."""

    def __init__(self, file: Path) -> None:
        self.connection = duckdb.connect(str(file))
        self.register_filesystem = self.connection.register_filesystem

    def filesystem_is_registered(self, name: str) -> bool:
        found = self.connection.filesystem_is_registered(name)
        time.sleep(0.01)
        return found


def test_connections_to_one_file_are_attached_at_once(store: BucketStore, tmp_path: Path) -> None:
    connections: list[Any] = [OvertakenConnection(tmp_path / "a.duckdb") for _ in range(8)]
    with ThreadPoolExecutor(len(connections)) as pool:
        list(pool.map(lambda connection: store.attach(connection, list), connections))
    assert all(connection.filesystem_is_registered(StoredFiles.protocol) for connection in connections)
    for each in connections:
        each.connection.close()


@pytest.mark.parametrize("failure", Failure)
def test_a_failed_request_is_retried(url: str, tmp_path: Path, proxy: FailingProxy, failure: Failure) -> None:
    store = store_at(url, tmp_path, proxy.url)
    proxy.share, proxy.failures, proxy.seed = 0.3, (failure,), 1
    for number in range(6):
        store.put(f"f{number}", DATA[: 3_000 + number])
        assert store.range(f"f{number}", 3_000 + number, 0, 4_000) == DATA[: 3_000 + number]
        assert store.local(f"f{number}", 3_000 + number).stat().st_size == 3_000 + number
    assert len(list(store.list_files(""))) == 6
    assert proxy.failed[failure] > 0


def test_an_unavailable_store_raises_one_line(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_module, "SECONDS_TO_TRY", 1)
    with socket.socket() as nobody_listens:
        nobody_listens.bind((ADDRESS, 0))
        store = store_at(url, tmp_path, f"http://{ADDRESS}:{nobody_listens.getsockname()[1]}")
        with pytest.raises(OSError, match="the store failed") as raised:
            store.read("f")
    assert "\n" not in str(raised.value)


def test_rejected_credentials_are_reported(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "guessed")
    with pytest.raises(PermissionError, match="the store rejects the credentials"):
        store_at(url, tmp_path).put("f", b"data")
