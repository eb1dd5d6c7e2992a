"""All benchmarks, one after the other: `python -m bench [PART …] [--smallest]`, which is `make bench`.

Says first what they need and how long they take, and what each part used. A part that fails stops none of the
others: all that failed are listed at the end, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.lakes import write_smallest
from bench.measure import watched


@dataclass(frozen=True)
class Part:
    """A benchmark: a module with its arguments.

    smallest: arguments for a run that only shows that it works. existing: options for what that need not make, of
    those of `bench.lakes.write_smallest`. minutes, memory_gb, disk_gb: measured on two idle cores; the line that ends a
    part says what it used.
    """

    name: str
    module: str
    measures: str
    minutes: float
    memory_gb: float
    disk_gb: float
    arguments: tuple[str, ...] = ()
    smallest: tuple[str, ...] = ()
    existing: tuple[str, ...] = ()


# Each part makes its own archive and lake of a tenth of the published size, so that it can be run alone.
# fmt: off
PARTS = (
    Part(
        "ingest", "bench.ingest", "ingest beside its floors", 1.9, 0.7, 0.4,
        smallest=("--rounds", "1"), existing=("--archive",),
    ),
    Part(
        "scaling", "bench.scaling", "the scaling query", 0.7, 0.7, 0.7,
        smallest=("--questions", "4"), existing=("--lake",),
    ),
    Part(
        "analysis", "bench.analysis", "every analysis", 1, 0.9, 0.7,
        smallest=("--questions", "1", "--limit", "inf"), existing=("--lake",),
    ),
    Part(
        "service", "bench.service", "the service under load", 3.3, 2.6, 0.7,
        smallest=("--seconds", "0", "--requests", "20", "--workers", "1"), existing=("--lake",),
    ),
    Part(
        "live", "bench.live", "runs that are sent while they train", 1.7, 0.8, 0.4,
        smallest=("--seconds", "1", "--runs", "2"), existing=("--archive",),
    ),
    Part(
        "pages", "bench.pages", "every page", 0.8, 0.8, 0.7,
        smallest=("--questions", "1", "--limit", "inf"), existing=("--lake",),
    ),
    Part(
        "formats", "bench.formats", "every log format", 6.6, 0.5, 0.1,
        smallest=("--rounds", "1", "--runs", "2", "--rows", "60"),
    ),
    Part(
        "recording", "bench.recording", "a call of the recorder, beside lines of JSON", 0.8, 0.3, 0.1,
        smallest=("--calls", "10"),
    ),
    Part(
        "peers", "bench.peers", "questions, beside pandas, Polars, DuckDB and SQLite", 2.1, 1.2, 1.2,
        smallest=("--rounds", "1"), existing=("--archive", "--lake"),
    ),
    Part(
        "full", "bench.full", "all steps of a lake", 3.5, 0.8, 1, ("--scales", "0.01", "0.1"),
        smallest=("--scales", "0.1", "--quick"), existing=("--archives",),
    ),
    Part(
        "many-studies", "bench.many_studies", "a lake of small studies", 0.5, 0.8, 0.1, ("--studies", "1000"),
        smallest=("--studies", "12", "--questions", "4"),
    ),
    Part(
        "history", "bench.history", "a long history of releases", 0.1, 0.2, 0.1, ("--releases", "20"),
        smallest=("--releases", "2"),
    ),
)
# fmt: on


def needs(parts: Sequence[Part]) -> Iterator[str]:
    """Yield lines that say what these parts need, what there is of it, and how long they take."""
    folder = tempfile.gettempdir()
    memory, disk = psutil.virtual_memory().available / 1e9, shutil.disk_usage(folder).free / 1e9
    yield f"about {sum(part.minutes for part in parts):g} minutes on two idle cores; no archive: they are made"
    yield f"memory: {max(part.memory_gb for part in parts):g} GB of {memory:.0f} GB available"
    yield f"disk: {max(part.disk_gb for part in parts):g} GB of {disk:.0f} GB free in {folder} (TMPDIR names another)"


def table(parts: Sequence[Part]) -> Iterator[str]:
    """Yield a line for each part."""
    for part in parts:
        yield f"  {part.name:13} {part.minutes:4g} min  {part.measures}"


def smallest(part: Part, existing: Mapping[str, Path]) -> list[str]:
    """Return the arguments for the smallest run. existing: what `bench.lakes.write_smallest` returned."""
    return [*part.smallest, *(text for option in part.existing for text in (option, str(existing[option])))]


def run(parts: Sequence[Part], existing: Mapping[str, Path] | None = None) -> list[str]:
    """Run each part in a process, whatever became of those before; return the names of those that failed.

    existing: of the smallest runs; None for the usual ones.
    """
    failed = []
    for part in parts:
        command = [part.module, *(part.arguments if existing is None else smallest(part, existing))]
        print(f"\n== {part.name}: python -m {' '.join(command)}", flush=True)
        took = watched([sys.executable, "-m", *command])
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
    parser.add_argument("--smallest", action="store_true", help="only show that they work, in a minute")
    options = parser.parse_args(arguments)
    names = options.part
    unknown = sorted(set(names) - {part.name for part in parts})
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(part.name for part in parts)}")
    chosen = [part for part in parts if part.name in names or not names]
    print("\n".join([*table(chosen), *needs(chosen)]), flush=True)
    if options.smallest:
        with tempfile.TemporaryDirectory(prefix="losslake-bench-") as folder:
            failed = run(chosen, write_smallest(Path(folder)))
    else:
        failed = run(chosen)
    print(f"\nfailed: {', '.join(failed)}" if failed else f"\nall {len(chosen)} parts passed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
