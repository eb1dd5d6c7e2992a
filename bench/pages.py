"""Every page of the explorer, made on the server: `python -m bench.pages [--lake DIR] [--questions 20] [--limit 100]`.

Each address is of another workload, study, trial or target where a page is about one, the service keeps no answers, and
one client asks for one page after the other on one connection. A page has to be there within the limit in the median,
by default 100 ms; the exit status is 1 if one isn't.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from bench.limits import Row, report
from bench.measure import milliseconds
from bench.scaling import askable
from bench.servers import Server, get
from losslake.questions.release.view import ReleaseView
from losslake_schema.names import Study, Trial, Workload
from losslake_service.web.own_run import stored_path, trials_path
from losslake_service.web.templates import page_path, with_query
from losslake_service.web.workload.slider import stops_path


@dataclass(frozen=True)
class Draw:
    """A random selection from a release."""

    view: ReleaseView
    chance: random.Random

    def workload(self) -> Workload:
        """Return a workload with a metric whose better values are known."""
        return self.chance.choice(sorted(name for name, facts in self.view.workloads.items() if askable(facts)))

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

    def advised(self) -> str:
        """Return the address of a workload's page with a goal, and step times at its ends."""
        workload = self.workload()
        sizes = self.view.workloads[workload].batch_sizes
        times = " ".join(f"{size}={0.1 + size / 1000}" for size in sorted({sizes[0], sizes[-1]}))
        return with_query(page_path(workload), [*self.goal(workload), ("step_times", times)])

    def count(self, fewest: float, most: float) -> str:
        """Return a count of parameters or tokens. fewest, most: powers of ten."""
        return f"{10 ** self.chance.uniform(fewest, most):.3g}"

    def stops(self) -> str:
        """Return the address of the stops of a workload's slider."""
        workload = self.workload()
        return with_query(stops_path(workload), self.goal(workload))

    def stored_trials(self) -> str:
        """Return the address of the stored trials beside a run, on the page of a study."""
        study = self.study()
        query = [*self.goal(study.workload), ("batch_size", study.batch_size)]
        return with_query(stored_path(study.workload), query)

    def stored_curves(self) -> str:
        """Return the address of the stored trials of a batch size, with which a forecast compares a run."""
        study = self.study()
        query = [*self.goal(study.workload), ("batch_size", study.batch_size)]
        return with_query(trials_path(study.workload), query)

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
    ("stored trials", lambda draw: draw.stored_trials()),
    ("stored curves", lambda draw: draw.stored_curves()),
    ("suggestions", lambda draw: with_query("/suggestions", [("q", draw.workload().dataset)])),
    ("embedded figure", lambda draw: with_query("/embed/batch-size", [("workload", draw.workload())])),
    ("study", lambda draw: _with_goal(draw, draw.study())),
    ("trial", lambda draw: page_path(draw.trial())),
    ("compare", lambda draw: with_query("/compare", draw.rivals())),
    ("viewer", lambda draw: with_query("/viewer", draw.viewed())),
    ("advice", lambda draw: draw.advised()),
    ("atlas", lambda _: "/batch-size"),
    ("laws", lambda draw: with_query("/laws", [("parameters", draw.count(7, 11)), ("tokens", draw.count(9, 13))])),
    ("frontier", lambda _: "/compare?dataset=%2A"),
    ("papers", lambda _: "/docs/papers"),
    ("results", lambda _: "/results"),
    ("optimizers", lambda _: "/optimizers"),
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


def measured(
    name: str, address: Callable[[Draw], str], view: ReleaseView, server: Server, count: int, limit: float
) -> Row:
    """Measure pages of a kind; the first, with one-time work, is excluded."""
    draw = Draw(view, random.Random(name))
    sizes: list[int] = []
    with closing(server.connect()) as connection:
        get(connection, address(draw))
        paths = [address(draw) for _ in range(count)]
        taken = [milliseconds(lambda p=path: sizes.append(len(get(connection, p)))) for path in paths]
    return Row(name, taken, [f"{statistics.median(sizes) / 1000:,.0f}"], limit)


def pages(view: ReleaseView, server: Server, count: int, limit: float) -> Iterator[Row]:
    """Yield the row of each kind of page."""
    for name, address in PAGES:
        yield measured(name, address, view, server, count, limit)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return the exit status."""
    return report("page", ["kB"], pages, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
