"""All benchmarks, one after the other: `python -m bench [PART …]`, which is `make bench`.

Says first what they need and how long they take, and what each part used. A part that fails stops none of the
others: all that failed are listed at the end, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psutil

from bench.measure import watched
from bench.servers import nginx_program


@dataclass(frozen=True)
class Part:
    """A benchmark: a module with its arguments.

    nginx: True if it compares with nginx. minutes, memory_gb, disk_gb: measured on two idle cores, peers
    without chDB; the line that ends a part says what it used.
    """

    name: str
    module: str
    measures: str
    minutes: float
    memory_gb: float
    disk_gb: float
    arguments: tuple[str, ...] = ()
    nginx: bool = False


# Each part makes its own archive and lake of a tenth of the published size, so that it can be run alone.
PARTS = (
    Part("ingest", "bench.ingest", "ingest beside its floors", 1.9, 0.7, 0.4),
    Part("scaling", "bench.scaling", "the scaling query", 0.7, 0.7, 0.7),
    Part("analysis", "bench.analysis", "every analysis", 1, 0.9, 0.7),
    Part("service", "bench.service", "the service under load, beside nginx", 3.8, 2.6, 0.7, nginx=True),
    Part("pages", "bench.pages", "every page", 0.8, 0.8, 0.7),
    Part("formats", "bench.formats", "every log format", 6.6, 0.5, 0.1),
    Part("tensorboard", "bench.tensorboard", "event files, beside TensorBoard", 0.6, 0.1, 0.1),
    Part("recording", "bench.recording", "a call of the recorder, beside other loggers", 1.5, 0.5, 0.1),
    Part("peers", "bench.peers", "questions, beside pandas, Polars, DuckDB and SQLite", 2.1, 1.2, 1.2),
    Part("full", "bench.full", "all steps of a lake", 3.5, 0.8, 1, ("--scales", "0.01", "0.1")),
    Part("many-studies", "bench.many_studies", "a lake of small studies", 0.5, 0.8, 0.1, ("--studies", "1000")),
    Part("history", "bench.history", "a long history of releases", 0.1, 0.2, 0.1, ("--releases", "20")),
)


def needs(parts: Sequence[Part]) -> Iterator[str]:
    """Yield lines that say what these parts need, what there is of it, and how long they take."""
    folder = tempfile.gettempdir()
    memory, disk = psutil.virtual_memory().available / 1e9, shutil.disk_usage(folder).free / 1e9
    yield f"about {sum(part.minutes for part in parts):g} minutes on two idle cores; no archive: they are made"
    yield f"memory: {max(part.memory_gb for part in parts):g} GB of {memory:.0f} GB available"
    yield f"disk: {max(part.disk_gb for part in parts):g} GB of {disk:.0f} GB free in {folder} (TMPDIR names another)"
    if any(part.nginx for part in parts):
        try:
            yield f"nginx: {nginx_program()}"
        except FileNotFoundError as error:
            yield str(error)


def table(parts: Sequence[Part]) -> Iterator[str]:
    """Yield a line for each part."""
    for part in parts:
        yield f"  {part.name:13} {part.minutes:4g} min  {part.measures}"


def run(parts: Sequence[Part]) -> list[str]:
    """Run each part in a process, whatever became of those before; return the names of those that failed."""
    failed = []
    for part in parts:
        print(f"\n== {part.name}: python -m {' '.join((part.module, *part.arguments))}", flush=True)
        took = watched([sys.executable, "-m", part.module, *part.arguments])
        ended = f"failed with exit status {took.status} after" if took.status else "took"
        cost = f"{took.minutes:.1f} min, {took.memory_gb:.1f} GB of memory, {took.disk_gb:.1f} GB of disk"
        print(f"== {part.name} {ended} {cost}", flush=True)
        if took.status:
            failed.append(part.name)
    return failed


def main(arguments: Sequence[str] | None = None, parts: Sequence[Part] = PARTS) -> int:
    """Run the parts that are named, by default all of them; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        epilog="\n".join(["parts:", *table(parts), "", *needs(parts)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("part", nargs="*", help="which to run; default: all")
    names = parser.parse_args(arguments).part
    unknown = sorted(set(names) - {part.name for part in parts})
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(part.name for part in parts)}")
    chosen = [part for part in parts if part.name in names or not names]
    print("\n".join([*table(chosen), *needs(chosen)]), flush=True)
    failed = run(chosen)
    print(f"\nfailed: {', '.join(failed)}" if failed else f"\nall {len(chosen)} parts passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
