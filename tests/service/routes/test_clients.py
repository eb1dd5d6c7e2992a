"""The usual clients read answers straight from the running service, and big answers stream."""

from __future__ import annotations

import io
import json
import math
import socket
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.request import Request, urlopen

import pandas as pd
import polars as pl
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from losslake.lake.lake import Lake
from losslake.output.answer import Answer
from losslake.output.formats import FORMATS
from tests.forked import Forked
from tests.made_up_lake import ERROR, Curves
from tests.servers.processes import SECONDS, wait_until
from tests.service.running import Running, served

DEEP = "shelf/deep/mnist/cnn/sgd"
CURVE = f"study={DEEP}/64&metric={ERROR}"
MEGABYTE = 2**20


@pytest.fixture(scope="module")
def running(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with served(tmp_path_factory.mktemp("clients"), lake=str(lake.folder), sql_enabled=False) as found:
        yield found


@pytest.fixture(scope="module")
def expected(curves: Curves) -> list[tuple[int, int, float]]:
    """Trial, step and value of the curve that all of them read."""
    rows = [row for row in curves[DEEP][ERROR] if row.batch_size == 64 and row.step is not None]
    return sorted(((row.trial_id, row.step or 0, row.value or 0.0) for row in rows), key=lambda row: row[:2])


def comparable(rows: object) -> str:
    """Rows that can be compared, although NaN is in them; of any kind of number."""
    assert isinstance(rows, list)
    return repr([(int(trial), int(step), float(value)) for trial, step, value in rows])


def test_polars_reads_an_url_of_parquet_and_of_csv(running: Running, expected: list[tuple[int, int, float]]) -> None:
    columns = ["trial_id", "step", "value"]
    for frame in (
        pl.read_parquet(f"{running.url}/v1/curves.parquet?{CURVE}"),
        pl.scan_parquet(f"{running.url}/v1/curves.parquet?{CURVE}").collect(),
        pl.read_csv(f"{running.url}/v1/curves.csv?{CURVE}"),
        pl.read_ipc_stream(io.BytesIO(urlopen(f"{running.url}/v1/curves.arrow?{CURVE}").read())),
    ):
        assert comparable(frame.select(columns).rows()) == comparable(expected)
    trials = pl.read_parquet(f"{running.url}/v1/trials.parquet")
    assert trials.height == pl.read_csv(f"{running.url}/v1/trials.csv").height == 50


def test_pandas_reads_an_url_of_csv_and_of_parquet(running: Running, expected: list[tuple[int, int, float]]) -> None:
    for frame in (
        pd.read_csv(f"{running.url}/v1/curves.csv?{CURVE}"),
        pd.read_parquet(f"{running.url}/v1/curves.parquet?{CURVE}"),
    ):
        rows = frame[["trial_id", "step", "value"]].itertuples(index=False, name=None)
        assert comparable(list(rows)) == comparable(expected)


def test_pyarrow_reads_a_stream_and_parts_of_parquet(running: Running, expected: list[tuple[int, int, float]]) -> None:
    with urlopen(f"{running.url}/v1/curves.arrow?{CURVE}") as response:
        arrow = pa.ipc.open_stream(response).read_all()
    remote = RemoteFile(f"{running.url}/v1/curves.parquet?{CURVE}")
    parquet = pq.ParquetFile(remote).read(["trial_id", "step", "value"])
    assert remote.n_parts > 0
    for table in (arrow, parquet):
        columns = [table[name].to_pylist() for name in ("trial_id", "step", "value")]
        assert comparable(list(zip(*columns, strict=True))) == comparable(expected)


class RemoteFile(io.RawIOBase):
    """Reads what it is asked for by ranges, as fsspec and httpfs do."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        with urlopen(Request(url, method="HEAD")) as response:
            self._size = int(response.headers["content-length"])
            self._tag = response.headers["etag"]
        self._at = 0
        self.n_parts = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        last = self._size - 1 if size < 0 else min(self._at + size, self._size) - 1
        if last < self._at:
            return b""
        asked = Request(self._url, headers={"Range": f"bytes={self._at}-{last}", "If-Range": self._tag})
        with urlopen(asked) as response:
            assert response.status == 206
            data: bytes = response.read()
        self._at += len(data)
        self.n_parts += 1
        return data


def test_json_has_the_same_curve(running: Running, expected: list[tuple[int, int, float]]) -> None:
    with urlopen(f"{running.url}/v1/curves?{CURVE}") as response:
        rows = json.load(response)["rows"]
    assert comparable([(row["trial_id"], row["step"], row["value"]) for row in rows]) == comparable(expected)
    assert any(math.isnan(value) for _, _, value in expected)


def big_answer(n_batches: int, closed: list[bool], made: list[int] | None = None) -> Answer:
    """Batches of 32,768 rows that are made one after the other, about a megabyte each; made: gets their numbers."""
    schema = pa.schema([("trial_id", pa.int64()), ("step", pa.int64()), ("value", pa.float64()), ("name", pa.string())])

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for number in range(n_batches):
                if made is not None:
                    made.append(number)
                steps = pa.array(range(number * 32_768, (number + 1) * 32_768))
                values = pa.array([step * 0.1 for step in range(32_768)])
                columns = [pa.repeat(pa.scalar(number), 32_768), steps, values, pa.repeat("name", 32_768)]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
        finally:
            closed.append(True)

    return Answer({"release": 1}, schema, batches())


@pytest.mark.parametrize(
    "name", [name if name == "parquet" else pytest.param(name, marks=pytest.mark.slow) for name in FORMATS]
)
def test_any_format_streams_while_its_rows_are_made(name: str) -> None:
    made: list[int] = []
    arrow, sizes, ahead = pa.total_allocated_bytes(), [], []
    allocated = 0
    for piece in FORMATS[name].encode(big_answer(40, [], made)):
        sizes.append(len(piece))
        ahead.append(len(made))
        allocated = max(allocated, pa.total_allocated_bytes() - arrow)
    assert sum(sizes) > 4 * MEGABYTE
    assert max(sizes) < 8 * MEGABYTE
    assert max(after - before for before, after in pairwise([0, *ahead])) < 20
    assert allocated < 20 * MEGABYTE


def stream(name: str) -> None:
    """Encode a small and a large answer; AssertionError if the large one needs more memory."""
    process = psutil.Process()
    list(FORMATS[name].encode(big_answer(4, [])))
    before = process.memory_info().rss
    for _ in FORMATS[name].encode(big_answer(200, [])):
        assert process.memory_info().rss - before < 60 * MEGABYTE


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_any_format_streams_in_memory_that_doesn_t_grow_with_the_answer(name: str) -> None:
    assert Forked(stream, name).wait(4 * SECONDS) == 0


@pytest.mark.parametrize("name", FORMATS)
def test_abandoned_answer_closes_its_resources(name: str) -> None:
    closed: list[bool] = []
    pieces = FORMATS[name].encode(big_answer(20, closed))
    next(pieces)
    next(pieces)
    del pieces
    assert closed == [True]


def test_disconnected_client_leaves_nothing_open(lake: Lake, tmp_path: Path) -> None:
    names = [f"study={DEEP}/{b}&study=shelf/mnist/cnn/sgd/{b}" for b in (1, 8, 64, 512)]
    query = "&".join(names)
    with served(tmp_path, lake=str(lake.folder), sql_enabled=False) as running:
        urlopen(f"{running.url}/v1/curves.csv?{query}").read()
        urlopen(f"{running.url}/v1/curves.parquet?{query}").read()
        service = psutil.Process(running.process.pid)

        def n_open() -> int:
            return service.num_fds() + sum(child.num_fds() for child in service.children())

        before = n_open()
        for number in range(40):
            with socket.create_connection(("127.0.0.1", running.port)) as connection:
                path = f"/v1/curves{('', '.csv', '.arrow', '.parquet')[number % 4]}?{query}&step_min={number}"
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                connection.recv(10)
        wait_until(lambda: n_open() <= before + 2, "what was opened for the clients is closed")
        assert json.load(urlopen(f"{running.url}/v1/metrics"))["release"] == 1
