"""Benchmarks whose answers have to come within a limit: options, report and exit status."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.lakes import LAKE_HELP, benchmark_lake
from bench.measure import machine
from bench.servers import NO_ANSWERS_KEPT, Server, service
from losslake.questions.release.view import ReleaseView


@dataclass(frozen=True)
class Row:
    """A row of the report: milliseconds of each answer, and other figures. limit: of the median."""

    name: str
    over_http: Sequence[float]
    figures: Sequence[str]
    limit: float

    @property
    def is_within(self) -> bool:
        return statistics.median(self.over_http) <= self.limit

    def line(self) -> str:
        """Return the row in Markdown."""
        median, slowest = statistics.median(self.over_http), max(self.over_http)
        verdict = "yes" if self.is_within else "**no**"
        cells = [self.name, f"{median:,.1f}", f"{slowest:,.1f}", *self.figures, f"{self.limit:,.0f}", verdict]
        return f"| {' | '.join(cells)} |"


Measure = Callable[[ReleaseView, Server, int, float], Iterator[Row]]


def report(
    what: str, figures: Sequence[str], measure: Measure, description: str | None, arguments: Sequence[str] | None
) -> int:
    """Print a table of answers, row by row; return 0 if all are within their limit, else 1.

    figures: names of further columns. measure: yields the rows of a release and its service, which keeps no answers,
    with so many answers of a kind and a limit in milliseconds.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lake", type=Path, help=LAKE_HELP)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--limit", type=float, default=100.0, help="ms; default: %(default)s")
    options = parser.parse_args(arguments)
    are_within = True
    with benchmark_lake(options.lake) as lake:
        release = lake.release()
        view = ReleaseView.open(lake, release)
        print(f"{machine()}; {release.n_trials:,} trials, {options.questions} of each kind, all new\n")
        columns = [what, "over HTTP ms, median", "slowest", *figures, "limit ms", "within it"]
        print(f"| {' | '.join(columns)} |\n| --- |{' ---: |' * (len(columns) - 2)} --- |", flush=True)
        with service(lake.folder, 1, NO_ANSWERS_KEPT) as server:
            for row in measure(view, server, options.questions, options.limit):
                print(row.line(), flush=True)
                are_within &= row.is_within
    return 0 if are_within else 1
