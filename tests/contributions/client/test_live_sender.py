"""Sending of runs while they are recorded: seconds behind, nothing twice, whatever happens to the service."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import losslake.record
from losslake.client.client import RemoteError
from losslake.lake.lake import Lake
from losslake.record.layout import END, HEARTBEAT
from losslake.record.run import Run
from losslake_contributions.client import live_sender as sending
from losslake_contributions.client.connection import ContributionClient
from losslake_contributions.client.growing_run import GrowingRun
from losslake_contributions.client.live_sender import LiveSender, SenderCallbacks
from losslake_contributions.client.push import Terms, push
from losslake_contributions.live.reader import RunReader, RunState
from losslake_contributions.people.tokens import create_token, revoke_token
from losslake_contributions.protocol.contributions import HeldSegments
from losslake_contributions.protocol.pieces import HeldPieces
from losslake_contributions.store.database import Database
from losslake_schema.errors import LossLakeError
from tests.contributions.conftest import ADA
from tests.contributions.made_runs import runs_in
from tests.contributions.running import RunningService, running_service
from tests.contributions.spooled_runs import SpooledRun, rows
from tests.servers.processes import SECONDS, wait_until

PATH = "0001/000001.jsonl"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(Lake.create(tmp_path_factory.mktemp("live") / "lake"), live_seconds=0.1) as service:
        yield service


@pytest.fixture(scope="module")
def token(running: RunningService) -> str:
    return create_token(Database.open(running.lake), "Ada", ADA, ["contribute"], 1)


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let senders of this process look for new runs, and for a service that was gone, ten times a second."""
    monkeypatch.setattr(sending, "_SECONDS_BETWEEN_LOOKS", 0.1)
    monkeypatch.setattr(sending, "_LONGEST_PAUSE_S", 0.1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


@dataclass
class Following:
    """A sender in a thread, and what it told."""

    url: str
    token: str
    folder: Path
    until_still: bool = False
    began: list[str] = field(default_factory=list)
    links: list[str | None] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    error: BaseException | None = None

    def __enter__(self) -> Following:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def _run(self) -> None:
        def began(run: GrowingRun, link: str | None) -> None:
            self.began.append(run.id)
            self.links.append(link)

        told = SenderCallbacks(
            began,
            lambda run, status: self.ended.append(f"{run.id} {status}"),
            self.troubles.append,
        )
        try:
            with ContributionClient(self.url, self.token, tries=1) as client:
                LiveSender(client, self.folder, told).run(self._stop, self.until_still)
        except RemoteError as error:
            self.error = error

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self.wait()

    def wait(self) -> None:
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()


def start(folder: Path, **facts: object) -> Run:
    return losslake.record.start(
        **{"workload": "given/mnist/cnn/sgd", "batch_size": 64, "licence": "CC-BY-4.0", "folder": folder, **facts}  # type: ignore[arg-type]
    )


def held(service: RunningService, run: str) -> tuple[RunState, dict[int, float]]:
    """The state of a run in the service, and its losses by step."""
    reader = RunReader(Database.open(service.lake), run)
    state = reader.refresh()
    steps, values = reader.curves.curve("val/loss")
    return state, dict(zip(steps.tolist(), values.tolist(), strict=True))


def has_steps(service: RunningService, run: str, steps: range) -> bool:
    try:
        return list(held(service, run)[1]) == list(steps)
    except LossLakeError:
        return False


def log(run: Run, steps: range, scale: float = 1.0) -> None:
    for step in steps:
        run.log({"val/loss": scale / (step + 1)}, step=step)


def test_a_run_is_seen_while_it_trains_and_is_finished_at_its_end(
    running: RunningService, token: str, folder: Path
) -> None:
    with Following(running.url, token, folder) as following:
        run = start(folder)
        log(run, range(5))
        wait_until(lambda: has_steps(running, run.name, range(5)), "the first steps are held")
        assert held(running, run.name)[0].kind == "open"
        log(run, range(5, 9))
        wait_until(lambda: has_steps(running, run.name, range(9)), "all steps are held")
        run.finish()
        wait_until(lambda: bool(following.ended), "the end is sent")
    assert (following.began, following.ended, following.troubles) == ([run.name], [f"{run.name} COMPLETE"], [])
    file = folder / run.name / "live.url"
    assert file.read_text() == f"{following.links[0]}\n"
    assert (file.stat().st_mode & 0o777, f"{running.url}/live/" in file.read_text()) == (0o600, True)
    assert [path.name for path in file.parent.glob("live.url*")] == ["live.url"]
    assert held(running, run.name) == (held(running, run.name)[0], {step: 1 / (step + 1) for step in range(9)})
    with ContributionClient(running.url, token) as client:
        pushed = push(client, runs_in(folder).runs, Terms(), lambda *_: None)
    assert pushed.submission is not None, "a push finds everything there, and submits it"


def test_a_run_that_goes_on_after_its_end_is_sent_again(running: RunningService, token: str, folder: Path) -> None:
    with Following(running.url, token, folder) as following:
        run = start(folder)
        log(run, range(8))
        run.finish()
        wait_until(lambda: len(following.ended) == 1, "the first end is sent")
        again = start(folder, resume=run.name)
        again.rewind(5)
        log(again, range(5, 12), 3.0)
        wait_until(lambda: has_steps(running, run.name, range(12)), "the second attempt is held")
        again.finish()
        wait_until(lambda: len(following.ended) == 2, "the second end is sent")
    assert not following.troubles
    expected = {step: 1 / (step + 1) for step in range(5)} | {step: 3 / (step + 1) for step in range(5, 12)}
    assert held(running, run.name)[1] == expected


def test_segments_that_grow_no_more_are_sent_whole(running: RunningService, token: str, folder: Path) -> None:
    run = SpooledRun(segments={f"0001/{n:06d}.jsonl": rows(range(4 * n, 4 * n + 4)) for n in (1, 2, 3)})
    run.write(folder, is_finished=False)

    def are_whole() -> bool:
        with ContributionClient(running.url, token) as client:
            held = client.send("GET", f"v1/contributions/{run.id}/segments", HeldSegments).segments
        return [segment.n for segment in held] == [1, 2]

    with Following(running.url, token, folder):
        wait_until(lambda: has_steps(running, run.id, range(4, 16)), "everything is held")
        wait_until(are_whole, "the first two segments are held whole")


def test_a_service_that_is_gone_costs_nothing_but_delay(empty_lake: Lake, folder: Path) -> None:
    database = Database.create(empty_lake)
    token = create_token(database, "Ada", ADA, ["contribute"], 1)
    service = RunningService(empty_lake, settings={"live_seconds": 0.1})
    with Following(service.url, token, folder) as following:
        run = start(folder)
        log(run, range(4))
        wait_until(lambda: bool(following.troubles), "the trouble is told")
        service.start()
        wait_until(lambda: has_steps(service, run.name, range(4)), "what waited is held")
        service.kill()
        n_troubles = len(following.troubles)
        log(run, range(4, 8))
        wait_until(lambda: len(following.troubles) > n_troubles, "it is told again")
        service.start()
        wait_until(lambda: has_steps(service, run.name, range(8)), "what waited is held")
        run.finish()
        wait_until(lambda: bool(following.ended), "the end is sent")
    service.end()
    assert all("so it is sent later" in each for each in following.troubles)


def test_private_data_is_not_sent(running: RunningService, token: str, folder: Path) -> None:
    with Following(running.url, token, folder) as following:
        run = start(folder, notes="by someone@example.org", parameters={"data": "/home/someone/data", "lr": 0.1})
        log(run, range(3))
        wait_until(lambda: has_steps(running, run.name, range(3)), "the steps are held")
        run.log({"/home/someone/loss": 1.0}, step=3)
        run.finish()
        wait_until(lambda: bool(following.ended), "the end is sent")
    state = held(running, run.name)[0]
    text = state.facts.model_dump_json()
    assert "someone" not in text
    assert (state.kind, state.facts.parameters["lr"]) == ("finished", 0.1)
    files = [running.lake.store.read(each.path) for each in running.lake.store.list_files(f"contributions/{run.name}")]
    assert files
    assert not [data for data in files if b"someone" in bytes(data)]


def test_a_refused_token_ends_the_sender(running: RunningService, folder: Path) -> None:
    other = create_token(Database.open(running.lake), "Eve", None, ["contribute"], 1)
    revoke_token(Database.open(running.lake), other)
    start(folder).finish()
    with Following(running.url, other, folder) as following:
        following.wait()
    assert "revoked" in str(following.error)


def test_a_run_that_cannot_be_sent_does_not_hold_up_others(running: RunningService, token: str, folder: Path) -> None:
    odd, changed, good = (SpooledRun() for _ in range(3))
    shutil.move(odd.write(folder), folder / "renamed")
    changed.write(folder)
    (folder / changed.id / PATH).write_bytes(b"{}\n")
    with Following(running.url, token, folder) as following:
        good.write(folder)
        wait_until(lambda: bool(following.ended), "the good one is sent")
    assert following.ended == [f"{good.id} COMPLETE"]
    assert sorted(each.partition(" ")[0] for each in following.troubles) == sorted(["renamed", changed.id])


def test_it_ends_with_the_last_run(
    running: RunningService, token: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "SECONDS_TO_STOP", 0.3)
    SpooledRun().write(folder)
    killed = SpooledRun()
    killed.write(folder, is_finished=False)
    with Following(running.url, token, folder, until_still=True) as following:
        following.wait()
    assert len(following.ended) == 1
    assert has_steps(running, killed.id, range(12)), "of a training that was killed, everything is sent"


def test_another_process_sends_a_run_that_asks_for_it(
    running: RunningService,
    token: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LOSSLAKE_TOKEN", token)
    run = start(folder, live=running.url)
    assert run.url is None
    log(run, range(6))
    wait_until(lambda: has_steps(running, run.name, range(6)), "the steps are held")
    wait_until(lambda: "this run is shown at" in capsys.readouterr().err, "the link is printed")
    assert str(run.url).startswith(f"{running.url}/live/")
    run.finish()
    assert held(running, run.name)[0].kind == "finished", "the end waits until it is sent"
    assert f"sent         {run.name}: COMPLETE" in (folder / run.name / "live.log").read_text()


def test_a_sender_that_cannot_send_is_told_of_at_the_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("LOSSLAKE_TOKEN", raising=False)
    run = start(folder, live="http://127.0.0.1:1")
    log(run, range(2))
    run.finish()
    assert "there is no token" in caplog.text
    assert "'losslake push' sends it later" in caplog.text
    assert (folder / run.name / END).exists()


def test_only_whole_lines_are_sent(folder: Path) -> None:
    run = SpooledRun()
    path = run.write(folder, is_finished=False) / PATH
    data = path.read_bytes()
    path.write_bytes(data[:-5])
    growing = GrowingRun(path.parents[1], {})
    (piece,) = growing.pieces()
    assert piece.lines.encode() == data[: data.rindex(b"\n", 0, -1) + 1]


def test_nothing_of_a_segment_with_private_names_is_sent_live(folder: Path) -> None:
    place = SpooledRun().write(folder, is_finished=False)
    growing = GrowingRun(place, {})
    (piece,) = growing.pieces()
    growing.hold(HeldPieces(run=growing.id, attempt=1, n=1, bytes=len(piece.lines), is_whole=False))
    with (place / PATH).open("a") as file:
        file.write('{"step": 99, "/home/someone/loss": 1.0}\n')
    assert [list(growing.pieces()), list(growing.pieces())] == [[], []]


def test_a_heartbeat_is_a_sign_of_life_once(folder: Path) -> None:
    place = SpooledRun().write(folder, is_finished=False)
    growing = GrowingRun(place, {})
    assert not growing.is_alive(), "no recorder beats there"
    (place / HEARTBEAT).touch()
    assert [growing.is_alive(), growing.is_alive()] == [True, False]
    os.utime(place / HEARTBEAT, (1, 1))
    assert growing.is_alive(), "clocks of machines may differ"


def test_the_recorder_beats_though_nothing_is_logged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("losslake.record.spool.SECONDS_BETWEEN_BEATS", 0.05)
    run = start(folder)
    beat = folder / run.name / HEARTBEAT
    wait_until(beat.exists, "it beats")
    first = beat.stat().st_mtime_ns
    wait_until(lambda: beat.stat().st_mtime_ns != first, "it beats again")
    run.finish()
    assert json.loads((folder / run.name / END).read_text())["segments"] == {}


def test_a_sender_imports_no_reader_of_logs() -> None:
    heavy = "{'duckdb', 'polars', 'pandas'}"
    code = f"import losslake_contributions.client.live_sender, sys; print({heavy}.intersection(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == "set()", "beside a training, each takes memory"
