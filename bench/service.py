"""The service under load: `python -m bench.service [--lake DIR] [--seconds 4] [--requests 10000] [--workers 2]`.

One and sixteen clients, each asking one question after the other, from one process beside the server. After each kind
of answer the same clients ask for /healthz, which is the floor of the HTTP stack.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

import psutil

from bench.lakes import LAKE_HELP, benchmark_lake
from bench.load import Load, get, load, post, send
from bench.measure import machine, memory_of
from bench.scaling import askable, questions
from bench.servers import Server, service
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView

CLIENTS = (1, 16)
SQL = "SELECT batch_size, steps, trial_id, value FROM result_at($metric, $target) WHERE collection = $collection AND \
dataset = $dataset AND model = $model AND optimizer = $optimizer ORDER BY batch_size"


@dataclass(frozen=True)
class Case:
    """A kind of question. requests: different ones are asked in turn."""

    name: str
    requests: Sequence[bytes]


def cases(view: ReleaseView, count: int, seed: int = 1) -> Iterator[Case]:
    """Yield the questions of the report. count: different ones of a kind."""
    chance = random.Random(seed)
    drawn = questions(view, count, seed)
    yield Case("scaling, each question new", [get(question.path) for question in drawn])
    yield Case("scaling, the same again", [get(drawn[0].path)])
    trials = []
    for _ in range(count):
        facts = chance.choice(list(view.workloads.values()))
        row = chance.randrange(len(facts.trials.trial_id))
        size = facts.batch_sizes[int(facts.study_of_trial[row])]
        trial = f"{facts.workload}/{size}/{facts.trials.trial_id[row]}"
        trials.append(f"/v1/curves?{urlencode({'trial': trial, 'metric': askable(facts)[0].name})}")
    yield Case("one curve, each new", [get(path) for path in trials])
    studies = [
        {"study": f"{workload}/{size}", "metric": askable(facts)[0].name}
        for workload, facts in view.workloads.items()
        for size in facts.batch_sizes
    ]
    for name in ("json", "csv", "arrow", "parquet"):
        paths = [f"/v1/curves.{name}?{urlencode(study)}" for study in studies]
        yield Case(f"a study's curves, {name}", [get(path) for path in paths])
    bodies = []
    for question in drawn[:2000]:
        keys = {name: getattr(question.workloads[0], name) for name in ("collection", "dataset", "model", "optimizer")}
        values = {"metric": question.metric, "target": question.target} | keys
        bodies.append(json.dumps({"sql": SQL, "parameters": values}).encode())
    yield Case("the scaling question in SQL", [post("/v1/sql", body) for body in bodies])


def line(name: str, clients: int, result: Load, floor: Load) -> str:
    """Return one row of the report."""
    size = result.bytes / len(result.latencies) / 1000
    return (
        f"| {name} | {clients} | {result.per_second:,.0f} | {result.p50_ms:.2f} | {result.p99_ms:.2f} | {size:,.1f} | "
        f"{result.mb_per_second:,.0f} | {result.per_second / floor.per_second:.2f} |"
    )


def report(lake: Lake, seconds: float, requests: int, workers: int) -> Iterator[str]:
    """Yield the report, line by line."""
    view = ReleaseView.open(lake, lake.release())
    kinds = list(cases(view, 2 * requests))
    yield f"{machine()}; {workers} worker processes, the clients in one process beside them, {seconds:g} s a row\n"
    yield "| what | clients | requests/s | p50 ms | p99 ms | kB | MB/s | of the floor's rate |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    with service(lake.folder, workers) as server:
        for case in [*kinds, download(view, server)]:
            for clients in CLIENTS:
                measured = load(server.port, case.requests, clients, seconds)
                floor = load(server.port, [get("/healthz")], clients, seconds / 2)
                yield line(case.name, clients, measured, floor)
    with service(lake.folder, workers) as server:
        few, sent = requests // 10, list(mixed(kinds, requests))
        megabytes = [memory_after(server, count, sent) for count in (few, requests - few)]
    growth = f"{megabytes[1] / megabytes[0] - 1:+.1%}"
    yield "\nmemory of all processes, without mapped files:"
    yield f"after {few:,} mixed requests {megabytes[0]:,.0f} MB, after {requests:,} {megabytes[1]:,.0f} MB: {growth}"


def download(view: ReleaseView, server: Server) -> Case:
    """Return the download of the largest file."""
    listed = json.loads(server.answer(f"/v1/releases/{view.number}/files"))["rows"]
    largest = max(listed, key=lambda row: row["bytes"])
    return Case("download of a file", [get(f"/data/{view.number}/{quote(largest['path'])}")])


def mixed(kinds: Sequence[Case], count: int) -> Iterator[bytes]:
    """Yield questions of every kind in turn, and lists."""
    lists = [get(f"/v1/{name}") for name in ("workloads", "studies", "trials?limit=100", "metrics", "releases")]
    chosen = [case.requests for case in kinds] + [lists]
    for number in range(count):
        yield chosen[number % len(chosen)][number % len(chosen[number % len(chosen)])]


def memory_after(server: Server, count: int, requests: Sequence[bytes]) -> float:
    """Return the memory of all processes of a server after `count` requests, in MB."""
    send(server.port, requests, count, CLIENTS[-1])
    return memory_of(psutil.Process(server.process)) / 1e6


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lake", type=Path, help=LAKE_HELP)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--requests", type=int, default=10_000, help="before memory is measured; default: %(default)s")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    with benchmark_lake(options.lake) as lake:
        for text in report(lake, options.seconds, options.requests, options.workers):
            print(text, flush=True)


if __name__ == "__main__":
    main()
