"""Workers that can't start say why in the log, and are started again after growing pauses."""

from __future__ import annotations

import logging
from functools import partial

import pytest
from fastapi.testclient import TestClient

from losslake.lake.lake import Lake
from losslake_service.app import create_app
from losslake_service.routes import sql_statements
from losslake_service.sandbox import sandbox, workers
from losslake_service.sandbox.errors import UNAVAILABLE, unavailable
from losslake_service.sandbox.sandbox import SqlSandbox, _StartFailure
from losslake_service.settings import Settings
from tests.servers.processes import wait_until
from tests.service.sandbox.sandbox_client import SMALL, SandboxClient

FAILING = "tests.service.sandbox.failing_worker"
HANGING = "tests.service.sandbox.hanging_worker"


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each start of a process is added."""
    started: list[str] = []

    class Counted(workers.Worker):
        def __init__(self, program: str) -> None:
            started.append(program)
            super().__init__(program)

    monkeypatch.setattr(sandbox, "Worker", Counted)
    return started


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock by which a sandbox waits before it starts a worker again."""
    stopped = Clock()
    monkeypatch.setattr(sandbox, "time", stopped)
    return stopped


def test_a_worker_that_cannot_start_is_told_and_logged_and_not_started_for_each_request(
    lake: Lake, starts: list[str], clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    client = SandboxClient(lake, SMALL, FAILING)
    try:
        with caplog.at_level(logging.ERROR):
            problems = [client.fails("SELECT 1") for _ in range(50)]
    finally:
        client.sandbox.close()
    assert {problem.kind for problem in problems} == {UNAVAILABLE}
    assert {problem.detail for problem in problems} == {
        "the service can't run SQL on this release now (its worker can't start: exit status 1): tell the operator"
    }
    assert all(problem.retry_after == 1 for problem in problems[1:])
    assert len(starts) == 2  # the worker and its spare
    assert "can't load /srv/secret/libduckdb.so" in caplog.text


@pytest.mark.slow
def test_workers_are_started_again_after_the_pause(lake: Lake, starts: list[str], clock: Clock) -> None:
    client = SandboxClient(lake, SMALL, FAILING)
    try:
        client.fails("SELECT 1")
        client.sandbox._program = workers.PROGRAM
        clock.now += 1
        client.outcome("SELECT 1")  # the spare, which had failed too
        clock.now += 2
        assert client("SELECT 1 AS a") == [{"a": 1}]
        n_starts = len(starts)
        assert client("SELECT 2 AS a") == [{"a": 2}]
        assert len(starts) == n_starts
    finally:
        client.sandbox.close()


def test_a_system_without_room_for_a_process_is_told(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("subprocess.Popen", refuse)
    client = SandboxClient(lake, SMALL)
    assert "(its worker can't start: Resource temporarily unavailable)" in client.fails("SELECT 1").detail
    client.sandbox.close()


def test_a_service_ends_while_its_workers_start_and_logs_no_error(
    lake: Lake, starts: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sql_statements, "SqlSandbox", partial(SqlSandbox, program=HANGING))
    with TestClient(create_app(lake, Settings.model_construct(log_format="off", sql_workers=2))) as client:
        wait_until(lambda: len(starts) == 3, "two workers and a spare are starting")
        assert client.get("/healthz").status_code == 200
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_pauses_double_up_to_a_minute(clock: Clock) -> None:
    failure = None
    pauses = []
    for _ in range(8):
        failure = _StartFailure.after(failure, unavailable())
        pauses.append(failure.seconds)
        assert _StartFailure.after(failure, unavailable()) is failure
        clock.now += failure.seconds
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
