"""Every analysis of a workload, in-process and over HTTP: `python -m bench.analysis [--lake DIR] [--questions 20]`.

Each question is about another workload, metric and target, so nothing can be answered from a cache. An analysis has to
answer within 100 ms in the median, one that resamples within 1 s.
"""

from __future__ import annotations

import argparse
import http.client
import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from bench.lakes import LAKE_HELP, benchmark_lake
from bench.measure import machine
from bench.scaling import askable, get, milliseconds
from bench.servers import service
from losslake.lake.lake import Lake
from losslake.output.formats import FORMATS
from losslake.questions.declaration.question import Question
from losslake.questions.questions import ANALYSES, PREFIX
from losslake.questions.release.view import ReleaseView
from losslake_service.routes.reading import read_query

LIMIT_MS, RESAMPLING_LIMIT_MS = 100.0, 1000.0
# Those that compute their answer again for samples, or with each of some trials held out.
RESAMPLING = ("critical-batch-size", "forecast", "tuning-budget")
SEVERAL = ("compare", "profiles")


@dataclass(frozen=True)
class Times:
    """The milliseconds of each question of one analysis."""

    name: str
    in_process: Sequence[float]
    over_http: Sequence[float]

    @property
    def limit(self) -> float:
        return RESAMPLING_LIMIT_MS if self.name in RESAMPLING else LIMIT_MS

    def line(self) -> str:
        """Return one row of the report."""
        inside, over = statistics.median(self.in_process), statistics.median(self.over_http)
        slowest = max(self.in_process)
        verdict = "yes" if over <= self.limit else "**no**"
        return f"| {self.name} | {inside:,.1f} | {slowest:,.1f} | {over:,.1f} | {self.limit:,.0f} | {verdict} |"


def queries(question: Question, view: ReleaseView, count: int) -> Iterator[str]:
    """Yield random queries of a question: workloads, metrics, and targets or budgets."""
    name, fields = question.path.removeprefix(PREFIX), question.parameters.model_fields
    chance = random.Random(name)
    workloads = sorted(view.workloads)
    for number in range(count):
        workload = chance.choice(workloads)
        if "workload" not in fields:  # of all workloads, at goals of their own
            yield urlencode([("dataset", workload.dataset), ("model", workload.model)])
            continue
        metric = chance.choice(askable(view.workloads[workload]))
        others = [other for other in workloads if other != workload and metric in askable(view.workloads[other])]
        other = chance.choice(others or [workload])
        pairs = [("workload", str(workload)), ("metric", metric.name)]
        if name in SEVERAL:
            pairs.append(("workload", str(other)))
        if "submission" in fields:
            pairs.append(("submission", str(other)))
        if "step_time" in fields:
            sizes = view.workloads[workload].batch_sizes
            pairs += [("step_time", f"{size}={0.1 + size / 1000}") for size in sorted({sizes[0], sizes[-1]})]
        if "curve" in fields:
            study = chance.choice(view.workloads[workload].batch_sizes)
            pairs += [
                ("batch_size", str(study)),
                ("curve", f"0={metric.highest!r}"),
                ("curve", f"1={metric.highest!r}"),
            ]
        if "target" in fields:
            pairs.append(("target", repr(chance.uniform(metric.lowest, metric.highest))))
        elif "target_min" in fields:
            pairs.append(("target_min", repr(chance.uniform(0, metric.lowest))))
        else:
            pairs.append(("step_budget", str(chance.randrange(100, 100_000) + number)))
        yield urlencode(pairs)


def measured(question: Question, view: ReleaseView, port: int, count: int) -> Times:
    """Measure a question that is answered in JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    requests = list(queries(question, view, count + 1))

    def answered(query: str) -> None:
        parameters = read_query(query.encode(), question.parameters)
        answer = question.answer(view, parameters)
        for _ in FORMATS["json"].encode(answer):
            pass

    def fetched(query: str) -> None:
        get(connection, f"{question.path}?{query}")

    answered(requests[0])
    fetched(requests[0])
    inside = [milliseconds(lambda q=query: answered(q)) for query in requests[1:]]  # type: ignore[misc]
    over_http = [milliseconds(lambda q=query: fetched(q)) for query in requests[1:]]  # type: ignore[misc]
    return Times(question.path.removeprefix(PREFIX), inside, over_http)


def report(lake: Lake, count: int) -> Iterator[str]:
    """Yield the report on a lake, line by line."""
    release = lake.release()
    view = ReleaseView.open(lake, release)
    yield f"{machine()}; {release.n_trials:,} trials, {count} questions of each kind, all new"
    yield ""
    yield "| analysis | in-process ms, median | slowest | over HTTP ms, median | limit ms | within it |"
    yield "| --- | ---: | ---: | ---: | ---: | --- |"
    with service(lake.folder, 1) as server:
        for question in ANALYSES:
            yield measured(question, view, server.port, count).line()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lake", type=Path, help=LAKE_HELP)
    parser.add_argument("--questions", type=int, default=20)
    options = parser.parse_args()
    with benchmark_lake(options.lake) as lake:
        for text in report(lake, options.questions):
            print(text, flush=True)


if __name__ == "__main__":
    main()
