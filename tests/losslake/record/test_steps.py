"""Steps that don't count updates: those of each epoch, of a rollback that nobody announced, and of epochs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from losslake.record import writer as writing
from losslake.record.run import Run
from tests.losslake.record.runs import curve, end, place


def test_steps_that_go_back_too_often_are_counted(started: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MOST_ASSUMED_REWINDS", 2)
    run = started()
    for step in (5, 4, 3, 2, 6):
        run.log({"train/loss": 1.0}, step=step)
    run.finish()
    assert sorted(curve(place(run))["train/loss"]) == [3, 6]
    assert (end(place(run))["assumed_rewinds"], end(place(run))["n_dropped"]) == (2, 1)


def test_a_step_of_each_epoch_is_warned_of_and_not_complete(
    started: Callable[..., Run], caplog: pytest.LogCaptureFixture
) -> None:
    run = started()
    for epoch in range(3):
        for step in range(100):
            run.log({"train/loss": 1.0 / (1 + epoch)}, step=step)
    run.finish()
    known = end(place(run))
    assert (known["status"], known["assumed_rewinds"], known["began_again"]) == ("INCOMPLETE", 2, 2)
    (warning,) = caplog.messages
    assert "step 0 is where the run began" in warning
    assert "log the number of updates so far as step" in warning


@pytest.mark.parametrize("first", [2, 50])
def test_a_step_below_others_is_warned_of_and_not_complete_unless_announced(
    started: Callable[..., Run], caplog: pytest.LogCaptureFixture, first: int
) -> None:
    for announce in (None, lambda run: run.rewind(first), lambda run: run.rewind()):
        caplog.clear()
        run = started()
        for step in range(1, 100):
            run.log({"train/loss": 1.0}, step=step)
        if announce is not None:
            announce(run)
        for step in range(first, 100):
            run.log({"train/loss": 2.0}, step=step)
        run.finish()
        assert curve(place(run)) == {"train/loss": {step: 1.0 if step < first else 2.0 for step in range(1, 100)}}
        assert end(place(run))["status"] == ("INCOMPLETE" if announce is None else "COMPLETE")
        assert len(caplog.messages) == (announce is None)
        assert all(
            f"call run.rewind({first}) before" in text and "log the number of updates" in text
            for text in caplog.messages
        )


def test_a_metric_logged_by_epoch_is_warned_of_and_not_complete(
    started: Callable[..., Run], caplog: pytest.LogCaptureFixture
) -> None:
    for begin in (0, 1):
        caplog.clear()
        run = started()
        for epoch in range(3):
            for step in range(100):
                run.log({"train/loss": 1.0}, step=100 * epoch + step + begin)
            run.log({"val/loss": 0.5}, step=epoch + begin)
        run.finish()
        known = end(place(run))
        assert (known["status"], known["other_counters"]) == ("INCOMPLETE", ["val/loss"])
        (warning,) = caplog.messages
        assert warning.startswith(f"val/loss is at steps {begin} and {begin + 1}, while other metrics are at")


@pytest.mark.parametrize("behind", [1, 7, 30])
def test_an_evaluation_behind_the_training_is_complete(started: Callable[..., Run], behind: int) -> None:
    run = started()
    for step in range(1, 200):
        run.log({"train/loss": 1.0}, step=step)
        if step > behind and not step % 10:
            run.log({"val/loss": 0.5}, step=step - behind)
        if step > behind:
            run.log({"test/loss": 0.5}, step=step - behind)
    run.finish()
    assert end(place(run))["status"] == "COMPLETE"
