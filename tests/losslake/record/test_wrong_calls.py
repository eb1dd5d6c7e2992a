"""Two hundred wrong calls: none raises, and what isn't recorded is counted and named."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from losslake.record.run import Run
from tests.losslake.record.runs import curve, end, lines, place


class Hostile:
    """An object all of whose methods raise."""

    def _fail(self, *_: object) -> Any:
        raise RuntimeError("hostile")

    __float__ = __index__ = __bool__ = __repr__ = __str__ = __len__ = __iter__ = __eq__ = _fail
    item = _fail
    __hash__ = object.__hash__


class HostileMapping(Mapping[str, float]):
    def __getitem__(self, name: str) -> float:
        raise RuntimeError(name)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("iter")

    def __len__(self) -> int:
        raise RuntimeError("len")


class HostileName(str):
    def __eq__(self, _: object) -> bool:
        raise RuntimeError("eq")

    __hash__ = str.__hash__


LOOP: dict[str, Any] = {"a": 1.0}
LOOP["loop"] = LOOP
VALUES: list[Any] = [
    None, 0.5, "train/loss", [("train/loss", 1.0)], object(), Hostile(), HostileMapping(), {"train/loss": None},
    {"train/loss": "0.5"}, {"train/loss": Hostile()}, {"train/loss": [1, 2]}, {"train/loss": np.zeros(3)}, {"": 1.0},
    {None: 1.0}, {("a", "b"): 1.0}, {HostileName("train/loss"): 1.0}, LOOP, {"train/loss": 10**400}, {"x" * 10**6: 1.0},
]  # fmt: skip
STEPS: list[Any] = [None, 5, -1, 1.5, "5", True, float("nan"), float("inf"), 2**60, Hostile(), [1], {}, np.int64(7)]
REST: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1, True, 3), {}), ((), {}), ((), {"data": {"train/loss": 1.0}}), ((), {"loss": 0.5}), ((), {"sync": True}),
    ((), {"commit": True}), ((), {"commit": Hostile(), "step": 1}), ((5,), {"step": 6}), ((), {"self": 1}),
]  # fmt: skip


def wrong_calls() -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Methods with arguments, by position and by keyword."""
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
    for number, (values, step) in enumerate(itertools.product(VALUES, STEPS)):
        if number % 2:
            calls.append(("log", (values, step), {}))
        else:
            calls.append(("log", (values,), {"step": step}))
    for others, named in REST:
        calls += [(method, others, named) for method in ("log", "rewind")]
        calls += [("log", ({"train/loss": 1.0}, *others), named)]
    calls += [("rewind", (step,), {}) for step in STEPS]
    return calls


def test_wrong_calls_raise_nothing_and_lose_nothing_silently(
    started: Callable[..., Run], caplog: pytest.LogCaptureFixture
) -> None:
    calls = wrong_calls()
    assert len(calls) > 200
    for method, others, named in calls:
        run = started()
        getattr(run, method)(*others, **named)
        run.finish()
        n_recorded = sum(len(values) for values in curve(place(run)).values())
        known = end(place(run))
        counted = run.n_dropped + run.n_left_out
        listed = sum(row["n"] for key in ("gaps", "left_out") for row in known.get(key, []))
        assert counted == listed == known["n_dropped"] + run.n_left_out
        if method == "log":
            assert n_recorded + counted >= 1, (others, named)
        assert (known["status"] == "COMPLETE") == (run.n_dropped == 0)
        assert not counted or caplog.messages
        assert not any("\n" in message for message in caplog.messages)
        caplog.clear()


@pytest.mark.parametrize(
    ("others", "named", "status"),
    [
        ((1, 2, 3), {}, "INCOMPLETE"),
        ((Hostile(),), {}, "INCOMPLETE"),
        ((np.zeros(2),), {}, "INCOMPLETE"),
        ((None,), {}, "INCOMPLETE"),
        ((), {"status": "INFEASIBLE"}, "INFEASIBLE"),
        ((), {"exit_code": 0}, "COMPLETE"),
        ((), {"exit_code": 1}, "INCOMPLETE"),
        ((), {"quiet": True}, "COMPLETE"),
    ],
)
def test_wrong_ends_raise_nothing(
    started: Callable[..., Run], others: tuple[Any, ...], named: dict[str, Any], status: str
) -> None:
    run = started()
    run.finish(*others, **named)
    run.finish(*others, **named)
    run.log(None)
    run.rewind(object())
    assert end(place(run))["status"] == status


def test_each_kind_of_wrong_argument_is_warned_of_once(
    started: Callable[..., Run], caplog: pytest.LogCaptureFixture
) -> None:
    run = started()
    for step in range(100):
        run.log({"train/loss": None, "val/loss": [1]}, step, sync=True)
        run.log({"val/loss": 1.0}, step=f"{step}")
    run.finish()
    *warnings, of_gaps, of_left_out = caplog.messages
    assert len(warnings) == 4
    assert "the step '0' isn't a whole number from 0 to 2^53 - 1: val/loss of this call" in caplog.text
    assert "log() ignores arguments that it doesn't have: sync" in caplog.text
    assert "100 measurements (not a step" in of_gaps
    assert "100 of train/loss (None), 100 of val/loss (list)" in of_left_out


def test_nested_values_are_joined_by_dots_and_settled(started: Callable[..., Run]) -> None:
    run = started()
    run.log({"val": {"loss": 1.0, "acc": 0.5, "deep": {"er": 2}}, "other": {"x": None}}, step=1)
    run.finish()
    assert curve(place(run)) == {"val/loss": {1: 1.0}, "val/accuracy": {1: 0.5}, "val.deep.er": {1: 2.0}}
    assert [row["name"] for row in end(place(run))["left_out"]] == ["other.x"]


def counted(run: Run) -> list[tuple[int, bool]]:
    """The step of each line, and True if it counts calls."""
    return [(line["step"], "_step" in line) for _, _, line in lines(place(run))]


def test_steps_without_a_number_are_counted_as_by_wandb(
    started: Callable[..., Run], caplog: pytest.LogCaptureFixture
) -> None:
    """W&B: a call without a step or with commit=True goes on, others stay; a step that is given is stayed at."""
    run = started()
    run.log({"train/loss": 1.0})
    run.log({"train/loss": 1.0}, commit=False)
    run.log({"val/loss": 1.0})
    run.log({"train/loss": 1.0}, 10)
    run.log({"val/loss": 1.0})
    run.log({"train/loss": 1.0})
    run.log({"train/loss": 1.0}, step=20, commit=True)
    run.log({"train/loss": 1.0}, None, True)
    run.finish()
    steps = [(0, True), (1, True), (1, True), (10, False), (10, False), (11, True), (20, False), (21, True)]
    assert counted(run) == steps
    assert end(place(run))["steps_counted"] == "calls"
    assert [text for text in caplog.messages if "0 is a count of calls of log" in text] == caplog.messages


def test_counted_steps_go_on_after_a_resume_and_a_rewind(started: Callable[..., Run]) -> None:
    first = started()
    for _ in range(5):
        first.log({"train/loss": 1.0})
    first.finish()
    second = started(resume=first.name)
    second.log({"train/loss": 2.0})
    second.rewind(3)
    second.log({"train/loss": 3.0})
    second.finish()
    assert curve(place(second)) == {"train/loss": {0: 1.0, 1: 1.0, 2: 1.0, 3: 3.0}}


def test_counted_steps_are_updates_if_their_number_is_given(started: Callable[..., Run]) -> None:
    run = started(updates_per_log=50)
    for _ in range(3):
        run.log({"train/loss": 1.0}, commit=False)
        run.log({"val/loss": 1.0})
    run.finish()
    assert counted(run) == [(step, False) for step in (50, 50, 100, 100, 150, 150)]
    assert "steps_counted" not in end(place(run))
    with pytest.raises(ValueError, match=r"^updates_per_log 0: give a whole number"):
        started(updates_per_log=0)
