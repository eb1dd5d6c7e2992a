"""LossLake at full scale: `python -m bench.full [--scales 0.01 0.1 1] [--archives DIR] [--keep DIR]`.

For each scale an archive of the published shape goes into an empty lake, which is asked, exported and corrected; floors
are measured beside it. Every answer is compared with the truth of the archive, so a fast wrong one fails the run.
Each part runs in a process of its own, alone. The report is a table of all figures by scale, beside their limits.
"""

from __future__ import annotations

import argparse
import bz2
import os
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.archive import END_OF_ARCHIVE, write_archive
from bench.asking import expect
from bench.correction import measure_correction
from bench.floors import decompress, parse
from bench.full_questions import LEAST_EFFORT, Effort, measure_questions, measure_scaling
from bench.full_statements import measure_sql, measurements_of
from bench.growth import AtScale, Figure, Limit, growth_table
from bench.ingest import IngestTimes, ingest_again, ingest_and_verify
from bench.lakes import temporary_folder
from bench.measure import Measured, bytes_in, in_own_process, machine
from bench.opening import opened, opened_by_new_process
from bench.plan import Scale, plans
from bench.truth import StudyTruth, read_truth, truth_path
from losslake.lake.export import export
from losslake.lake.lake import Lake
from losslake_schema.tables import PARTITIONED

SCALES = (0.01, 0.1, 1.0)


def report(scales: Sequence[float], archives: Path, lakes: Path, effort: Effort, keep: bool) -> Iterator[str]:
    """Yield the lines of the report; raise RuntimeError when an answer is wrong."""
    measured = []
    for scale in scales:
        archive = archives / f"synthetic-{scale:g}.tar.bz2"
        if not (archive.is_file() and truth_path(archive).is_file()):
            log(f"scale {scale:g}: making {archive}")
            write_archive(archive, Scale(scale))
        lake = lakes / f"lake-{scale:g}"
        measured.append(AtScale(scale, tuple(measured_at(scale, archive, lake, effort))))
        if not keep:
            shutil.rmtree(lake)
    yield f"{machine()}, {_memory_gib():.0f} GiB"
    yield ""
    yield from growth_table(measured)


def measured_at(scale: float, archive: Path, lake: Path, effort: Effort) -> Iterator[Figure]:
    """Yield all figures of a scale."""
    truths = tuple(read_truth(truth_path(archive)))
    for part in (
        contents(archive, truths),
        stored(archive, lake, truths),
        sizes(archive, lake),
        openings(lake, effort.openings),
        answered(lake, truths, effort),
        exported(lake),
        measure_correction(lake, plans(Scale(scale)), truths),
    ):
        for figure in part:
            log(f"  {figure.name}: {figure.value:,.3f} {figure.unit}")
            yield figure


def contents(archive: Path, truths: Sequence[StudyTruth]) -> Iterator[Figure]:
    """Yield the contents of the archive, from its truth."""
    log(f"{archive.name}")
    yield Figure("trials", sum(truth.trials for truth in truths))
    yield Figure("evaluations", sum(truth.evaluations for truth in truths))
    yield Figure("measurements", sum(map(measurements_of, truths)))


def stored(archive: Path, folder: Path, truths: Sequence[StudyTruth]) -> Iterator[Figure]:
    """Measure the ingest of an archive into a verified release, with the floors, and its repetition."""
    decompression = in_own_process(decompress, archive).wall_s
    parsing: float = in_own_process(parse, archive).result
    ingest: Measured = in_own_process(ingest_and_verify, archive, folder)
    again = in_own_process(ingest_again, archive, folder)
    with _repacked(archive, folder.parent) as other:
        other_bytes = in_own_process(ingest_again, other, folder)
    _check_counts(folder, truths)
    times: IngestTimes = ingest.result
    yield Figure("floor: decompression on all cores", decompression, "s")
    yield Figure("floor: CSV parse on all cores", parsing, "s")
    yield Figure("ingest to a verified release", ingest.wall_s, "s")
    yield Figure("… over the sum of the floors", ingest.wall_s / (decompression + parsing), "x", Limit(2.0))
    yield Figure("… of this, to the release", times.ingest_s, "s")
    yield Figure("… of this, verify", times.verify_s, "s")
    yield Figure("… CPU", ingest.cpu_s, "s")
    yield Figure("… peak memory", ingest.peak_mb * 2**20 / 1e9, "GB", Limit(1.5))
    yield Figure("… evaluations a second", times.summary.evaluations / ingest.wall_s)
    yield Figure("the same archive again", again.wall_s, "s")
    yield Figure("… over decompression", again.wall_s / decompression, "x", Limit(1.2))
    yield Figure("the same studies in another archive", other_bytes.wall_s, "s")
    yield Figure("… over the floor of decompression", other_bytes.wall_s / decompression, "x")


@contextmanager
def _repacked(archive: Path, folder: Path) -> Iterator[Path]:
    """Yield the archive with more padding, so that no checksum shows that it is the same."""
    other = folder / f"repacked-{archive.name}"
    shutil.copyfile(archive, other)
    with other.open("ab") as file:
        file.write(bz2.compress(END_OF_ARCHIVE))
    try:
        yield other
    finally:
        other.unlink()


def _check_counts(folder: Path, truths: Sequence[StudyTruth]) -> None:
    release = Lake.open(folder).release()
    actual = release.n_studies, release.n_trials, release.n_evaluations, release.n_measurements
    trials, evaluations = sum(truth.trials for truth in truths), sum(truth.evaluations for truth in truths)
    right = len(truths), trials, evaluations, sum(map(measurements_of, truths))
    expect("studies, trials, evaluations and measurements of the release", actual, right)


def sizes(archive: Path, folder: Path) -> Iterator[Figure]:
    """Yield the bytes of a release by table, compared with its archive."""
    lake = Lake.open(folder)
    files = lake.files(lake.release())
    packed, all_bytes = archive.stat().st_size, sum(file.bytes for file in files)
    yield Figure("archive, .tar.bz2", packed / 1e6, "MB")
    yield Figure("release, Parquet", all_bytes / 1e6, "MB")
    # Standard encodings reach 2.41 at best, at 20 to 35 times the time: bench/RESULTS.md.
    yield Figure("… over the .tar.bz2", all_bytes / packed, "x", Limit(2.8))
    for table in PARTITIONED:
        yield Figure(f"… of this, {table}", sum(file.bytes for file in files if file.table == table) / 1e6, "MB")
    small = sum(file.bytes for file in files if file.table not in PARTITIONED)
    yield Figure("… of this, the other tables", small / 1e6, "MB")
    yield Figure("… files", len(files))


def openings(lake: Path, times: int) -> Iterator[Figure]:
    """Measure opening the release for the first time, and in later processes."""
    shutil.rmtree(lake / "serving", ignore_errors=True)
    cold = in_own_process(opened, lake)
    warm = [opened_by_new_process(lake) for _ in range(times)]
    yield Figure("opening, cold: serving files are built", cold.result / 1000, "s")
    yield Figure("… CPU", cold.cpu_s, "s")
    yield Figure("… peak memory", cold.peak_mb * 2**20 / 1e9, "GB")
    yield Figure("serving files", bytes_in(lake / "serving") / 1e6, "MB")
    first, again, process = (
        statistics.median(times)
        for times in zip(*((one.first_ms, one.again_ms, one.process_ms) for one in warm), strict=True)
    )
    yield Figure("opening, warm, the first in a process", first, "ms", Limit(1000.0, 1.5))
    yield Figure("… another time in that process", again, "ms", Limit(1000.0, 1.5))
    yield Figure("… the first, with start and imports of the process", process, "ms")


def answered(lake: Path, truths: Sequence[StudyTruth], effort: Effort) -> Iterator[Figure]:
    """Measure the questions."""
    first = in_own_process(measure_questions, lake, truths, effort).result
    more = [in_own_process(measure_scaling, lake, effort).result for _ in range(effort.processes - 1)]
    yield from first.and_more(more).figures()
    yield from in_own_process(measure_sql, lake, truths).result


def exported(folder: Path) -> Iterator[Figure]:
    """Measure writing the release as a plain folder, which is deleted afterwards."""
    target = folder.with_name(f"{folder.name}-export")
    for name, link in (("export, copies", False), ("export, hard links", True)):
        yield Figure(name, in_own_process(export_release, folder, target, link).wall_s, "s")
        shutil.rmtree(target)


def export_release(folder: Path, target: Path, link: bool) -> None:
    """Write the newest release of a lake to a new folder."""
    lake = Lake.open(folder)
    export(lake, lake.release(), target, link)


def log(text: str) -> None:
    """Report progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _memory_gib() -> float:
    return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES") / 2**30


@contextmanager
def _folder(existing: Path | None) -> Iterator[Path]:
    """Yield the folder that is named, created if necessary; else a temporary one."""
    if existing is None:
        with temporary_folder() as folder:
            yield folder
        return
    existing.mkdir(parents=True, exist_ok=True)
    yield existing.absolute()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scales", type=float, nargs="+", default=SCALES, help="default: 0.01 0.1 1")
    parser.add_argument(
        "--archives", type=Path, help="where synthetic-SCALE.tar.bz2 and its truth are, or are made and stay"
    )
    parser.add_argument("--keep", type=Path, help="where to leave the lakes; by default they are removed")
    parser.add_argument("--quick", action="store_true", help="ask few questions, each kind in one process")
    options = parser.parse_args(arguments)
    effort = LEAST_EFFORT if options.quick else Effort()
    with _folder(options.archives) as archives, _folder(options.keep) as lakes:
        there = [lake for scale in options.scales if (lake := lakes / f"lake-{scale:g}").exists()]
        if there:
            parser.error(f"{there[0]} is there already: give --keep another folder")
        print("\n".join(report(options.scales, archives, lakes, effort, options.keep is not None)))


if __name__ == "__main__":
    main()
