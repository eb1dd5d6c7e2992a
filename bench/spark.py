"""Spark against DuckDB and this machine's own cores: `python -m bench.spark [--scales 0.01 0.05 0.1] [--engine URL]`.

For each scale an archive of the published shape goes into two lakes, one by each engine; the releases have to be equal.
Then both are asked the same, and the answers have to be equal, too. `--lake DIR` only asks a lake that is there;
`--archive FILE` is ingested instead of archives of the scales.
A session is started once, unmeasured; a question's time is the median of three after a first one that doesn't count.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.archive import write_archive
from bench.measure import machine
from bench.plan import Scale
from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake.spark import register
from losslake.spark.session import spark_session
from losslake_ingest.pipeline.spark_engine import SparkEngine
from losslake_ingest.run import ingest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = 3
QUESTIONS = {
    "one study's curve of a metric": "SELECT step, value FROM measurements WHERE {study} AND metric = '{metric}'",
    "steps to result of a workload": "SELECT * FROM result_at('{metric}', 0.3) WHERE {workload}",
    "steps to result of all workloads": "SELECT * FROM result_at('{metric}', 0.3)",
    "extremes over all measurements": (
        "SELECT metric, count(*) AS n, min(value) AS low, max(value) AS high, max(step) AS last "
        "FROM measurements GROUP BY metric"
    ),
}


@dataclass(frozen=True)
class Compared:
    """Seconds of DuckDB or this machine's cores, and of Spark, for the same."""

    what: str
    local_s: float
    spark_s: float


def timed(work: Callable[[], object]) -> tuple[float, object]:
    """Seconds that the work takes, and what comes of it."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def ingests(spark: SparkSession, archive: Path, folder: Path) -> tuple[Lake, Compared]:
    """Ingest the archive by both engines; return the lake of the local one."""
    local, theirs = Lake.create(folder / "own"), Lake.create(folder / "spark")
    local_s, _ = timed(lambda: ingest(local, [archive]))
    engine = SparkEngine(spark, theirs.location)
    spark_s, _ = timed(lambda: ingest(theirs, [archive], engine=engine))
    assert local.release().content_digest == theirs.release().content_digest
    return local, Compared("ingest", local_s, spark_s)


def questions(spark: SparkSession, lake: Lake) -> Iterator[Compared]:
    """Ask both engines every question."""
    release = lake.release()
    local_s, connection = timed(lambda: open_release(lake, release))
    spark_s, _ = timed(lambda: register(spark, lake, release))
    yield Compared("opening the release", local_s, spark_s)
    connection = open_release(lake, release)
    largest = (
        "SELECT collection, dataset, model, optimizer, batch_size FROM studies "
        "WHERE list_contains(metrics, 'val/classification_error') ORDER BY n_measurements DESC LIMIT 1"
    )
    *workload, batch_size = connection.execute(largest).fetchall()[0]
    names = ("collection", "dataset", "model", "optimizer")
    of_workload = " AND ".join(f"{name} = '{value}'" for name, value in zip(names, workload, strict=True))
    for what, text in QUESTIONS.items():
        statement = text.format(
            metric="val/classification_error",
            workload=of_workload,
            study=f"{of_workload} AND batch_size = {batch_size}",
        )
        local_s, local = _median(lambda: connection.execute(statement).fetchall())  # noqa: B023
        spark_s, theirs = _median(lambda: [tuple(row) for row in spark.sql(statement).collect()])  # noqa: B023
        assert sorted(map(repr, local)) == sorted(map(repr, theirs)), what
        yield Compared(what, local_s, spark_s)


def _median(run: Callable[[], list[tuple[object, ...]]]) -> tuple[float, list[tuple[object, ...]]]:
    answer = run()
    return statistics.median(timed(run)[0] for _ in range(ROUNDS)), answer


def show(title: str, rows: list[Compared]) -> None:
    """Print a table of seconds and ratios."""
    print(f"\n{title}\n\n| what | DuckDB, own cores s | Spark s | Spark / own |\n| --- | ---: | ---: | ---: |")
    for one in rows:
        print(f"| {one.what} | {one.local_s:.3f} | {one.spark_s:.2f} | {one.spark_s / one.local_s:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scales", type=float, nargs="*", default=[0.01, 0.05, 0.1])
    parser.add_argument("--engine", default="local-cluster[2,1,2048]")
    parser.add_argument("--archive", type=Path, help="ingest this archive instead")
    parser.add_argument("--lake", type=Path, help="only ask this lake")
    options = parser.parse_args()
    print(f"{machine()}, {options.engine}")
    with spark_session(options.engine) as spark:
        if options.lake is not None:
            show(str(options.lake), list(questions(spark, Lake.open(options.lake))))
            return
        for scale in [None] if options.archive else options.scales:
            with tempfile.TemporaryDirectory() as folder:
                archive = options.archive or Path(folder, "archive.tar.bz2")
                if scale is not None:
                    write_archive(archive, Scale(size=scale))
                lake, compared = ingests(spark, archive, Path(folder))
                show(f"scale {scale}" if scale is not None else str(archive), [compared, *questions(spark, lake)])


if __name__ == "__main__":
    main()
