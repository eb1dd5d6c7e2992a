"""The floors of an ingest: decompressing an archive, and parsing its CSV bytes with pyarrow, both on all cores."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import rapidgzip

from losslake_ingest.sources.member import Member
from losslake_ingest.sources.open import open_source

_CHUNK = 1 << 22
_TEXT_AT_ONCE = 256 * 2**20
_LONGEST_WAIT_S = 1.0
_POLL_S, _AT_REST_S = 0.05, 0.005


def decompress(archive: Path) -> int:
    """Measure the first floor: decompressing the archive on all cores."""
    size = 0
    with rapidgzip.IndexedBzip2File(str(archive), parallelization=0) as stream:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
    return size


def parse(archive: Path, text_at_once: int = _TEXT_AT_ONCE) -> float:
    """Measure the second floor: parse every CSV by pyarrow on all cores, joined to one file a study; return seconds.

    Reading and joining is not counted, only parsing from memory, of some studies at a time with about so many bytes.
    """
    seconds = 0.0
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        for texts in _some_studies(archive, text_at_once):
            _wait_for_rest()
            started = time.perf_counter()
            rows = sum(pool.map(_parsed, sorted(texts, key=len, reverse=True)))
            seconds += time.perf_counter() - started
            assert rows > 0
    return seconds


def _some_studies(archive: Path, text_at_once: int) -> Iterator[list[bytes]]:
    """Yield the CSV texts of some studies at a time."""
    texts: list[bytes] = []
    files = (
        member
        for member in open_source(archive).members(lambda path: path.endswith("/measurements.csv"))
        if isinstance(member, Member)
    )
    for _, trials in groupby(files, key=lambda file: file.path.rsplit("/", 2)[0]):
        texts.append(_joined(trials))
        if sum(map(len, texts)) >= text_at_once:
            yield texts
            texts = []
    if texts:
        yield texts


def _joined(trials: Iterator[Member]) -> bytes:
    """Return the rows of several files below the header of the first."""
    first = next(trials).data
    return b"".join([first, *(trial.data.partition(b"\n")[2] for trial in trials)])


def _wait_for_rest() -> None:
    """Wait until the decompressor has read ahead, since it would take cores from the parser."""
    ends = time.monotonic() + _LONGEST_WAIT_S
    while time.monotonic() < ends:
        before = time.process_time()
        time.sleep(_POLL_S)
        if time.process_time() - before < _AT_REST_S:
            return


def _parsed(text: bytes) -> int:
    options = pa.csv.ReadOptions(use_threads=False, block_size=len(text) + 1)
    return int(pa.csv.read_csv(pa.py_buffer(text), options).num_rows)
