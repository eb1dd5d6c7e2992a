"""Answers about times say on what they were measured, and which can't be right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from losslake.questions import advice, compare, scaling, steps_to_target, time_cost
from losslake.questions.trials.selection import Goal, Selection
from tests.losslake.questions.trials.test_measure import timed
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of
from tests.oracle import Row

SELECTED = Selection((WORKLOAD,), METRIC)
System = Callable[[Any, int], str | None]


def attributes_of(system_of: System) -> Callable[[Any, int], dict[str, str]]:
    def attributes(workload: Any, trial: int) -> dict[str, str]:
        system = system_of(workload, trial)
        return {} if system is None else {"system": f'"{system}"', "accelerator": f'"chip of {system}"'}

    return attributes


def test_times_that_fall_as_steps_rise_are_said_to_be_doubtful() -> None:
    """A clock that starts anew when training is resumed makes a trial look fast."""
    resumed = [
        Row(8, 1, "COMPLETE", 10, 0.9, 100.0),
        Row(8, 1, "COMPLETE", 20, 0.7, 200.0),
        Row(8, 1, "COMPLETE", 30, 0.4, 5.0),
    ]
    said = "in 1 of the trials that reached the target, an evaluation has an earlier time than one at a smaller step"
    view = view_of([*resumed, *timed(8, 2, 100, 50.0)])
    for question in (scaling.QUESTION, steps_to_target.QUESTION, compare.QUESTION):
        warnings = answer_to(question, view, SELECTED, Goal(0.5), measure="seconds").facts["warnings"]
        assert [text for text in warnings if f"{WORKLOAD}: {said}: their seconds may be wrong" in text]
        assert said not in str(answer_to(question, view, SELECTED, Goal(0.5)).facts["warnings"])
    never = answer_to(scaling.QUESTION, view, SELECTED, Goal(0.1), measure="seconds")
    assert said not in str(never.facts["warnings"])


@pytest.mark.parametrize(
    ("system_of", "said"),
    [
        (lambda _, __: "a", None),
        (lambda workload, _: workload.optimizer, "Adam ran on adam and SGD ran on sgd"),
        (lambda _, trial: f"{trial}", "Adam ran on 6 systems and SGD ran on 6 systems"),
        (
            lambda _, trial: "a" if trial > 1 else None,
            "Adam ran on a and unknown ones and SGD ran on a and unknown ones",
        ),
        (lambda _, __: None, "Adam ran on unknown systems and SGD ran on unknown systems"),
    ],
)
def test_a_comparison_of_times_says_on_what_they_were_measured_unless_it_is_the_same(
    system_of: System, said: str | None
) -> None:
    rows = [row for trial in range(1, 7) for row in timed(8, trial, 100 + trial, 50.0)]
    elsewhere = timed(16, 1, 100, 50.0)  # compared with nothing, so its hardware doesn't matter

    view = view_of([*rows, *elsewhere], of_other=rows, attributes=attributes_of(system_of))
    both = Selection((OTHER, WORKLOAD), METRIC)
    warnings = answer_to(compare.QUESTION, view, both, Goal(0.5), measure="seconds").facts["warnings"]
    found = [text for text in warnings if "hardware" in text]
    assert found == ([] if said is None else [f"seconds compare the hardware, too: {said}"])
    assert "hardware" not in str(answer_to(compare.QUESTION, view, both, Goal(0.5)).facts["warnings"])


def test_a_falling_time_may_be_that_of_other_hardware() -> None:
    rows = [row for size in (8, 16) for trial in (1, 2) for row in timed(size, trial, 1000 // size, 400.0 / size)]
    for system_of, said in (
        ((lambda _, __: "a"), None),
        ((lambda _, trial: f"box {trial}"), "measured on 2 systems: "),
        ((lambda _, __: None), "measured on unknown systems: "),
    ):
        view = view_of(rows, attributes=attributes_of(system_of))
        cost = answer_to(time_cost.QUESTION, view, SELECTED, Goal(0.5)).facts["warnings"]
        told = answer_to(advice.QUESTION, view, SELECTED, Goal(0.5), price=2.0, accelerators=1).facts["warnings"]
        given = answer_to(advice.QUESTION, view, SELECTED, Goal(0.5), step_time=["8=0.1", "16=0.2"]).facts["warnings"]
        for warnings in (cost, told):
            assert [said in text for text in warnings if "measured on" in text] == ([True] if said else [])
        assert "measured on" not in str(given)


def test_times_of_several_accelerators_do_not_end_and_the_cheapest_is_across_them() -> None:
    rows = [row for size in (8, 16) for trial in (1, 2) for row in timed(size, trial, 1000 // size, 400.0 / trial)]
    across_two = " across 2 systems with 2 kinds of accelerators, at one price"
    systems: list[tuple[System, str, str]] = [
        (lambda _, __: "a", "chip of a", ""),
        (lambda _, trial: f"box {trial}", "chip of box 2", across_two),
    ]
    for system_of, fastest, across in systems:
        view = view_of(rows, attributes=attributes_of(system_of))
        cost = answer_to(time_cost.QUESTION, view, SELECTED, Goal(0.5))
        assert [row["fastest_accelerator"] for row in cost.table().to_pylist()] == [fastest] * 2
        assert cost.facts["summaries"][0]["no_faster_beyond"] == 8
        told = answer_to(advice.QUESTION, view, SELECTED, Goal(0.5), price=2.0, accelerators=1).facts["advice"]
        assert told[0].startswith((f"Cheapest{across}: ", f"Fastest{across}: "))
    by_size = [row for size in (8, 16) for row in timed(size, size, 1000 // size, 400.0 / size)]
    view = view_of(by_size, attributes=attributes_of(lambda _, trial: f"box {trial}"))
    cost = answer_to(time_cost.QUESTION, view, SELECTED, Goal(0.5))
    (summary,) = cost.facts["summaries"]
    assert (summary["no_faster_beyond"], summary["censoring"]) == (None, None)
    assert any("is null: where=accelerator=chip of box " in text for text in cost.facts["warnings"])


def test_time_cost_and_advice_say_which_times_cannot_be_right() -> None:
    falling = [Row(8, 1, "COMPLETE", 10, 0.9, 100.0), Row(8, 1, "COMPLETE", 20, 0.4, 5.0)]
    view = view_of([*falling, *timed(16, 1, 100, 50.0)])
    for question, more in ((time_cost.QUESTION, {}), (advice.QUESTION, {"price": 2.0, "accelerators": 1})):
        warnings = answer_to(question, view, SELECTED, Goal(0.5), **more).facts["warnings"]
        assert [text for text in warnings if f"{WORKLOAD}: in 1 of the trials that reached the target" in text]
