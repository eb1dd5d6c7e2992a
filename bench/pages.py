"""Every page of the explorer, made on the server: `python -m bench.pages [--lake DIR] [--questions 20] [--limit 100]`.

Each address is of another workload, study, trial or target where a page is about one, the service keeps no answers, and
one client asks for one page after the other on one connection. A page has to be there within the limit in the median,
by default 100 ms; the exit status is 1 if one isn't.
"""

from __future__ import annotations

import http.client
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from bench.limits import exit_status
from bench.measure import machine
from bench.scaling import askable, get, milliseconds
from bench.servers import service
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake_schema.names import Study, Trial, Workload
from losslake_service.web.templates import page_path, with_query
from losslake_service.web.workload.slider import stops_path

NO_ANSWERS_KEPT = {"LOSSLAKE_ANSWER_CACHE_MB": "0"}


@dataclass(frozen=True)
class Draw:
    """A random selection from a release."""

    view: ReleaseView
    chance: random.Random

    def workload(self) -> Workload:
        return self.chance.choice(sorted(self.view.workloads))

    def study(self) -> Study:
        workload = self.workload()
        return Study(workload, self.chance.choice(self.view.workloads[workload].batch_sizes))

    def trial(self) -> Trial:
        study = self.study()
        facts = self.view.workloads[study.workload]
        rows = facts.rows_of(facts.batch_sizes.index(study.batch_size))
        return Trial(study, int(self.chance.choice(facts.trials.trial_id[rows])))

    def goal(self, workload: Workload) -> list[tuple[str, object]]:
        """Return a metric and a target as query parameters."""
        metric = self.chance.choice(askable(self.view.workloads[workload]))
        return [("metric", metric.name), ("target", self.chance.uniform(metric.lowest, metric.highest))]

    def viewed(self) -> list[tuple[str, object]]:
        """Return a workload of which all curves are seen."""
        return [("workload", self.workload())]

    def advised(self) -> list[tuple[str, object]]:
        """Return a workload, a goal, and step times at its ends."""
        workload = self.workload()
        sizes = self.view.workloads[workload].batch_sizes
        times = " ".join(f"{size}={0.1 + size / 1000}" for size in sorted({sizes[0], sizes[-1]}))
        return [("workload", workload), *self.goal(workload), ("step_times", times)]

    def stops(self) -> str:
        """Return the address of the stops of a workload's slider."""
        workload = self.workload()
        return with_query(stops_path(workload), self.goal(workload))

    def rivals(self) -> list[tuple[str, object]]:
        """Two workloads on the same data set and model if there are, with a goal of the first."""
        one = self.workload()
        others = [each for each in self.view.workloads if each != one and each.dataset == one.dataset] or [one]
        same = [each for each in others if each.model == one.model]
        return [("workload", one), ("workload", self.chance.choice(sorted(same or others))), *self.goal(one)]


def _with_goal(draw: Draw, what: Workload | Study) -> str:
    return with_query(page_path(what), draw.goal(what.workload if isinstance(what, Study) else what))


PAGES: tuple[tuple[str, Callable[[Draw], str]], ...] = (
    ("home", lambda _: "/"),
    ("workloads", lambda _: "/workloads"),
    ("search", lambda draw: with_query("/workloads", [("q", draw.workload().dataset)])),
    ("workload", lambda draw: _with_goal(draw, draw.workload())),
    ("target stops", lambda draw: draw.stops()),
    ("study", lambda draw: _with_goal(draw, draw.study())),
    ("trial", lambda draw: page_path(draw.trial())),
    ("compare", lambda draw: with_query("/compare", draw.rivals())),
    ("viewer", lambda draw: with_query("/viewer", draw.viewed())),
    ("advice", lambda draw: with_query("/advice", draw.advised())),
    ("atlas", lambda _: "/critical-batch-sizes"),
    ("frontier", lambda _: "/frontier"),
    ("papers", lambda _: "/papers"),
    ("sql", lambda _: "/sql"),
    ("releases", lambda _: "/releases"),
    ("release", lambda draw: f"/releases/{draw.view.number}"),
    ("docs", lambda _: "/docs"),
    ("document", lambda _: "/docs/rest"),
    ("reference", lambda _: "/docs/reference"),
    ("path", lambda _: "/docs/reference/v1/scaling"),
    ("schema", lambda _: "/docs/schema"),
    ("methods", lambda _: "/docs/methods"),
)
"""By name, the address of such a page."""


@dataclass(frozen=True)
class Times:
    """The milliseconds and bytes of each page of a kind. limit: of the median, in milliseconds."""

    name: str
    limit: float
    milliseconds: Sequence[float]
    bytes: Sequence[int]

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds)

    @property
    def is_within(self) -> bool:
        return self.median <= self.limit

    def line(self) -> str:
        """Return one row of the report."""
        kilobytes = statistics.median(self.bytes) / 1000
        verdict = "yes" if self.is_within else "**no**"
        return f"| {self.name} | {self.median:,.1f} | {max(self.milliseconds):,.1f} | {kilobytes:,.0f} | {verdict} |"


def measured(
    name: str, address: Callable[[Draw], str], view: ReleaseView, port: int, count: int, limit: float
) -> Times:
    """Measure pages of a kind; the first, with one-time work, is excluded."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    draw = Draw(view, random.Random(name))
    sizes: list[int] = []

    def fetched(path: str) -> None:
        sizes.append(len(get(connection, path)))

    fetched(address(draw))
    paths = [address(draw) for _ in range(count)]
    return Times(name, limit, [milliseconds(partial(fetched, path)) for path in paths], sizes)


def run(lake: Lake, count: int, limit: float) -> bool:
    """Print the report on a lake, line by line; return True if every page is within the limit."""
    release = lake.release()
    view = ReleaseView.open(lake, release)
    print(f"{machine()}; {release.n_trials:,} trials, {count} pages of each kind, limit {limit:,.0f} ms\n")
    print("| page | ms, median | slowest | kB | within the limit |")
    print("| --- | ---: | ---: | ---: | --- |", flush=True)
    are_within = True
    with service(lake.folder, 1, NO_ANSWERS_KEPT) as server:
        for name, address in PAGES:
            times = measured(name, address, view, server.port, count, limit)
            print(times.line(), flush=True)
            are_within &= times.is_within
    return are_within


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return the exit status."""
    return exit_status(run, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
