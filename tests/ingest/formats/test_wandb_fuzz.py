"""Whatever the bytes, a file of W&B's ends in a run or in a named fault of one line."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.formats.wandb import FORMAT
from tests.ingest.formats.reading import read
from tests.ingest.formats.wandb_files import exit_record, framed, history_record, panel, run_record


def _parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"_step": [0, 1], "loss": [1.0, None], "n": [{"x": 1}, {"x": 2}]}), buffer)
    return buffer.getvalue()


HISTORY = b'{"_step": 0, "loss": 1.5, "a": {"b": 1}}\n{"_step": 1, "loss": NaN, "h": {"_type": "x"}}\n'
GOOD = {
    "a/p.csv": panel("Step", [1, 2], {"a - loss": [0.5, 0.25], "b - c - loss": [None, 3]}),
    "a/history.jsonl": HISTORY,
    "a/config.yaml": b"lr: {value: 1e-05}\nm:\n  value:\n    n: [1, 2]\n    e: 'x@y.org'\n",
    "b/history.parquet": _parquet(),
    "c/run.wandb": framed(
        [
            run_record({"lr": 1}, run_id="x"),
            history_record(0, {"l": 1.5}),
            history_record(1, {"a.b": 2}, True),
            exit_record(1),
        ]
    ),
}
SHORT = settings(suppress_health_check=list(HealthCheck))
LONG = settings(SHORT, max_examples=10_000)
paths = st.sampled_from(sorted(GOOD))
cuts = st.tuples(st.floats(0, 1), st.binary(max_size=12), st.booleans())
starts = st.sampled_from([b"", b":W&B\xe1\xbe\x00", b'"Step","a - x","a - x__MIN"\n', b'{"_step": 1}\n', b"PAR1"])


def read_anyhow(folder: pytest.TempPathFactory, path: str, data: bytes) -> None:
    surely = FORMAT.detect(Glimpse(path, data[:4096]))
    assert 0 <= surely <= 1
    for item in read(FORMAT, folder.mktemp("fuzz"), GOOD | {path: data}):
        assert isinstance(item, RunLog | Quarantined)
        if isinstance(item, Quarantined):
            assert "\n" not in item.message
            assert item.path == path
        else:
            assert item.rows
            for rows in item.rows:
                assert len({len(column) for column in rows.columns.values()}) == 1
                assert set(rows.missing) <= set(rows.columns)


def spoiled(path: str, cut: tuple[float, bytes, bool]) -> bytes:
    at, noise, is_cut = cut
    whole = GOOD[path]
    place = int(at * len(whole))
    return whole[:place] + noise + (b"" if is_cut else whole[place + len(noise) :])


@SHORT
@given(path=paths, cut=cuts)
def test_spoiled_files(tmp_path_factory: pytest.TempPathFactory, path: str, cut: tuple[float, bytes, bool]) -> None:
    read_anyhow(tmp_path_factory, path, spoiled(path, cut))


@SHORT
@given(path=paths, start=starts, data=st.binary(max_size=200))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, path: str, start: bytes, data: bytes) -> None:
    read_anyhow(tmp_path_factory, path, start + data)


@pytest.mark.fuzz
@LONG
@given(path=paths, cut=cuts)
def test_many_spoiled_files(
    tmp_path_factory: pytest.TempPathFactory, path: str, cut: tuple[float, bytes, bool]
) -> None:
    read_anyhow(tmp_path_factory, path, spoiled(path, cut))


@pytest.mark.fuzz
@LONG
@given(path=paths, start=starts, data=st.binary(max_size=200))
def test_many_bytes(tmp_path_factory: pytest.TempPathFactory, path: str, start: bytes, data: bytes) -> None:
    read_anyhow(tmp_path_factory, path, start + data)


@pytest.mark.parametrize("path", sorted(GOOD))
def test_every_cut_of_every_file(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    whole = GOOD[path]
    for end in range(0, len(whole), max(1, len(whole) // 80)):
        read_anyhow(tmp_path_factory, path, whole[:end])
