"""`serve` prints questions that work, ends in good order, replaces workers that die, and fails in one line."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from losslake_schema.errors import LakeBroken, LossLakeError, UnknownRelease
from losslake_service import serve as module
from losslake_service.serve import serve
from losslake_service.settings import Settings
from tests.forked import Forked
from tests.losslake.questions.release.test_releases import publish_a_better_trial
from tests.made_up_lake import write_small_archive
from tests.servers.processes import SECONDS, wait_until
from tests.service.running import Running, metric, served, wait_until_in_flight, wait_until_refused

SLOW_BYTES = 100


def wait_until_counted(running: Running, path: str, n_requests: int) -> None:
    """An answer is counted just after it was sent."""
    name = f'losslake_requests_total{{method="GET",route="{path}",status="200"}}'
    wait_until(lambda: metric(running, name) == n_requests, f"{n_requests} answers are counted")


@pytest.mark.parametrize(
    ("workers", "end"), [(1, signal.SIGTERM), pytest.param(2, signal.SIGINT, marks=pytest.mark.slow)]
)
def test_printed_examples_work_and_sigterm_finishes_running_requests_only(
    lake: Lake, tmp_path: Path, workers: int, end: signal.Signals
) -> None:
    with served(tmp_path, lake=str(lake.folder), workers=workers) as running:
        assert len(running.urls) == 3
        answers = [json.load(urlopen(url, timeout=SECONDS)) for url in running.urls]
        assert all(answer["rows"] for answer in answers)
        assert any(row["steps"] is not None for row in answers[0]["rows"])
        slow = HTTPConnection("127.0.0.1", running.port, timeout=SECONDS)
        slow.request("GET", "/slow")
        response = slow.getresponse()
        assert response.read(10) == b"        0\n"
        running.process.send_signal(end)
        wait_until_refused(running.port)
        assert len(response.read()) == SLOW_BYTES - 10
        assert running.process.wait(SECONDS) == 0
    requests = [line for line in running.lines if "path" in line]
    assert [line["status"] for line in requests] == [200] * 4
    assert [line["bytes"] for line in requests if line["path"] == "/slow"] == [SLOW_BYTES]
    assert {line["level"] for line in running.lines} == {"info"}
    assert not [line for line in running.lines if "traceback" in line]


@pytest.mark.parametrize("end", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_the_command_writes_only_its_log_until_it_has_ended(lake: Lake, end: signal.Signals) -> None:
    # A process of its own: DuckDB's bindings look at what is left when Python itself ends, which a fork skips.
    command = [sys.executable, "-m", "losslake", "serve", "--lake", str(lake.folder), "--port", "0"]
    environment = {**os.environ, "LOSSLAKE_LOG_FORMAT": "json", "LOSSLAKE_SQL_ENABLED": "false"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            url = next(line.strip() for line in process.stdout if line.startswith("  http"))
            urlopen(url, timeout=SECONDS).close()
            process.send_signal(end)
            _, errors = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
    assert process.returncode == 0
    assert [line for line in errors.splitlines() if "level" not in json.loads(line)] == []


def serve_and_terminate(place: str, settings: dict[str, Any]) -> None:
    """Serve a lake, and get SIGTERM where the service calls a function of its module."""
    function = getattr(module, place)

    def terminated(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return function(*arguments)

    setattr(module, place, terminated)
    serve(Settings.model_validate({"port": 0, "sql_enabled": False, **settings}))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("place", ["delivery_of", "configure_logging", "_config"])
def test_sigterm_ends_a_service_that_is_starting(lake: Lake, place: str, workers: int) -> None:
    settings = {"lake": str(lake.folder), "workers": workers}
    process = Forked(serve_and_terminate, place, settings, may_start_others=True)
    try:
        assert process.wait(SECONDS) == 0
    finally:
        process.kill()


def test_requests_beyond_shutdown_seconds_are_aborted(lake: Lake, tmp_path: Path) -> None:
    with (
        served(tmp_path, lake=str(lake.folder), shutdown_seconds=1, request_seconds=600) as running,
        socket.create_connection(("127.0.0.1", running.port)) as waiting,
    ):
        waiting.sendall(b"POST /v1/scaling HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n")
        wait_until_in_flight(running, 1)
        running.process.terminate()
        assert running.process.wait(SECONDS) == 0


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake of its own for a service that another release comes to."""
    folder = tmp_path_factory.mktemp("growing")
    lake = Lake.create(folder / "lake")
    ingest(lake, [write_small_archive(folder)])
    return lake


# Two workers take seconds to start: what one test leaves running is what the next begins with, and it ends it.
@pytest.fixture(scope="module")
def of_two_workers(growing: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("two workers")
    with served(folder, lake=str(growing.folder), workers=2, seconds_between_looks=0.1) as running:
        yield running


@pytest.mark.slow
def test_a_new_release_fails_no_request_and_no_connection_goes_back(
    growing: Lake, of_two_workers: Running, tmp_path: Path
) -> None:
    done = threading.Event()
    path = "/v1/scaling?workload=small/mnist/cnn/sgd&metric=val/classification_error&target=0.3"
    steps = {1: 10, 2: 5}

    seen: list[list[int]] = [[] for _ in range(4)]

    def query_repeatedly(port: int, releases: list[int]) -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        while not done.is_set():
            connection.request("GET", path)
            response = connection.getresponse()
            answer = json.load(response)
            assert response.status == 200
            assert answer["rows"][0]["steps"] == steps[answer["release"]]
            releases.append(answer["release"])

    def wait_until_all_have_seen(release: int) -> None:
        def all_have() -> bool:
            assert not any(future.done() for future in asking)
            return all(releases[-1:] == [release] for releases in seen)

        wait_until(all_have, f"all have seen release {release}")

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(query_repeatedly, of_two_workers.port, releases) for releases in seen]
        try:
            wait_until_all_have_seen(1)
            publish_a_better_trial(growing, tmp_path)
            wait_until_all_have_seen(2)
        finally:
            done.set()
            for future in asking:
                future.result(SECONDS)
    for releases in seen:
        assert releases == sorted(releases)


@pytest.mark.slow
def test_killed_worker_is_replaced_and_its_counters_stay(of_two_workers: Running) -> None:
    running = of_two_workers

    def process() -> int:
        with urlopen(f"{running.url}/process", timeout=SECONDS) as response:
            return int(response.read())

    seen = [process() for _ in range(20)]
    wait_until_counted(running, "/process", len(seen))
    victim = seen[-1]
    os.kill(victim, signal.SIGKILL)

    def are_two_besides() -> bool:
        seen.append(process())
        return len(set(seen) - {victim}) == 2

    wait_until(are_two_besides, "two other workers answer")
    assert victim not in seen[20:]
    wait_until_counted(running, "/process", len(seen))
    with urlopen(f"{running.url}/metrics", timeout=SECONDS) as response:
        assert b"losslake_workers 2.0" in response.read()
    running.process.terminate()
    assert running.process.wait(SECONDS) == 0
    running.wait_for_lines()
    assert [line["message"].split(":")[0] for line in running.lines if line["level"] == "warning"] == [
        f"worker {victim} died or hung"
    ]


@pytest.mark.slow
def test_workers_end_when_the_process_that_started_them_is_killed(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whoever is killed leaves the folder of its metrics.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with served(tmp_path, lake=str(lake.folder), workers=2) as running:
        urlopen(f"{running.url}/process", timeout=SECONDS).close()
        running.process.kill()
        running.process.wait(SECONDS)
        wait_until_refused(running.port)


def test_port_in_use_is_a_one_line_error(lake: Lake) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = f"can't listen on 127.0.0.1:{port} (Address already in use): give another --host or --port"
        with pytest.raises(LossLakeError, match=f"^{re.escape(message)}$"):
            serve(Settings(lake=str(lake.folder), port=port))


def test_unknown_host_is_a_one_line_error(lake: Lake) -> None:
    with pytest.raises(LossLakeError, match=r"can't listen on no\.such\.invalid:1 \("):
        serve(Settings(lake=str(lake.folder), host="no.such.invalid", port=1, allowed_hosts=("a.example",)))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_root_is_refused_where_other_machines_can_connect(
    lake: Lake, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    with pytest.raises(LossLakeError, match=f"run as root, and other machines can connect to {host}: .* --allow-root"):
        serve(Settings(lake=str(lake.folder), host=host, port=0, allowed_hosts=("a.example",)))


@pytest.mark.parametrize(
    "settings", [{}, {"host": "localhost"}, {"host": "0.0.0.0", "allow_root": True, "allowed_hosts": ("a.example",)}]
)
def test_root_is_warned_on_loopback_and_where_it_is_allowed(
    lake: Lake, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    monkeypatch.setattr("losslake_service.serve.configure_logging", lambda _: None)
    serve(Settings(lake=str(lake.folder), port=0, **settings))
    assert "the service runs as root" in caplog.text


def test_a_lake_without_a_release_can_t_be_served(tmp_path: Path) -> None:
    Lake.create(tmp_path / "empty")
    with pytest.raises(UnknownRelease, match="ingest something first"):
        serve(Settings(lake=str(tmp_path / "empty"), port=0))


def test_serving_files_that_cannot_be_built_end_the_service(
    tmp_path: Path, small_archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake.create(tmp_path / "lake")
    ingest(lake, [small_archive])
    next((lake.folder / "warehouse" / "losslake" / "trials").rglob("*.parquet")).unlink()
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: threading.Event().wait(SECONDS))
    monkeypatch.setattr("losslake_service.serve.configure_logging", lambda _: None)
    with pytest.raises(LakeBroken, match="is missing"):
        serve(Settings(lake=str(lake.folder), port=0))
