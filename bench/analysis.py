"""Every analysis of a workload, in-process and over HTTP.

`python -m bench.analysis [--lake DIR] [--questions 20] [--limit 100]`

Each question is about another workload, metric and target, so nothing can be answered from a cache. Both ways have to
give the same answer. An analysis has to answer within the limit in the median, one that resamples within ten times as
long; otherwise the exit status is 1.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np

from bench.asking import ask
from bench.limits import Row, report
from bench.scaling import Askable, askable
from bench.servers import Server
from losslake.analysis.forecast import REQUIRED_LEVEL
from losslake.analysis.neighbour_bands import groups_needed
from losslake.index.frontiers import COUNTED
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
class Query:
    """A query of an analysis."""

    question: Question
    text: str

    def answered(self, view: ReleaseView) -> bytes:
        """Return the answer as JSON."""
        answer = self.question.answer(view, read_query(self.text.encode(), self.question.parameters))
        return b"".join(FORMATS["json"].encode(answer))

    @property
    def path(self) -> str:
        """Its address."""
        return f"{self.question.path}?{self.text}"


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
            yield urlencode([(part, getattr(workload, part)) for part in ("dataset", "model") if part in fields])
            continue
        if "metric" not in fields:  # of a planned training, beside stored workloads
            planned = {"parameters": 10 ** chance.uniform(7, 11), "tokens": 10 ** chance.uniform(9, 13)}
            yield urlencode({"workload": str(workload), **planned})
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
        elif "step_budget" in fields:
            pairs.append(("step_budget", str(chance.randrange(100, 100_000) + number)))
        yield urlencode(pairs)


def measured(question: Question, view: ReleaseView, server: Server, count: int, limit: float) -> Row | None:
    """Measure a question; None if no study of the release has enough trials for an answer.

    limit: milliseconds, ten times as many for one of RESAMPLING.
    """
    name = question.path.removeprefix(PREFIX)
    requests = [Query(question, text) for text in queries(question, view, count + 1)]
    if not requests:
        return None
    with closing(server.connect()) as connection:
        times = ask(view, connection, requests)
    # The first ones are with one-time work.
    in_process, over_http = times.in_process[1:], times.over_http[1:]
    most = limit * 10 if name in RESAMPLING else limit
    return Row(name, over_http, [f"{statistics.median(in_process):,.1f}"], most)


def analyses(view: ReleaseView, server: Server, count: int, limit: float) -> Iterator[Row]:
    """Yield the row of each analysis for which the release has enough trials."""
    for question in ANALYSES:
        row = measured(question, view, server, count, limit)
        if row is None:
            print(f"{question.path}: too few trials", file=sys.stderr)
        else:
            yield row


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return the exit status."""
    return report("analysis", ["in-process ms, median"], analyses, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
