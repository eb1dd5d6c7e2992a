"""Trainings, clients, the service and acceptances are killed, the network cuts, delays and repeats: nothing is lost.

Every measurement that was acknowledged, and that no later attempt supersedes, is in the accepted release exactly once,
in order. What is in the spools is read by a few lines of plain Python.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

import losslake.record
from losslake.lake.lake import Lake
from losslake_contributions.accept import accept
from losslake_contributions.client import ContributionClient
from losslake_contributions.local_runs import find_runs
from losslake_contributions.push import Terms, push
from losslake_contributions.store.contributions import held_segments
from losslake_contributions.store.database import Database
from losslake_contributions.store.submissions import list_submissions
from losslake_contributions.store.tokens import create_token
from losslake_schema.errors import LossLakeError
from tests.contributions.conftest import ADA
from tests.contributions.disturbing_proxy import DisturbingProxy, disturbing_proxy
from tests.contributions.running import RunningService, running_service
from tests.contributions.spooled_runs import Rows, remaining, same
from tests.contributions.stored import stored_curves
from tests.forked import Forked

TRAININGS_AT_ONCE = 4
PUSHERS = 2


def train(folder: str, seed: int, name: str | None, kills: int) -> None:
    """Record a training, from its start or from a checkpoint; it may be killed at any step."""
    chance = random.Random(seed * 100 + kills)
    run = losslake.record.start(
        workload="given/mnist/cnn/sgd",
        batch_size=2 ** (seed % 4),
        parameters={"seed": seed, "learning_rate": 0.1 * seed},
        licence="CC-BY-4.0",
        folder=folder,
        resume=name,
    )
    assert run.folder is not None
    Path(folder, f"{seed}.name").write_text(run.name)
    step, last = (0 if name is None else chance.randrange(150)), 200 + chance.randrange(300)
    rewinds = chance.randrange(3)
    calls: list[tuple[float, float]] = []
    while step < last:
        values = {"val/loss": chance.random() / (step + 1)}
        if step % 7 == 0:
            values["train/loss"] = chance.choice([1.5, float("nan"), float("inf"), float("-inf")])
        began = time.perf_counter()
        run.log(values, step=step)
        done = time.perf_counter()
        # As long as a call, with nothing in it: what the machine does to any code of a training.
        while (now := time.perf_counter()) - done < 2e-6:
            pass
        calls.append((done - began, now - done))
        step += 1
        if rewinds and chance.random() < 0.01:
            rewinds -= 1
            step = chance.randrange(step)
            run.rewind(step)
        if chance.random() < 0.02:
            time.sleep(0.05)  # as a step of a training takes
    run.finish()
    Path(folder, f"{seed}.calls").write_text(json.dumps(calls))


def record(folder: Path, seed: int, killed: Counter[str]) -> None:
    """Record a training in processes that are killed now and then, until it ends; one of ten stays killed."""
    chance = random.Random(seed)
    stays_killed = seed % 10 == 0
    name: str | None = None
    for kills in range(4):
        process = Forked(train, str(folder), seed, name, kills)
        is_to_be_killed = stays_killed if kills == 0 else chance.random() < 0.3
        if kills == 0 and chance.random() < 0.4:
            is_to_be_killed = True
        if is_to_be_killed and kills < 3:
            time.sleep(0.2 + chance.random() * 0.6)
            process.kill()
        status = process.wait(300)
        ended_well = status == 0
        killed["training"] += status < 0
        place = folder / f"{seed}.name"
        name = place.read_text() if place.exists() else None
        if name == "":
            name = None
        # Killed after its end, it isn't started again: what it would record then is more than was submitted.
        ended_well |= name is not None and (folder / name / "end.json").exists()
        if ended_well or (stays_killed and name is not None):
            return


def push_until_stopped(url: str, token: str, folder: str) -> None:
    """Push finished runs again and again, as a job that is started every minute does."""
    while not Path(folder, "stop").exists():
        with suppress(LossLakeError), ContributionClient(url, token, 8) as client:
            push(client, find_runs(Path(folder)).runs, Terms(), lambda *_: None)
        time.sleep(0.1)


def push_the_rest(url: str, token: str, folder: str) -> None:
    """Push every run, also those whose training was killed; end with 1 unless all are submitted."""
    try:
        with ContributionClient(url, token, 8) as client:
            runs = find_runs(Path(folder), with_unfinished=True)
            pushed = push(client, runs.runs, Terms(), lambda *_: None)
    except LossLakeError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    submitted = {run for run, state in pushed.states.items() if state.submission is not None}
    submitted |= set(pushed.submission.contributions) if pushed.submission is not None else set()
    sys.exit(0 if submitted == {run.id for run in runs.runs} and not pushed.failures else 1)


def accept_all(lake: str) -> None:
    tempfile.tempdir = str(Path(lake).parent)  # what a kill leaves there goes with the test
    database = Database.open(Lake.open(lake))
    for state in ("accepting", "submitted"):
        for submission in list_submissions(database, state).submissions:
            accept(database, submission.id, "me")


def kill_now_and_then(
    function: Callable[..., None], *arguments: object, times: int, chance: random.Random, killed: Counter[str]
) -> None:
    """Run a function in processes that are killed so many times, then until one ends well."""
    for _ in range(times):
        process = Forked(function, *arguments, may_start_others=True)
        time.sleep(chance.random() * 1.5)
        process.kill()
        killed[function.__name__] += process.wait(60) < 0
    for _ in range(30):
        if Forked(function, *arguments, may_start_others=True).wait(300) == 0:
            return
    raise AssertionError(f"{function} never ended well")


def disturb(
    service: RunningService,
    pushers: list[Forked],
    arguments: tuple[str, str, str],
    seed: int,
    killed: Counter[str],
) -> Iterator[None]:
    """At each step, kill the service or a client, and start it again."""
    chance = random.Random(seed)
    while True:
        if chance.random() < 0.5:
            service.kill()
            killed["service"] += 1
            service.start()
        else:
            number = chance.randrange(len(pushers))
            pushers[number].kill()
            killed["client"] += pushers[number].wait(60) < 0
            pushers[number] = Forked(push_until_stopped, *arguments)
        yield


def run_campaign(lake: Lake, folder: Path, trainings: int, seed: int) -> tuple[DisturbingProxy, Counter[str]]:
    """Record, push and accept, while everything is disturbed; return what was killed how often."""
    folder.mkdir()
    killed: Counter[str] = Counter()
    times = 1 if trainings < 10 else 3
    chance = random.Random(seed)
    with running_service(lake) as service, disturbing_proxy(service.port, seed) as proxy:
        token = create_token(Database.open(lake), "Ada", ADA, ["contribute"], 1)
        arguments = (f"http://127.0.0.1:{proxy.port}", token, str(folder))
        pushers = [Forked(push_until_stopped, *arguments) for _ in range(PUSHERS)]
        disturbing = disturb(service, pushers, arguments, seed, killed)
        with ThreadPoolExecutor(TRAININGS_AT_ONCE) as pool:
            recording = [pool.submit(record, folder, number, killed) for number in range(1, trainings + 1)]
            while not all(each.done() for each in recording):
                time.sleep(0.5 + chance.random())
                next(disturbing)
        for each in recording:
            each.result()
        for _ in range(times):
            next(disturbing)
        (folder / "stop").touch()
        for pusher in pushers:
            pusher.wait(300)
        kill_now_and_then(push_the_rest, *arguments, times=times, chance=chance, killed=killed)
    kill_now_and_then(accept_all, str(lake.folder), times=times, chance=chance, killed=killed)
    return proxy, killed


def lines_of(place: Path) -> dict[str, Rows]:
    """The whole lines of each segment of a spool."""
    segments: dict[str, Rows] = {}
    for path in sorted(place.glob("*/*.jsonl")):
        whole, _, _ = path.read_bytes().rpartition(b"\n")
        segments[path.relative_to(place).as_posix()] = [json.loads(line) for line in whole.split(b"\n") if line]
    return segments


def check_nothing_lost(lake: Lake, folder: Path, trainings: int) -> None:
    spools = {path.parent.name: lines_of(path.parent) for path in folder.glob("*/run.json")}
    spools = {name: segments for name, segments in spools.items() if any(segments.values())}
    stored = stored_curves(lake)
    assert sorted(stored) == sorted(spools)
    assert len(spools) >= trainings * 0.9
    for name, segments in spools.items():
        expected = remaining(segments)
        assert stored[name].keys() == expected.keys()
        for metric, points in expected.items():
            assert [step for step, _ in stored[name][metric]] == [step for step, _ in points]
            pairs = zip(stored[name][metric], points, strict=True)
            assert all(same(value, wanted) for (_, value), (_, wanted) in pairs)
    database = Database.open(lake)
    states = [each.state for each in list_submissions(database).submissions]
    assert set(states) == {"accepted"}
    for name, segments in spools.items():
        held = database.read(partial(held_segments, run=name))
        assert [segment.path for segment in held] == sorted(segments)


def test_a_few_trainings_are_stored_exactly_once(empty_lake: Lake, tmp_path: Path) -> None:
    run_campaign(empty_lake, tmp_path / "runs", 4, seed=1)
    check_nothing_lost(empty_lake, tmp_path / "runs", 4)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_hundred_trainings_are_stored_exactly_once(empty_lake: Lake, tmp_path: Path) -> None:
    seed = int(os.environ.get("LOSSLAKE_TEST_SEED", "2"))
    proxy, killed = run_campaign(empty_lake, tmp_path / "runs", 200, seed)
    print(f"{proxy.cuts} connections cut, {proxy.repeats} sent again, killed: {dict(killed)}")
    files = (tmp_path / "runs").glob("*.calls")
    calls = [pair for path in files for pair in json.loads(path.read_text())]
    for what, seconds in zip(("calls of log", "empty loops of 2 µs"), zip(*calls, strict=True), strict=True):
        took = sorted(1e6 * each for each in seconds)
        print(
            f"{len(took):,} {what}: {took[len(took) // 2]:,.0f} µs median, {took[-len(took) // 1000]:,.0f} "
            f"99.9th percentile, {took[-1]:,.0f} longest, {sum(each > 1000 for each in took)} above 1 ms"
        )
    print(f"{empty_lake.release().n_measurements:,} measurements in {len(empty_lake.releases())} releases")
    check_nothing_lost(empty_lake, tmp_path / "runs", 200)
    assert proxy.cuts > 20
    assert proxy.repeats > 5
    assert min(killed[each] for each in ("training", "service", "client")) > 5
