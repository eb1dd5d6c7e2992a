"""200 runs that are sent while they train: `python -m bench.live [--seconds 600] [--runs 200] [--csv FILE]`.

Each logs ten measurements a second into one process of the contribution service, over a lake with the bundled studies,
beside a read service that is asked 20 new scaling questions a second. Two cases: recorded trainings with one
`losslake live` for all of them, and a sender for each run with a token and a connection of its own. The trainings, the
senders and this process share the cores with both services. The questions before are asked beside the same trainings,
of which nothing is sent.
"""

from __future__ import annotations

import argparse
import http.client
import math
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path

import orjson

from bench.live_lag import Polling, Sample, Sampling, Watching, in_threads, lags_by_second
from bench.live_load import Sent, follower, run_json, send_all, trainings
from bench.measure import in_own_process, machine
from bench.scaling import get, percentile, questions
from bench.servers import Server, contributions, service
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake.record.spool import new_name
from losslake_contributions.people.tokens import create_token
from losslake_contributions.store.database import Database
from losslake_ingest.run import ingest

BUNDLED = Path(__file__).parent.parent / "studies" / "data" / "bundled.tar.bz2"
WATCHED = 8
_PER_SECOND = 20
_SETTINGS = {"LOSSLAKE_CONTRIBUTIONS_MEGABYTES_PER_HOUR": "0", "LOSSLAKE_CONTRIBUTIONS_RUNS_PER_HOUR": "0"}
_NO_ANSWERS_KEPT = {"LOSSLAKE_ANSWER_CACHE_MB": "0"}
LONGEST_LAG_S = 5.0


@dataclass(frozen=True)
class Outcome:
    """The measurements of a case.

    held, watched: lags in seconds, by the second in which they were seen. before, during: milliseconds of the questions
    to the read service, before anything is sent and meanwhile.
    """

    name: str
    seconds: float
    held: dict[int, list[float]]
    watched: dict[int, list[float]]
    samples: Sequence[Sample]
    others: Sequence[tuple[str, float]]
    sent: Sent | None
    before: Sequence[float]
    during: Sequence[float]
    n_requests: int


def ask(port: int, paths: Sequence[str], ends: Event) -> list[float]:
    """Ask questions at an even rate until the end; return the milliseconds of each."""
    taken: list[float] = []
    connection, began = http.client.HTTPConnection("127.0.0.1", port), time.monotonic()
    while not ends.is_set():
        time.sleep(max(0.0, began + len(taken) / _PER_SECOND - time.monotonic()))
        begun = time.perf_counter()
        get(connection, paths[len(taken) % len(paths)])
        taken.append(1000 * (time.perf_counter() - begun))
    return taken


@contextmanager
def asking(port: int, paths: Sequence[str], pool: ThreadPoolExecutor) -> Iterator[Callable[[], list[float]]]:
    """Ask questions from a process of its own; give what returns the milliseconds of each after the end."""
    with multiprocessing.get_context("spawn").Manager() as manager:
        ends = manager.Event()
        future = pool.submit(in_own_process, ask, port, paths, ends)
        try:
            yield lambda: list(future.result().result)
        finally:
            ends.set()
            future.result()


def n_live_requests(server: Server) -> int:
    """Return how many requests with pieces the service has taken."""
    for line in server.answer("/metrics").decode().splitlines():
        if line.startswith("losslake_contributions_segments_total") and 'outcome="live"' in line:
            return int(float(line.rpartition(" ")[2]))
    return 0


@dataclass
class Bench:
    """The services and what is measured."""

    lake: Lake
    folder: Path
    n_runs: int
    seconds: float
    reader: Server
    writer: Server
    pool: ThreadPoolExecutor
    paths: Sequence[str]

    def recorded(self) -> Outcome:
        """Measure recorded trainings, of which one process sends all."""
        runs, unsent, output = self.folder / "runs", self.folder / "unsent", self.folder / "live.log"
        runs.mkdir()
        with trainings(unsent, self.n_runs, self.seconds + 60):
            wait_until(lambda: len([*unsent.glob("*/*/*.jsonl")]) == self.n_runs, f"{self.n_runs} runs are recorded")
            before = self._before()
        token = create_token(Database.open(self.lake), "Ada", None, ["contribute"], 1)

        def links() -> list[str]:
            parts = output.read_text().split()
            return [part for part in parts if part.startswith("http")]

        with (
            trainings(runs, self.n_runs, self.seconds + 60) as processes,
            follower(runs, self.writer.port, token, output) as sender,
        ):
            others = {"trainings": processes, "sender": [sender]}
            return self._measure("one sender of recorded runs", links, others, lambda _: None, before)

    def single(self) -> Outcome:
        """Measure a sender for each run, with tokens of as many contributors."""
        database = Database.open(self.lake)
        runs = [(create_token(database, f"Ada {at}", None, ["contribute"], 1), new_name()) for at in range(self.n_runs)]
        links = [self._create(token, run, at) for at, (token, run) in enumerate(runs)]

        def send(until: float) -> Sent:
            sent: Sent = in_own_process(send_all, self.writer.port, runs, until).result
            return sent

        return self._measure("a sender for each run", lambda: links, {}, send, self._before())

    def _before(self) -> Sequence[float]:
        """Return the milliseconds of questions to the read service while nothing is sent."""
        with asking(self.reader.port, self.paths, self.pool) as asked:
            time.sleep(max(10.0, self.seconds / 10))
        return asked()

    def _create(self, token: str, run: str, number: int) -> str:
        """Create a run; return the link to its page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.writer.port)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("PUT", f"/v1/contributions/{run}", run_json(number), headers)
        document = orjson.loads(connection.getresponse().read())
        connection.close()
        return str(document["links"]["live"])

    def _measure(
        self,
        name: str,
        links: Callable[[], Sequence[str]],
        others: dict[str, list[int]],
        send: Callable[[float], Sent | None],
        questions_before: Sequence[float],
    ) -> Outcome:
        """Measure until the time is over. send: sends until a time."""
        polling = Polling(self.lake)
        with in_threads([polling.work]):
            sending = self.pool.submit(send, time.time() + self.seconds + 30)
            wait_until(lambda: len(polling.runs) == self.n_runs, f"{self.n_runs} runs are sent")
            began, before = time.time(), n_live_requests(self.writer)
            watching = Watching(links()[:WATCHED])
            sampling = Sampling(self.folder / "lake", self.writer.process, others)
            with (
                in_threads([*watching.works(), sampling.work]),
                asking(self.reader.port, self.paths, self.pool) as asked,
            ):
                time.sleep(self.seconds)
                n_requests = n_live_requests(self.writer) - before
        held = lags_by_second(each for each in polling.seen if began <= each[0] <= began + self.seconds)
        return Outcome(
            name, self.seconds, held, lags_by_second(watching.seen), sampling.samples, sampling.cpu,
            sending.result(), questions_before, asked(), n_requests,
        )  # fmt: skip


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition. Raises TimeoutError after two minutes."""
    ends = time.monotonic() + 120
    while not condition():
        if time.monotonic() > ends:
            raise TimeoutError(f"{what}: not within two minutes")
        time.sleep(0.1)


def lag_row(name: str, by_second: dict[int, list[float]]) -> str:
    """Return the line of lags of a case."""
    lags = [lag for each in by_second.values() for lag in each]
    if not lags:
        return f"{name:34} nothing was seen"
    late = sum(max(each) > LONGEST_LAG_S for each in by_second.values())
    parts = statistics.median(lags), percentile(lags, 0.99), max(lags)
    return f"{name:34} {len(lags):11,} {parts[0]:8.2f} {parts[1]:8.2f} {parts[2]:8.2f} {late:8}"


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the least-squares line."""
    if len(points) < 2:
        return math.nan
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def report(outcome: Outcome) -> Iterator[str]:
    """Yield lines about a case."""
    first, last = outcome.samples[0], outcome.samples[-1]
    wall = last.at - first.at
    yield f"{outcome.name:34} {'measurements':>11} {'p50 s':>8} {'p99 s':>8} {'max s':>8} {'>5 s, in seconds':>8}"
    yield lag_row("… until held", outcome.held)
    yield lag_row(f"… until seen, {WATCHED} runs watched", outcome.watched)
    yield f"requests with pieces: {outcome.n_requests / outcome.seconds:.1f} a second"
    if outcome.sent is not None:
        sent = outcome.sent
        yield (
            f"… of which each took {1000 * statistics.median(sent.latencies):.0f} ms, 99th percentile "
            f"{1000 * percentile(sent.latencies, 0.99):.0f}, longest {1000 * max(sent.latencies):,.0f}; "
            f"{statistics.median(sent.pauses):.2f} s to wait; {sent.failures} failed"
        )
    # The caches of the process fill in the first minute, or the first quarter of a shorter trial.
    settled = [each for each in outcome.samples if each.at - first.at >= min(60.0, outcome.seconds / 4)]
    grows = slope([((each.at - first.at) / 60, each.memory / 1e6) for each in settled])
    peak = max(each.memory for each in outcome.samples)
    yield (
        f"memory of the service: {first.memory / 1e6:.1f} MB at first, {settled[0].memory / 1e6:.1f} then, "
        f"{last.memory / 1e6:.1f} at last, at most {peak / 1e6:.1f}; {grows:+.2f} MB a minute"
    )
    yield f"CPU seconds a second: the service {(last.cpu - first.cpu) / wall:.3f}" + "".join(
        f", {name} {cpu / wall:.3f}" for name, cpu in outcome.others
    )
    logs = [each.log for each in outcome.samples]
    grown = (last.database - first.database) / wall
    yield f"database: {grown / 1e3:.1f} kB a second more; its write-ahead log {max(logs) / 1e6:.1f} MB at most"
    for name, taken in (("before", outcome.before), ("during", outcome.during)):
        yield (
            f"scaling questions {name}: {statistics.median(taken):.1f} ms, 99th percentile "
            f"{percentile(taken, 0.99):.1f}, longest {max(taken):.1f}, {len(taken):,} questions"
        )


def write_seconds(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Write the lags of every second as CSV."""
    with path.open("w") as file:
        print("case,until,second,measurements,p50_s,p99_s,max_s", file=file)
        for outcome in outcomes:
            for until, by_second in (("held", outcome.held), ("seen", outcome.watched)):
                for at, lags in sorted(by_second.items()):
                    parts = statistics.median(lags), percentile(lags, 0.99), max(lags)
                    values = ",".join(f"{part:.3f}" for part in parts)
                    print(f"{outcome.name},{until},{at - min(by_second)},{len(lags)},{values}", file=file)


def run(n_runs: int, seconds: float, cases: Sequence[str]) -> Iterator[tuple[Outcome, list[str]]]:
    """Yield the outcome of each case, with the lines about it. Each has a lake and services of its own."""
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="losslake-bench-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            lake = Lake.create(folder / "lake")
            ingest(lake, [BUNDLED])
            Database.create(lake)
            view = ReleaseView.open(lake, lake.release())
            paths = [each.path for each in questions(view, int(_PER_SECOND * (seconds + 60)))]
            with (
                service(folder / "lake", 1, _NO_ANSWERS_KEPT) as reader,
                contributions(folder / "lake", _SETTINGS) as writer,
                ThreadPoolExecutor(3) as pool,
            ):
                bench = Bench(lake, folder, n_runs, seconds, reader, writer, pool, paths)
                outcome = bench.recorded() if case == "recorded" else bench.single()
                yield outcome, list(report(outcome))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0, help="of each case")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--case", choices=("recorded", "single"), help="by default both")
    parser.add_argument("--csv", type=Path, help="write the lags of every second to this file")
    options = parser.parse_args()
    print(machine(), flush=True)
    outcomes = []
    for outcome, lines in run(
        options.runs, options.seconds, [options.case] if options.case else ["recorded", "single"]
    ):
        outcomes.append(outcome)
        print("\n".join(["", *lines]), flush=True)
    if options.csv is not None:
        write_seconds(options.csv, outcomes)


if __name__ == "__main__":
    main()
