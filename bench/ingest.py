"""Ingest against its two floors, in one run: `python -m bench.ingest [--archive FILE] [--rounds 3]`.

Floors: decompressing the archive on all cores, and parsing the same CSV bytes with pyarrow on all cores. Ingest runs
from the archive to a verified release. Every part runs in a process of its own, taking turns; medians are shown.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import rapidgzip

from bench.archive import write_archive
from bench.measure import Measured, in_own_process, machine
from bench.plan import Scale
from ingest.report import Summary
from ingest.run import ingest
from ingest.sources.open import open_source
from schema.lake import Lake
from schema.verification import verify

_CHUNK = 1 << 22


def decompress(archive: Path) -> int:
    """The first floor: the archive's bytes, decompressed on all cores and dropped."""
    size = 0
    with rapidgzip.IndexedBzip2File(str(archive), parallelization=0) as stream:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
    return size


def parse(archive: Path) -> float:
    """The second floor: every CSV parsed by pyarrow on all cores, joined to files of a study each; returns its seconds.

    Reading and joining is not counted, only parsing from memory.
    """
    bodies: dict[str, list[bytes]] = {}
    for member in open_source(archive).members(lambda path: path.endswith("measurements.csv")):
        header, _, rows = member.data.partition(b"\n")  # type: ignore[union-attr]
        bodies.setdefault(member.path.rsplit("/", 2)[0], [header + b"\n"]).append(rows)
    joined = [b"".join(parts) for parts in bodies.values()]
    started = time.perf_counter()
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        rows = sum(pool.map(_parse_one, joined))
    assert rows > 0
    return time.perf_counter() - started


def _parse_one(text: bytes) -> int:
    options = pa.csv.ReadOptions(use_threads=False, block_size=len(text) + 1)
    return int(pa.csv.read_csv(pa.py_buffer(text), options).num_rows)


def ingest_and_verify(archive: Path, folder: Path) -> Summary:
    """What is measured: an archive into an empty lake, released and verified."""
    lake = Lake.create(folder)
    summary = ingest(lake, [archive])
    problems = verify(lake, lake.release(summary.release)).problems
    assert not problems and not summary.quarantined and not summary.broken, (problems, summary)
    return summary


def run(archive: Path, rounds: int) -> str:
    """The report of some rounds, as lines of text."""
    ingests: list[Measured] = []
    again: list[Measured] = []
    decompressions: list[float] = []
    parses: list[float] = []
    with tempfile.TemporaryDirectory(prefix="losslake-bench-") as temporary:
        folder = Path(temporary)
        for number in range(rounds):
            lake = folder / f"lake-{number}"
            decompressions.append(in_own_process(decompress, archive).wall_s)
            parses.append(in_own_process(parse, archive).result)
            ingests.append(in_own_process(ingest_and_verify, archive, lake))
            again.append(in_own_process(ingest_and_verify, archive, lake))
            size = sum(file.stat().st_size for file in (lake / "warehouse").rglob("*.parquet"))
            shutil.rmtree(lake)
    return _report(archive, size, decompressions, parses, ingests, again)


def _report(
    archive: Path,
    size: int,
    decompressions: list[float],
    parses: list[float],
    ingests: list[Measured],
    again: list[Measured],
) -> str:
    summary: Summary = ingests[0].result
    wall = statistics.median(m.wall_s for m in ingests)
    decompression, parse_s = statistics.median(decompressions), statistics.median(parses)
    ratios = [m.wall_s / (d + p) for m, d, p in zip(ingests, decompressions, parses, strict=True)]
    lines = [
        machine(),
        f"archive: {archive.stat().st_size:,} bytes, {summary.trials_ingested:,} trials",
        f"{summary.evaluations:,} evaluations, {summary.measurements:,} values; medians of {len(ingests)} rounds",
        f"floor, decompression on all cores   {decompression:8.2f} s",
        f"floor, CSV parse on all cores       {parse_s:8.2f} s",
        f"ingest to a verified release        {wall:8.2f} s = {statistics.median(ratios):.2f} x the floors' sum",
        f"  that ratio by round               {', '.join(f'{ratio:.2f}' for ratio in ratios)}",
        f"evaluations/s                       {summary.evaluations / wall:12,.0f}",
        f"values/s                            {summary.measurements / wall:12,.0f}",
        f"CPU                                 {statistics.median(m.cpu_s for m in ingests):8.2f} s",
        f"peak memory                         {max(m.peak_mb for m in ingests):8.0f} MB",
        f"the same archive again              {statistics.median(m.wall_s for m in again):8.2f} s",
        f"Parquet                             {size:,} bytes = {size / archive.stat().st_size:.2f} x the archive",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--archive", type=Path, help="an archive made by bench.archive; by default one of scale 0.1 is made"
    )
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.archive:
        print(run(options.archive, options.rounds))
        return
    with tempfile.TemporaryDirectory(prefix="losslake-bench-") as folder:
        archive = Path(folder) / "archive.tar.bz2"
        write_archive(archive, Scale())
        print(run(archive, options.rounds))


if __name__ == "__main__":
    main()
