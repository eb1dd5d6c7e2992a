"""A long history: `python -m bench.history [--releases 1000] [--lake DIR]`.

A small lake gets one release after the other, each of which corrects one of its twenty studies. Told at some of them:
the CPU time of the ingest, what the history takes on the disk, and the time to open the newest release and to list all.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench.archive import write_studies
from bench.growth import AtScale, Figure, growth_table
from bench.lakes import temporary_folder
from bench.many_plans import plans_of_many
from bench.measure import machine, measured, milliseconds
from bench.opening import opened
from losslake.lake.lake import Lake
from losslake_ingest.run import ingest

STUDIES = 20
REPORTED = (2, 10, 20, 50, 100, 200, 300, 500, 700, 1000)


def history(folder: Path, releases: int) -> Iterator[AtScale]:
    """Yield the figures at some releases, including the last."""
    lake, archive = Lake.create(folder), folder.with_name(f"{folder.name}.tar.bz2")
    plans = list(plans_of_many(STUDIES))
    newest = lake.newest_release()
    for number in range(newest.number + 1 if newest is not None else 1, releases + 1):
        plan = plans[number % STUDIES]
        write_studies(archive, plans if number == 1 else [replace(plan, seed=(number, plan.seed[1]))], 1)
        ingested = measured(ingest, lake, [archive])
        assert ingested.result.release == number
        if number == releases or number in REPORTED:
            yield AtScale(number, tuple(figures(lake, ingested.cpu_s)))


def figures(lake: Lake, ingest_s: float) -> Iterator[Figure]:
    """Yield the costs of the newest release, and of all releases."""
    below = [path for path in lake.folder.glob("warehouse/losslake/*/metadata/*") if path.is_file()]
    tables = [path for path in below if path.name.endswith(".metadata.json")]
    yield Figure("ingest of the release, CPU", ingest_s, "s")
    yield Figure("metadata of a table, the largest", max(path.stat().st_size for path in tables) / 1e3, "kB")
    yield Figure("metadata files of tables", len(tables))
    yield Figure("… bytes", sum(path.stat().st_size for path in tables) / 1e6, "MB")
    yield Figure("Iceberg's lists of files", len(below) - len(tables))
    yield Figure("… bytes", sum(path.stat().st_size for path in set(below) - set(tables)) / 1e6, "MB")
    yield Figure("catalog", sum(path.stat().st_size for path in lake.folder.glob("catalog.db*")) / 1e6, "MB")
    yield Figure("data files", sum(1 for _ in lake.folder.glob("warehouse/losslake/*/data/**/*.parquet")))
    opened(lake.folder)
    yield Figure("opening the newest, warm", opened(lake.folder), "ms")
    yield Figure("listing all releases", milliseconds(lake.releases), "ms")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=1000, help="default: %(default)s")
    parser.add_argument("--lake", type=Path, help="where to make it, or one that goes on; it stays")
    options = parser.parse_args(arguments)
    with temporary_folder() as folder:
        growth = list(history((options.lake or folder / "lake").absolute(), options.releases))
    print("\n".join([machine(), "", *growth_table(growth)]))


if __name__ == "__main__":
    main()
