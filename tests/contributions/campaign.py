"""A campaign of faults: trainings, clients, service and acceptances are killed, the network cuts, delays and repeats.

Live, runs are sent while they train, by senders of all of them and of single ones; runs fall silent, and go on.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil

import losslake.record
from losslake.lake.lake import Lake
from losslake.record import spool
from losslake_contributions.client.connection import ContributionClient
from losslake_contributions.client.push import Terms, push
from losslake_contributions.people.tokens import create_token
from losslake_contributions.review.acceptance import accept
from losslake_contributions.review.submissions import list_submissions
from losslake_contributions.store.database import Database
from losslake_schema.errors import LossLakeError
from tests.contributions.conftest import ADA
from tests.contributions.disturbing_proxy import disturbing_proxy
from tests.contributions.made_runs import runs_in
from tests.contributions.running import RunningService, running_service
from tests.forked import Forked, start_command

TRAININGS_AT_ONCE = 4
PUSHERS = FOLLOWERS = 2
# Live, runs fall silent sooner than the recorder shows a sign of life, and more of what passes is disturbed.
LIVE_SETTINGS = {"live_seconds": 0.1, "silent_minutes": 0.03}
LIVE_SHARE = 0.15
SILENT = re.compile(r"finished (\d+) runs as INCOMPLETE")


@dataclass(frozen=True)
class Target:
    """Where runs are sent to. is_live: while they train. pace: what multiplies the times of trainings."""

    url: str
    token: str
    is_live: bool
    pace: float = 1.0


def train(folder: str, seed: int, name: str | None, kills: int, target: Target) -> None:
    """Record a training, from its start or from a checkpoint; it may be killed at any step."""
    chance = random.Random(seed * 100 + kills)
    if target.is_live and seed % 2:
        spool.LARGEST_SEGMENT = 3_000
    os.environ["LOSSLAKE_TOKEN"] = target.token
    run = losslake.record.start(
        workload="given/mnist/cnn/sgd",
        batch_size=2 ** (seed % 4),
        parameters={"seed": seed, "learning_rate": 0.1 * seed},
        licence="CC-BY-4.0",
        folder=folder,
        resume=name,
        live=target.url if target.is_live and seed % 8 == 1 else None,
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
            time.sleep((0.3 if target.is_live else 0.05) * target.pace)  # as a step of a training takes
    run.finish()
    Path(folder, f"{seed}.calls").write_text(json.dumps(calls))


def record(folder: Path, seed: int, target: Target, killed: Counter[str]) -> None:
    """Record a training in processes that are killed now and then, until it ends; one of ten stays killed."""
    chance = random.Random(seed)
    stays_killed = seed % 10 == 0
    name: str | None = None
    for kills in range(4):
        process = Forked(train, str(folder), seed, name, kills, target)
        is_to_be_killed = stays_killed if kills == 0 else chance.random() < 0.3
        if kills == 0 and chance.random() < 0.4:
            is_to_be_killed = True
        if is_to_be_killed and kills < 3:
            time.sleep((0.2 + chance.random() * 0.6) * (3 if target.is_live else 1) * target.pace)
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
        if target.is_live and chance.random() < 0.5:
            time.sleep(3 * target.pace)  # at the usual pace long enough for its run to fall silent


def push_until_stopped(target: Target, folder: str) -> None:
    """Push finished runs again and again, as a job that is started every minute does."""
    while not Path(folder, "stop").exists():
        with suppress(LossLakeError, OSError), ContributionClient(target.url, target.token, 8) as client:
            push(client, runs_in(Path(folder)).runs, Terms(), lambda *_: None)
        time.sleep(0.1)


def push_the_rest(target: Target, folder: str) -> None:
    """Push every run, also those whose training was killed; end with 1 unless all are submitted."""
    try:
        with ContributionClient(target.url, target.token, 8) as client:
            runs = runs_in(Path(folder), with_unfinished=True)
            pushed = push(client, runs.runs, Terms(), lambda *_: None)
    except LossLakeError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    submitted = {run for run, state in pushed.states.items() if state.submission is not None}
    submitted |= set(pushed.submission.contributions) if pushed.submission is not None else set()
    sys.exit(0 if submitted == {run.id for run in runs.runs} and not pushed.failures else 1)


def accept_all(lake: str) -> None:
    database = Database.open(Lake.open(lake))
    for submission in list_submissions(database, "submitted").submissions:
        accept(database, submission.id, "me")


@dataclass
class Campaign:
    """A campaign. is_live: runs are sent while they train. check: called while no service runs.

    pace: what multiplies the times that trainings take, and those until something is killed, but not those between the
    faults beside them; below 1, no run falls silent.
    killed: how often what was killed. errors: what the service logged.
    """

    lake: Lake
    folder: Path
    trainings: int
    seed: int
    is_live: bool = False
    check: Callable[[], None] = lambda: None
    pace: float = 1.0
    killed: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    cuts: int = 0
    repeats: int = 0
    _pushers: list[Forked] = field(default_factory=list)
    _followers: list[Forked | None] = field(default_factory=list)

    @property
    def silences(self) -> int:
        """How often the service finished a run, as it was silent."""
        return sum(int(match[1]) for line in self.errors for match in SILENT.finditer(line))

    @property
    def faults(self) -> int:
        """How many faults there were, without those delays and acceptances that nobody counts."""
        return self.killed.total() + self.cuts + self.repeats + self.silences

    @cached_property
    def chance(self) -> random.Random:
        """Return what chooses the faults."""
        return random.Random(self.seed)

    def run(self) -> None:
        """Record, send and accept, while everything is disturbed."""
        self.folder.mkdir()
        settings: dict[str, Any] = LIVE_SETTINGS if self.is_live else {}
        token = create_token(Database.create(self.lake), "Ada", ADA, ["contribute"], 1)
        with running_service(self.lake, **settings) as service, disturbing_proxy(service.port, self.seed) as proxy:
            if self.is_live:
                proxy.share = LIVE_SHARE
            target = Target(f"http://127.0.0.1:{proxy.port}", token, self.is_live, self.pace)
            try:
                self._send(service, target)
            finally:
                self._end_senders()
                self.errors += service.errors
                self.cuts, self.repeats = proxy.cuts, proxy.repeats
        self._kill_now_and_then(accept_all, str(self.lake.folder))

    def _send(self, service: RunningService, target: Target) -> None:
        """Record and push all runs."""
        self._pushers = [Forked(push_until_stopped, target, str(self.folder)) for _ in range(PUSHERS)]
        self._followers = [self._follow(target, number) for number in range(FOLLOWERS if self.is_live else 0)]
        disturbing = self._disturb(service, target)
        with ThreadPoolExecutor(TRAININGS_AT_ONCE) as pool:
            numbers = range(1, self.trainings + 1)
            recording = [pool.submit(record, self.folder, number, target, self.killed) for number in numbers]
            while not all(each.done() for each in recording):
                time.sleep(0.5 + self.chance.random())  # at any pace: a service that lives shorter receives nothing
                next(disturbing)
        for each in recording:
            each.result()
        for _ in range(self._times):
            next(disturbing)
        (self.folder / "stop").touch()
        for pusher in self._pushers:
            pusher.wait(300)
        self._kill_now_and_then(push_the_rest, target, str(self.folder))

    @property
    def _times(self) -> int:
        return 1 if self.trainings < 10 else 3

    def _follow(self, target: Target, number: int) -> Forked:
        """Start a sender of all runs."""
        beside = self.folder.parent
        (beside / "token").write_text(target.token)
        arguments = ["live", self.folder, "--url", target.url, "--token-file", beside / "token"]
        return start_command(arguments, beside / f"follower-{number}.log")

    def _disturb(self, service: RunningService, target: Target) -> Iterator[None]:
        """At each step, kill the service, a client or a sender, and start it again."""
        while True:
            choice = self.chance.random()
            if choice < 0.5:
                service.kill()
                self.killed["service"] += 1
                self.check()
                service.start()
            elif choice < 0.7 or not self.is_live:
                number = self.chance.randrange(len(self._pushers))
                self._kill(self._pushers[number], "client")
                self._pushers[number] = Forked(push_until_stopped, target, str(self.folder))
            elif choice < 0.95:
                self._disturb_follower(target, self.chance.randrange(FOLLOWERS))
            else:
                self._kill_senders_of_trainings()
            yield

    def _disturb_follower(self, target: Target, number: int) -> None:
        """Kill a sender of all runs, and start it now or later."""
        follower = self._followers[number]
        if follower is not None:
            assert follower.is_running(), f"it has ended by itself, see follower-{number}.log"
            self._kill(follower, "sender")
        is_later = follower is not None and self.chance.random() < 0.5
        self._followers[number] = None if is_later else self._follow(target, number)

    def _kill(self, process: Forked, name: str) -> None:
        process.kill()
        self.killed[name] += process.wait(60) < 0

    def _kill_senders_of_trainings(self) -> None:
        """Kill the senders that trainings have started, some of which have outlived them."""
        for process in psutil.process_iter(["cmdline"]):
            command = process.info["cmdline"] or []
            if "--until-end" in command and any(part.startswith(f"{self.folder}/") for part in command):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
                    self.killed["sender"] += 1
                    process.wait(60)

    def _end_senders(self) -> None:
        """End what sends, so that nothing is written below the folder any more."""
        for process in (*self._pushers, *self._followers):
            if process is not None:
                process.kill()
                process.wait(60)
        self._kill_senders_of_trainings()

    def _kill_now_and_then(self, function: Callable[..., None], *arguments: object) -> None:
        """Run a function in processes that are killed some times, then until one ends well."""
        for _ in range(self._times):
            process = Forked(function, *arguments, may_start_others=True)
            time.sleep(self.chance.random() * 1.5 * self.pace)
            self._kill(process, function.__name__)
        for _ in range(30):
            if Forked(function, *arguments, may_start_others=True).wait(300) == 0:
                return
        raise AssertionError(f"{function} never ended well")
