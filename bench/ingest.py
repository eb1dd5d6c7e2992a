"""Ingest against its two floors, in one run: `python -m bench.ingest [--archive FILE] [--rounds 3]`.

Floors: decompressing the archive on all cores, and parsing the same CSV bytes with pyarrow on all cores. Ingest runs
from the archive to a verified release. Every part runs in a process of its own, taking turns; medians are shown.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.floors import decompress, parse
from bench.lakes import ARCHIVE_HELP, benchmark_archive, temporary_folder
from bench.measure import Measured, in_own_process, machine
from losslake.lake.lake import Lake
from losslake.lake.verification import verify
from losslake_ingest.contracts.report import Summary
from losslake_ingest.run import ingest


@dataclass(frozen=True)
class IngestTimes:
    """The summary of an ingest, and the times of ingesting and verifying."""

    summary: Summary
    ingest_s: float
    verify_s: float


def ingest_and_verify(archive: Path, folder: Path) -> IngestTimes:
    """Ingest an archive into an empty lake and verify the release."""
    started = time.perf_counter()
    lake = Lake.create(folder)
    summary = ingest(lake, [archive])
    published = time.perf_counter()
    problems = verify(lake, lake.release(summary.release)).problems
    assert not problems and not summary.quarantined and not summary.broken, (problems, summary)
    return IngestTimes(summary, published - started, time.perf_counter() - published)


def ingest_again(archive: Path, folder: Path) -> Summary:
    """Ingest the same archive again."""
    summary = ingest(Lake.create(folder), [archive])
    assert not summary.published and not summary.studies_ingested, summary
    return summary


def run(archive: Path, rounds: int) -> str:
    """Return the report of some rounds, as lines of text."""
    ingests: list[Measured] = []
    again: list[Measured] = []
    decompressions: list[float] = []
    parses: list[float] = []
    with temporary_folder() as folder:
        for number in range(rounds):
            lake = folder / f"lake-{number}"
            decompressions.append(in_own_process(decompress, archive).wall_s)
            parses.append(in_own_process(parse, archive).result)
            ingests.append(in_own_process(ingest_and_verify, archive, lake))
            again.append(in_own_process(ingest_again, archive, lake))
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
    summary: Summary = ingests[0].result.summary
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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archive", type=Path, help=ARCHIVE_HELP)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    with benchmark_archive(options.archive) as archive:
        print(run(archive, options.rounds))


if __name__ == "__main__":
    main()
