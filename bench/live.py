"""Runs that are sent while they train: `python -m bench.live [--seconds 60] [--runs 200] [--archive FILE]`.

Each run has a sender, a token and a connection of its own, and logs ten measurements a second. They go into one process
of the contribution service, and pages of eight runs are followed; a read service of the same lake, by default of the
bundled studies, is asked 20 new scaling questions a second. All share the cores.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from bench.growth import AtScale, Figure, Limit, growth_table, spread
from bench.lakes import temporary_folder
from bench.live_lag import Polling, Sample, Sampling, Watching, in_threads
from bench.live_load import Sent, create, send_all
from bench.measure import in_own_process, machine, milliseconds
from bench.scaling import questions
from bench.servers import NO_ANSWERS_KEPT, Server, contributions, get, service
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake.record.spool import new_name
from losslake_contributions.people.tokens import create_token
from losslake_contributions.store.database import Database
from losslake_ingest.run import ingest
from studies.report import ARCHIVE_FILE

WATCHED = 8
QUESTIONS_PER_SECOND = 20
LONGEST_LAG = Limit(5.0)
_SETTINGS = {"LOSSLAKE_CONTRIBUTIONS_MEGABYTES_PER_HOUR": "0", "LOSSLAKE_CONTRIBUTIONS_RUNS_PER_HOUR": "0"}
_LONGEST_START_S = 120.0


def ask_evenly(reader: Server, paths: Sequence[str], seconds: float) -> list[float]:
    """Ask questions at an even rate, one at least; return the milliseconds of each."""
    taken: list[float] = []
    began = time.monotonic()
    with closing(reader.connect()) as connection:
        while not taken or time.monotonic() < began + seconds:
            time.sleep(max(0.0, began + len(taken) / QUESTIONS_PER_SECOND - time.monotonic()))
            taken.append(milliseconds(get, connection, paths[len(taken) % len(paths)]))
    return taken


def measured(archive: Path, n_runs: int, seconds: float) -> Iterator[Figure]:
    """Yield all figures. Raises TimeoutError if not all runs are sent within two minutes."""
    with temporary_folder() as folder, ThreadPoolExecutor(2) as pool:
        lake = Lake.create(folder / "lake")
        ingest(lake, [archive])
        database = Database.create(lake)
        view = ReleaseView.open(lake, lake.release())
        paths = [each.path for each in questions(view, 1 + int(QUESTIONS_PER_SECOND * seconds))]
        runs = [(create_token(database, f"Ada {at}", None, ["contribute"], 1), new_name()) for at in range(n_runs)]
        ends, polling = folder / "ends", Polling(lake)
        with (
            service(folder / "lake", 1, NO_ANSWERS_KEPT) as reader,
            contributions(folder / "lake", _SETTINGS) as writer,
        ):
            before: list[float] = in_own_process(ask_evenly, reader, paths, seconds / 4).result
            watching = Watching([create(writer, token, run, at) for at, (token, run) in enumerate(runs)][:WATCHED])
            sampling = Sampling(folder / "lake", writer.process)
            sending = pool.submit(in_own_process, send_all, writer.port, runs, ends)
            try:
                with in_threads([polling.work]):
                    _wait_until(lambda: sending.done() or len(polling.runs) == n_runs)
                    began = time.time()
                    asking = pool.submit(in_own_process, ask_evenly, reader, paths, seconds)
                    with in_threads([*watching.works(), sampling.work]):
                        time.sleep(seconds)
                    during: list[float] = asking.result().result
            finally:
                ends.touch()
            sent: Sent = sending.result().result
    lags = [lag for at, lag in polling.seen if began <= at <= began + seconds]
    yield Figure("measurements held", len(lags))
    yield from spread("… after", lags, "s", LONGEST_LAG)
    yield from spread(f"… seen on {WATCHED} pages after", watching.lags, "s", LONGEST_LAG)
    yield Figure("requests a second", len(sent.latencies) / sent.seconds)
    yield from spread("… each takes", [1000 * each for each in sent.latencies], "ms")
    yield Figure("… failed", sent.failures)
    yield from resources(sampling.samples, seconds)
    yield from spread("scaling over HTTP before", before, "ms")
    yield from spread("… meanwhile", during, "ms")


def resources(samples: Sequence[Sample], seconds: float) -> Iterator[Figure]:
    """Yield what the contribution service uses."""
    first, last = samples[0], samples[-1]
    wall = last.at - first.at
    # The caches of the process fill in the first minute, or the first quarter of a shorter run.
    settled = [each for each in samples if each.at - first.at >= min(60.0, seconds / 4)]
    points = [((each.at - first.at) / 60, each.memory / 1e6) for each in settled]
    slope = statistics.linear_regression(*zip(*points, strict=True)).slope if len(points) > 1 else math.nan
    yield Figure("memory of the service", max(each.memory for each in samples) / 1e6, "MB")
    yield Figure("… grows by, a minute", slope, "MB")
    yield Figure("CPU of the service, of a core", (last.cpu - first.cpu) / wall)
    yield Figure("database, a second", (last.database - first.database) / wall / 1e3, "kB")
    yield Figure("… its write-ahead log, at most", max(each.log for each in samples) / 1e6, "MB")


def _wait_until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + _LONGEST_START_S
    while not condition():
        if time.monotonic() > ends:
            raise TimeoutError(f"not all runs are sent after {_LONGEST_START_S:g} s")
        time.sleep(0.1)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=200, help="default: %(default)s")
    parser.add_argument("--archive", type=Path, default=ARCHIVE_FILE, help="of the lake; default: the bundled studies")
    options = parser.parse_args(arguments)
    figures = tuple(measured(options.archive, options.runs, options.seconds))
    print("\n".join([machine(), "", *growth_table([AtScale(options.runs, figures)])]))


if __name__ == "__main__":
    main()
