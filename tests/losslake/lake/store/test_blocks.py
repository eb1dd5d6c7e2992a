"""What was fetched from a bucket is kept: each byte is fetched once, and all that is kept stays below the bound."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from losslake.lake.store import blocks as blocks_module
from losslake.lake.store.blocks import Blocks

BLOCK = 8
DATA = bytes(range(100))


class Remote:
    """A file far away, which notes what is fetched of it."""

    def __init__(self) -> None:
        self.fetched: list[tuple[int, int]] = []

    def range(self, start: int, stop: int) -> bytes:
        self.fetched.append((start, stop))
        return DATA[start:stop]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", BLOCK)


def test_any_range_is_that_of_the_file(tmp_path: Path) -> None:
    blocks, remote, chance = Blocks(tmp_path, 10_000), Remote(), random.Random(1)
    for _ in range(200):
        start, stop = sorted(chance.choices(range(120), k=2))
        assert blocks.read("f", len(DATA), start, stop, remote.range) == DATA[start:stop]
    assert sum(stop - start for start, stop in remote.fetched) <= len(DATA)


def test_neighbouring_blocks_are_fetched_by_one_request(tmp_path: Path) -> None:
    blocks, remote = Blocks(tmp_path, 10_000), Remote()
    blocks.read("f", len(DATA), 17, 18, remote.range)
    blocks.read("f", len(DATA), 0, 50, remote.range)
    assert remote.fetched == [(16, 24), (0, 16), (24, 56)]


def test_another_process_finds_what_was_kept(tmp_path: Path) -> None:
    Blocks(tmp_path, 10_000).read("f", len(DATA), 0, 100, Remote().range)
    remote = Remote()
    assert Blocks(tmp_path, 10_000).read("f", len(DATA), 3, 60, remote.range) == DATA[3:60]
    assert remote.fetched == []


def test_files_are_kept_apart(tmp_path: Path) -> None:
    blocks = Blocks(tmp_path, 10_000)
    blocks.read("f", len(DATA), 0, 9, Remote().range)
    assert blocks.read("g", 9, 0, 9, lambda a, b: b"x" * (b - a)) == b"x" * 9


def test_what_was_used_least_lately_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module, "_SECONDS_SAFE", 0.0)
    blocks, remote = Blocks(tmp_path, 5 * BLOCK), Remote()
    for number in range(5):
        blocks.read("f", len(DATA), number * BLOCK, (number + 1) * BLOCK, remote.range)
    now = time.time()
    for file in (tmp_path / "blocks").rglob("*-[0-9]*"):
        os.utime(file, (now, now - 100 + int(file.name.rpartition("-")[2])))
    blocks.read("f", len(DATA), 0, BLOCK, remote.range)
    blocks.read("f", len(DATA), 90, 96, remote.range)
    left = {int(file.name.rpartition("-")[2]) for file in (tmp_path / "blocks").rglob("*-[0-9]*")}
    assert 0 in left
    assert 1 not in left
    assert len(left) <= 5


def test_a_whole_file_is_fetched_once_and_again_when_it_was_cut(tmp_path: Path) -> None:
    blocks, times = Blocks(tmp_path, 10_000), []

    def fetch(target: Path) -> None:
        times.append(1)
        target.write_bytes(DATA)

    path = blocks.whole("a/f.parquet", len(DATA), fetch)
    assert path.suffix == ".parquet"
    assert blocks.whole("a/f.parquet", len(DATA), fetch).read_bytes() == DATA
    assert len(times) == 1
    path.write_bytes(DATA[:5])
    assert blocks.whole("a/f.parquet", len(DATA), fetch).read_bytes() == DATA
    assert len(times) == 2


def test_where_nothing_can_be_kept_answers_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "blocks").write_text("in the way")
    assert Blocks(tmp_path, 10_000).read("f", len(DATA), 5, 50, Remote().range) == DATA[5:50]


def test_a_fetch_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def fetch(target: Path) -> None:
        target.write_bytes(b"half")
        raise OSError("the store failed")

    with pytest.raises(OSError, match="the store failed"):
        Blocks(tmp_path, 10_000).whole("f", len(DATA), fetch)
    assert not any((tmp_path / "files").iterdir())
