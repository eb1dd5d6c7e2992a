"""While its disk is slow or full, a training goes on, and says what can't be stored."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import pytest

from losslake.record.run import Run
from losslake.record.spool import Spool
from tests.losslake.record.runs import curve, end, place
from tests.servers.processes import wait_until


class SlowDisk(Spool):
    """A spool whose disk waits until the test lets it go."""

    gate = threading.Event()

    def append(self, text: bytes) -> bool:
        self.gate.wait()
        return super().append(text)


def test_full_queue_drops_and_states_the_steps(started: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("losslake.record.run.Spool", SlowDisk)
    monkeypatch.setattr("losslake.record.run.MOST_QUEUED", 50)
    SlowDisk.gate.clear()
    run = started()
    n_calls = CALLS
    for step in range(n_calls):
        run.log({"train/loss": 1.0}, step=step)
    SlowDisk.gate.set()
    run.finish()
    known = end(place(run))
    steps = sorted(curve(place(run))["train/loss"])
    (gap,) = known["gaps"]
    assert known["status"] == "INCOMPLETE"
    missing = sorted(set(range(n_calls)) - set(steps))
    assert missing
    assert steps[-1] == n_calls - 1  # the latest call is kept beside the full queue
    assert gap["reason"] == "the queue was full"
    assert (gap["n"], gap["first_step"], gap["last_step"]) == (len(missing), missing[0], missing[-1])
    assert run.n_dropped == gap["n"] == known["n_dropped"]


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no such signal here")
def test_value_that_a_signal_handler_finishes_with_is_stored_beside_a_full_queue(
    started: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("losslake.record.run.Spool", SlowDisk)
    monkeypatch.setattr("losslake.record.run.MOST_QUEUED", 50)
    SlowDisk.gate.clear()
    run = started()
    fill(run)

    def stop(*_: object) -> None:
        run.log({"val/loss": 0.5}, step=CALLS)
        SlowDisk.gate.set()
        run.finish("INFEASIBLE")

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    known, stored = end(place(run)), curve(place(run))
    assert stored["val/loss"] == {CALLS: 0.5}
    assert len(stored["train/loss"]) + known["n_dropped"] == CALLS
    assert known["gaps"][0]["last_step"] == CALLS - 1
    assert known["status"] == "INFEASIBLE"


@pytest.mark.parametrize("next_call", ["log", "rewind"])
def test_call_kept_beside_a_full_queue_comes_before_the_next(
    started: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, next_call: str
) -> None:
    monkeypatch.setattr("losslake.record.run.Spool", SlowDisk)
    monkeypatch.setattr("losslake.record.run.MOST_QUEUED", 50)
    SlowDisk.gate.clear()
    run = started()
    fill(run)
    SlowDisk.gate.set()
    wait_until(lambda: not run._queue, "the queue is written")
    if next_call == "rewind":
        run.rewind(CALLS)
    run.log({"train/loss": 9.0}, step=CALLS)
    run.finish()
    stored = curve(place(run))["train/loss"]
    assert sorted(stored)[-2:] == [CALLS - 1, CALLS]
    assert len(stored) + run.n_dropped == CALLS + 1
    assert "assumed_rewinds" not in end(place(run))


CALLS = 3_000  # more than the thread takes at once, and a queue of 50


def fill(run: Run) -> None:
    """Log values of a metric until the queue is full, beside a disk that waits."""
    for step in range(CALLS):
        run.log({"train/loss": 1.0}, step=step)


class FullDisk(Spool):
    """A spool whose disk is full at first, in the middle of a line."""

    left = 3

    def append(self, text: bytes) -> bool:
        if FullDisk.left:
            FullDisk.left -= 1
            file = self._open()
            file.write(text[: len(text) // 2])
            self._take_back(file)
            raise OSError(28, "No space left on device")
        return super().append(text)


def test_full_disk_is_tried_again_and_nothing_is_lost(
    started: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("losslake.record.run.Spool", FullDisk)
    FullDisk.left = 3
    with started() as run:
        for step in range(100):
            run.log({"train/loss": float(step)}, step=step)
    assert curve(place(run)) == {"train/loss": {step: float(step) for step in range(100)}}
    assert end(place(run))["status"] == "COMPLETE"
