"""The scaling query of a workload, in-process and over HTTP: `python -m bench.scaling [--lake DIR] [--questions 400]`.

Every question has another target, so nothing can be answered from a cache. Over HTTP one client asks one question after
the other on one connection; beside it, the same connection asks for /healthz, which is the floor of the HTTP stack.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from bench.asking import ask
from bench.lakes import LAKE_HELP, benchmark_lake
from bench.measure import machine, milliseconds, percentile
from bench.servers import get, service
from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake.output.formats import json_pieces
from losslake.questions import scaling
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake_schema.names import Workload


@dataclass(frozen=True)
class Askable:
    """A metric with the range in which its targets are drawn."""

    name: str
    lowest: float
    highest: float


ERROR = Askable("val/classification_error", 0.02, 0.5)
LOSS = Askable("val/cross_entropy_error", 0.05, 1.5)
LANGUAGE_LOSS = Askable("val/cross_entropy_error", 3.8, 8.0)
PRECISION = Askable("val/average_precision", 0.05, 0.35)


def askable(facts: WorkloadFacts) -> list[Askable]:
    """Return the metrics to ask about; a workload with only a loss is a language model."""
    metrics = [metric for metric in (ERROR, PRECISION, LOSS) if metric.name in facts.measured]
    return [LANGUAGE_LOSS] if metrics == [LOSS] else metrics


@dataclass(frozen=True)
class ScalingQuestion:
    """A scaling question about some workloads."""

    workloads: tuple[Workload, ...]
    metric: str
    target: float

    def answered(self, view: ReleaseView) -> bytes:
        """Return the answer as JSON."""
        names = [str(workload) for workload in self.workloads]
        parameters = scaling.ScalingParameters(workload=names, metric=self.metric, target=self.target)
        return b"".join(json_pieces(scaling.QUESTION.answer(view, parameters)))

    @property
    def path(self) -> str:
        """Its address."""
        query = {"workload": self.workloads, "metric": self.metric, "target": repr(self.target)}
        return f"/v1/scaling?{urlencode(query, doseq=True)}"


def questions(view: ReleaseView, count: int, seed: int = 1) -> list[ScalingQuestion]:
    """Return random workloads, metrics and targets, the same for every way of asking."""
    chance = random.Random(seed)
    workloads = sorted(view.workloads)
    drawn = []
    for _ in range(count):
        workload = chance.choice(workloads)
        metric = chance.choice(askable(view.workloads[workload]))
        drawn.append(ScalingQuestion((workload,), metric.name, chance.uniform(metric.lowest, metric.highest)))
    return drawn


def line(name: str, times: Sequence[float]) -> str:
    """Return one line of the report."""
    tail = percentile(times, 0.99)
    return f"{name:36s} median {statistics.median(times):7.2f} ms   p99 {tail:7.2f} ms   n {len(times)}"


def run(lake: Lake, count: int) -> str:
    """Return the report on a lake."""
    release = lake.release()
    first, again = (milliseconds(ReleaseView.open, lake, release) for _ in range(2))
    view = ReleaseView.open(lake, release)
    drawn = questions(view, count)
    with service(lake.folder, 1) as server, closing(server.connect()) as connection:
        times = ask(view, connection, drawn)
        floor = [milliseconds(get, connection, "/healthz") for _ in drawn]
    (records,) = open_release(lake, release).execute("SELECT count(*) FROM records").fetchall()[0]
    return "\n".join(
        [
            machine(),
            f"lake: {release.n_trials:,} trials, {release.n_measurements:,} measurements, {records:,} records",
            f"opening the release: {first:,.0f} ms with its serving file to be built, {again:,.0f} ms after",
            line("scaling, in-process, uncached", times.in_process),
            line("scaling, over HTTP, uncached", times.over_http),
            line("floor: /healthz over HTTP", floor),
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lake", type=Path, help=LAKE_HELP)
    parser.add_argument("--questions", type=int, default=400)
    options = parser.parse_args(arguments)
    with benchmark_lake(options.lake) as lake:
        print(run(lake, options.questions))


if __name__ == "__main__":
    main()
