"""Every analysis of a workload, in-process and over HTTP.

`python -m bench.analysis [--lake DIR] [--questions 20] [--limit 100]`

Each question is about another workload, metric and target, so nothing can be answered from a cache. Both ways have to
give the same answer. An analysis has to answer within the limit in the median, one that resamples within ten times as
long; otherwise the exit status is 1.
"""

from __future__ import annotations

import http.client
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

import numpy as np

from bench.answers import expect
from bench.limits import exit_status
from bench.measure import machine
from bench.scaling import Askable, askable, get, milliseconds
from bench.servers import service
from losslake.analysis.forecast import REQUIRED_LEVEL
from losslake.analysis.neighbour_bands import groups_needed
from losslake.index.frontiers import COUNTED
from losslake.lake.lake import Lake
from losslake.output.formats import FORMATS
from losslake.questions.declaration.question import Question
from losslake.questions.questions import ANALYSES, PREFIX
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.comparable_trials import comparable_trials
from losslake.questions.trials.search import open_search
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.names import Workload
from losslake_schema.statuses import INFEASIBLE
from losslake_service.routes.reading import read_query

# Those that compute their answer again for samples, or with each of some trials held out.
RESAMPLING = ("critical-batch-size", "forecast", "tuning-budget")
SEVERAL = ("compare", "profiles")
# Of the partial curves that are forecast.
LAST_STEP = 1


@dataclass(frozen=True)
class Times:
    """The milliseconds of each question of one analysis. limit: of the median over HTTP."""

    name: str
    in_process: Sequence[float]
    over_http: Sequence[float]
    limit: float

    @property
    def median(self) -> float:
        return statistics.median(self.over_http)

    @property
    def is_within(self) -> bool:
        return self.median <= self.limit

    def line(self) -> str:
        """Return one row of the report."""
        inside, slowest = statistics.median(self.in_process), max(self.in_process)
        verdict = "yes" if self.is_within else "**no**"
        return f"| {self.name} | {inside:,.1f} | {slowest:,.1f} | {self.median:,.1f} | {self.limit:,.0f} | {verdict} |"


def forecastable(view: ReleaseView, workload: Workload, metric: Askable) -> list[int]:
    """Return the batch sizes of which enough settings ran on after LAST_STEP for a forecast."""
    search = open_search(view, Selection((workload,), metric.name, statuses=(*COUNTED, INFEASIBLE)), workload)
    sizes = []
    for study, size in enumerate(view.workloads[workload].batch_sizes):
        trials = comparable_trials(search, Goal(metric.highest), study).comparable
        ran_on = (trials.last_steps > LAST_STEP) & np.isfinite(trials.losses_at(LAST_STEP))
        if len(np.unique(trials.groups[ran_on])) >= groups_needed(REQUIRED_LEVEL):
            sizes.append(size)
    return sizes


def queries(question: Question, view: ReleaseView, count: int) -> Iterator[str]:
    """Yield random queries of a question: workloads, metrics, and targets or budgets; none if no study has answers."""
    name, fields = question.path.removeprefix(PREFIX), question.parameters.model_fields
    chance = random.Random(name)
    metrics = {workload: askable(facts) for workload, facts in sorted(view.workloads.items())}
    if "curve" in fields:
        enough = {key: [each for each in some if forecastable(view, key, each)] for key, some in metrics.items()}
        metrics = {workload: some for workload, some in enough.items() if some}
    workloads = list(metrics)
    for number in range(count if workloads else 0):
        workload = chance.choice(workloads)
        if "workload" not in fields:  # of all workloads, at goals of their own
            yield urlencode([("dataset", workload.dataset), ("model", workload.model)])
            continue
        metric = chance.choice(metrics[workload])
        others = [other for other in workloads if other != workload and metric in metrics[other]]
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
            pairs.append(("batch_size", str(chance.choice(forecastable(view, workload, metric)))))
            pairs += [("curve", f"{step}={metric.highest!r}") for step in range(LAST_STEP + 1)]
        if "target" in fields:
            pairs.append(("target", repr(chance.uniform(metric.lowest, metric.highest))))
        elif "target_min" in fields:
            pairs.append(("target_min", repr(chance.uniform(0, metric.lowest))))
        else:
            pairs.append(("step_budget", str(chance.randrange(100, 100_000) + number)))
        yield urlencode(pairs)


def measured(question: Question, view: ReleaseView, port: int, count: int, limit: float) -> Times | None:
    """Measure a question that is answered in JSON; None if no study of the release has enough trials for an answer.

    limit: milliseconds, ten times as many for one of RESAMPLING.

    Raises WrongAnswer if an answer over HTTP is another one.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port)
    requests = list(queries(question, view, count + 1))
    if not requests:
        return None
    answers: list[bytes] = []

    def answered(query: str) -> None:
        parameters = read_query(query.encode(), question.parameters)
        answer = question.answer(view, parameters)
        answers.append(b"".join(FORMATS["json"].encode(answer)))

    def fetched(query: str) -> None:
        answers.append(get(connection, f"{question.path}?{query}"))

    inside = [milliseconds(partial(answered, query)) for query in requests]
    over_http = [milliseconds(partial(fetched, query)) for query in requests]
    for query, ours, over in zip(requests, answers[: len(requests)], answers[len(requests) :], strict=True):
        expect(f"{question.path}?{query} over HTTP", over, ours)
    # The first ones are with one-time work.
    name = question.path.removeprefix(PREFIX)
    return Times(name, inside[1:], over_http[1:], limit * 10 if name in RESAMPLING else limit)


def run(lake: Lake, count: int, limit: float) -> bool:
    """Print the report on a lake, line by line; return True if every analysis is within its limit."""
    release = lake.release()
    view = ReleaseView.open(lake, release)
    print(f"{machine()}; {release.n_trials:,} trials, {count} questions of each kind, all new\n")
    print("| analysis | in-process ms, median | slowest | over HTTP ms, median | limit ms | within it |")
    print("| --- | ---: | ---: | ---: | ---: | --- |", flush=True)
    are_within = True
    with service(lake.folder, 1) as server:
        for question in ANALYSES:
            times = measured(question, view, server.port, count, limit)
            name = question.path.removeprefix(PREFIX)
            print(times.line() if times else f"| {name} | too few trials | | | | |", flush=True)
            are_within &= times is None or times.is_within
    return are_within


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return the exit status."""
    return exit_status(run, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
