"""Very many small studies in one lake: `python -m bench.many_studies [--studies 100000] [--lake DIR]`.

An archive of them is made and taken in by one ingest; the release is opened cold and warm, asked for scaling in-process
and over HTTP, listed and searched. Scaling is checked against the truth of the archive. Each part has its own process.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from bench.archive import write_studies
from bench.asking import Times, ask
from bench.full_questions import both_ways, check_scaling
from bench.growth import AtScale, Figure, Limit, growth_table
from bench.lakes import temporary_folder
from bench.many_plans import plans_of_many
from bench.measure import in_own_process, machine, milliseconds
from bench.opening import opened, opened_by_new_process
from bench.scaling import questions
from bench.servers import get, service
from bench.truth import read_truth, truth_path
from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake_ingest.pipeline import offer
from losslake_ingest.run import ingest

CHECKED, OPENINGS = 200, 5
PAGES = {"the first page": "/", "the page of workloads": "/workloads", "a list of 100 studies": "/v1/studies?limit=100"}
OF_ONE_STUDY = """SELECT count(*) FROM measurements
WHERE collection = $1 AND dataset = $2 AND model = $3 AND optimizer = $4 AND batch_size = $5"""


@dataclass(frozen=True)
class ScalingTimes:
    """The milliseconds of each scaling question and page, and the memory of the service after these."""

    scaling: Times
    pages: Sequence[float]
    peak_mb: float


def ingest_archive(archive: Path, folder: Path) -> None:
    """Ingest the archive into an empty lake."""
    offer.MOST_KEPT = 1 << 34  # an ingest would stop at a quarter of 100,000 studies
    summary = ingest(Lake.create(folder), [archive])
    assert not summary.quarantined and not summary.broken, summary


def measure_scaling(folder: Path, archive: Path, count: int) -> ScalingTimes:
    """Ask for scaling of random workloads, each question new, after checking some of the truth; then some pages."""
    lake = Lake.open(folder)
    view = ReleaseView.open(lake, lake.release())
    check_scaling(view, list(read_truth(truth_path(archive)))[:CHECKED])
    with service(folder, 1) as server, closing(server.connect()) as connection:
        times = ask(view, connection, questions(view, count))
        for path in PAGES.values():
            get(connection, path)
        pages = [milliseconds(get, connection, path) for path in PAGES.values()]
        return ScalingTimes(times, pages, _peak_mb(server.process))


def _peak_mb(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def count_of_one_study(folder: Path) -> float:
    """Return the milliseconds of SQL over one study's measurements, including the view's binding, second run."""
    lake = Lake.open(folder)
    release = lake.release()
    connection = open_release(lake, release)
    keys = connection.execute(
        "SELECT collection, dataset, model, optimizer, batch_size FROM studies LIMIT 1"
    ).fetchone()
    assert keys is not None
    connection.execute(OF_ONE_STUDY, list(keys)).fetchall()
    return milliseconds(lambda: connection.execute(OF_ONE_STUDY, list(keys)).fetchall())


def measured(archive: Path, lake: Path, studies: int, n_questions: int) -> Iterator[Figure]:
    """Yield all figures; the lake is made if it doesn't exist."""
    if not (archive.is_file() and truth_path(archive).is_file()):
        write_studies(archive, list(plans_of_many(studies)), 1)
    if not lake.exists():
        ingested = in_own_process(ingest_archive, archive, lake)
        yield Figure("ingest, CPU", ingested.cpu_s, "s")
        yield Figure("… of a study", ingested.cpu_s / studies * 1000, "ms")
        yield Figure("… peak memory", ingested.peak_mb * 2**20 / 1e9, "GB")
    stored = Lake.open(lake)
    files = stored.files(stored.release())
    yield Figure("data files", len(files))
    yield Figure("… bytes", sum(file.bytes for file in files) / 1e6, "MB")
    yield Figure("file list", (lake / stored.release().manifest).stat().st_size / 1e6, "MB")
    yield Figure("catalog", (lake / "catalog.db").stat().st_size / 1e6, "MB")
    if not (lake / "serving").exists():
        cold = in_own_process(opened, lake)
        yield Figure("opening, cold: serving files are built, CPU", cold.cpu_s, "s")
        yield Figure("… peak memory", cold.peak_mb * 2**20 / 1e9, "GB")
    yield Figure("serving database", sum(p.stat().st_size for p in (lake / "serving").glob("*.duckdb")) / 1e6, "MB")
    yield Figure("index of workloads", sum(p.stat().st_size for p in (lake / "serving").glob("*.arrow")) / 1e6, "MB")
    warm = [opened_by_new_process(lake) for _ in range(OPENINGS)]
    once = in_own_process(opened, lake)
    yield Figure(
        "opening, warm, the first in a process", statistics.median(one.first_ms for one in warm), "ms", Limit(3000.0)
    )
    yield Figure("… another time in that process", statistics.median(one.again_ms for one in warm), "ms", Limit(3000.0))
    yield Figure("… memory of a process that opened it", once.peak_mb, "MB")
    times: ScalingTimes = in_own_process(measure_scaling, lake, archive, n_questions).result
    yield from both_ways("scaling of a workload", times.scaling, Limit(10.0), Limit(10.0))
    for name, took in zip(PAGES, times.pages, strict=True):
        yield Figure(name, took, "ms")
    yield Figure("memory of the service after these", times.peak_mb, "MB")
    yield Figure("SQL over the measurements of one study", in_own_process(count_of_one_study, lake).result, "ms")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=100_000, help="default: %(default)s")
    parser.add_argument("--questions", type=int, default=400, help="of scaling; default: %(default)s")
    parser.add_argument("--archive", type=Path, help="where the archive is, or is made and stays; .tar.bz2")
    parser.add_argument("--lake", type=Path, help="a lake of this archive, or where to make it; it stays")
    options = parser.parse_args(arguments)
    with temporary_folder() as folder:
        archive = options.archive or folder / "many.tar.bz2"
        figures = tuple(
            measured(archive, (options.lake or folder / "lake").absolute(), options.studies, options.questions)
        )
    print("\n".join([machine(), "", *growth_table([AtScale(options.studies, figures)])]))


if __name__ == "__main__":
    main()
