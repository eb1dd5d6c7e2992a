"""A service of a test's that doesn't start, or doesn't end, is killed, and the test says so."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.service import running


@pytest.fixture(autouse=True)
def nothing_is_left() -> Any:
    before = {process.pid for process in multiprocessing.active_children()}
    yield
    assert {process.pid for process in multiprocessing.active_children()} <= before


def silent(folder: Path, settings: Mapping[str, Any]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def broken(folder: Path, settings: Mapping[str, Any]) -> None:
    sys.exit("no lake")


def deaf(folder: Path, settings: Mapping[str, Any]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("LossLake serves release 1", *3 * ["  http://127.0.0.1:1/"], sep="\n", flush=True)
    time.sleep(600)


def test_a_service_that_gives_no_greeting_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_serve", silent)
    monkeypatch.setattr(running, "SECONDS", 0.2)
    with pytest.raises(AssertionError, match="gave no greeting"), running.served(tmp_path):
        pass


def test_a_service_that_ends_at_once_fails_with_its_complaint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_serve", broken)
    with pytest.raises(AssertionError, match="no lake"), running.served(tmp_path):
        pass


def test_a_service_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_serve", deaf)
    monkeypatch.setattr(forked, "SECONDS_TO_END", 0.2)
    with pytest.raises(AssertionError, match="was still running"), running.served(tmp_path) as service:
        assert service.url == "http://127.0.0.1:1"
