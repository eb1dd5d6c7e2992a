"""Senders of live runs are asked to wait so long that all of them together are answered in time."""

from __future__ import annotations

import heapq
import time
from itertools import pairwise

import pytest

from losslake_contributions.intake.piece_routes import Pace


def requests_per_second(
    monkeypatch: pytest.MonkeyPatch, n_senders: int, took: float, seconds: float = 60.0
) -> tuple[float, float]:
    """Simulate senders whose requests take so long; return their rate and their last pause in the second half."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    pace, pause, answered = Pace(1.0), 0.0, 0
    answers = [(took + number / n_senders, number) for number in range(n_senders)]
    heapq.heapify(answers)
    while answers[0][0] < seconds:
        now, number = heapq.heappop(answers)
        answered += now > seconds / 2
        pause = pace.next(took)
        heapq.heappush(answers, (now + pause + took, number))
    return answered / (seconds / 2), pause


def test_few_senders_wait_as_long_as_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert requests_per_second(monkeypatch, 10, 0.01)[1] == 1.0


def test_many_senders_wait_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    rate, pause = requests_per_second(monkeypatch, 150, 0.01)
    assert rate == pytest.approx(80, abs=4)
    assert pause == pytest.approx(1.875, abs=0.2)


def test_a_late_service_gets_as_much_time_without_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    assert requests_per_second(monkeypatch, 10, 2.0)[1] == 2.0


def test_senders_that_wait_for_answers_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a service that is late would ask for more requests, and be later."""
    assert requests_per_second(monkeypatch, 150, 2.0)[1] == pytest.approx(1.875, abs=0.2)


def test_senders_that_come_together_are_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 5.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    pace, times = Pace(1.0), []
    for _ in range(100):
        times.append(now + pace.next(0.01))
        now += 0.001
    apart = [after - before for before, after in pairwise(times)]
    assert apart == pytest.approx([1 / 80] * 99, abs=0.002)


def test_a_host_may_ask_for_longer_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 5.0)
    assert Pace(10.0).next(0.01) == 10.0


def test_nobody_waits_so_long_that_a_lag_is_above_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert requests_per_second(monkeypatch, 1000, 0.01)[1] == 2.5
