"""The block cache of a bucket: each byte is fetched once, and the cache stays below its limit."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from losslake.lake.store import blocks as blocks_module
from losslake.lake.store.blocks import BlockCache

BLOCK = 8
DATA = bytes(range(100))


class Remote:
    """A remote file that records the ranges fetched from it."""

    def __init__(self) -> None:
        self.fetched: list[tuple[int, int]] = []

    def range(self, start: int, stop: int) -> bytes:
        self.fetched.append((start, stop))
        return DATA[start:stop]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", BLOCK)


def test_any_range_equals_that_of_the_file(tmp_path: Path) -> None:
    blocks, remote, chance = BlockCache(tmp_path, 10_000), Remote(), random.Random(1)
    for _ in range(200):
        start, stop = sorted(chance.choices(range(120), k=2))
        assert blocks.read("f", len(DATA), start, stop, remote.range) == DATA[start:stop]
    assert sum(stop - start for start, stop in remote.fetched) <= len(DATA)


def test_neighbouring_blocks_are_fetched_by_one_request(tmp_path: Path) -> None:
    blocks, remote = BlockCache(tmp_path, 10_000), Remote()
    blocks.read("f", len(DATA), 17, 18, remote.range)
    blocks.read("f", len(DATA), 0, 50, remote.range)
    assert remote.fetched == [(16, 24), (0, 16), (24, 56)]


def test_another_process_uses_the_cached_blocks(tmp_path: Path) -> None:
    BlockCache(tmp_path, 10_000).read("f", len(DATA), 0, 100, Remote().range)
    remote = Remote()
    assert BlockCache(tmp_path, 10_000).read("f", len(DATA), 3, 60, remote.range) == DATA[3:60]
    assert remote.fetched == []


def test_blocks_of_different_files_are_separate(tmp_path: Path) -> None:
    blocks = BlockCache(tmp_path, 10_000)
    blocks.read("f", len(DATA), 0, 9, Remote().range)
    assert blocks.read("g", 9, 0, 9, lambda a, b: b"x" * (b - a)) == b"x" * 9


def test_blocks_and_whole_files_are_counted_as_hits_and_misses(tmp_path: Path) -> None:
    blocks = BlockCache(tmp_path, 10_000)
    blocks.read("f", len(DATA), 0, 2 * BLOCK, Remote().range)
    assert (blocks.hits, blocks.misses) == (0, 2)
    blocks.read("f", len(DATA), BLOCK, 5 * BLOCK, Remote().range)
    assert (blocks.hits, blocks.misses) == (1, 5)

    def fetch(target: Path) -> None:
        target.write_bytes(DATA)

    for _ in range(3):
        blocks.whole("g", len(DATA), fetch)
    assert (blocks.hits, blocks.misses) == (3, 6)


def test_the_least_recently_used_is_evicted_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module, "_SECONDS_SAFE", -1e6)  # even if the clock is set back
    blocks, remote = BlockCache(tmp_path, 5 * BLOCK), Remote()
    for number in range(5):
        blocks.read("f", len(DATA), number * BLOCK, (number + 1) * BLOCK, remote.range)
    for file in (tmp_path / "blocks").rglob("*-[0-9]*"):
        used_at = int(file.name.rpartition("-")[2])  # in 1970, before any clock's now
        os.utime(file, (used_at, used_at))
    blocks.read("f", len(DATA), 0, BLOCK, remote.range)
    blocks.read("f", len(DATA), 90, 96, remote.range)
    left = {int(file.name.rpartition("-")[2]) for file in (tmp_path / "blocks").rglob("*-[0-9]*")}
    assert 0 in left
    assert 1 not in left
    assert len(left) <= 5


def test_a_whole_file_is_fetched_once_and_again_if_truncated(tmp_path: Path) -> None:
    blocks, times = BlockCache(tmp_path, 10_000), []

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


def test_reads_succeed_if_nothing_can_be_cached(tmp_path: Path) -> None:
    (tmp_path / "blocks").write_text("in the way")
    assert BlockCache(tmp_path, 10_000).read("f", len(DATA), 5, 50, Remote().range) == DATA[5:50]


def test_a_failed_fetch_leaves_no_file(tmp_path: Path) -> None:
    def fetch(target: Path) -> None:
        target.write_bytes(b"half")
        raise OSError("the store failed")

    with pytest.raises(OSError, match="the store failed"):
        BlockCache(tmp_path, 10_000).whole("f", len(DATA), fetch)
    assert not any((tmp_path / "files").iterdir())
