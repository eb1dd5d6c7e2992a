"""Advice equals a calculation by hand, and refuses what can't be a time or a price."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from losslake.analysis.measured_levels import measured
from losslake.questions import advice
from losslake.questions.release.errors import BadParameter
from losslake_schema.errors import LossLakeError
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, view_of
from tests.oracle import Row

# By batch size, the steps of ten trials to the target; None: never.
STEPS: dict[int, list[int | None]] = {
    8: [100, 110, 120, 130, 140, 150, 160, 170, 180, 190],
    16: [60, 65, 70, 75, 80, 85, 90, 95, None, None],
    32: [None] * 10,
}


def rows_of(steps: dict[int, list[int | None]], seconds_each: float | None = None) -> list[Row]:
    found = []
    for size, own in steps.items():
        for trial, step in enumerate(own, 1):
            found.append(Row(size, trial, "COMPLETE", 0, 0.9, 0.0 if seconds_each else None))
            at = 1000 if step is None else step
            time = None if seconds_each is None else at * seconds_each
            found.append(Row(size, trial, "COMPLETE", at, 0.9 if step is None else 0.2, time))
    return found


def advice_of(view: Any, **parameters: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    given_ones = {"workload": [str(WORKLOAD)], "metric": METRIC, "target": 0.3, **parameters}
    found = advice.QUESTION.answer(view, advice.AdviceParameters.model_validate(given_ones))
    return found.table().to_pylist(), dict(found.facts)


def test_advice_from_step_times_is_that_by_hand() -> None:
    times = ["8=0.1", "16=0.12"]
    rows, facts = advice_of(view_of(rows_of(STEPS)), step_time=times, price=3.6, accelerators=2, budget=1)
    small, large, never = rows
    # Of one new trial after ten: at most the value of rank k with k/11, at least that of rank j with 1 - j/11.
    assert (small["steps"], small["steps_lower"], small["steps_upper"]) == (150, None, None)
    assert (small["seconds_per_step"], large["seconds_per_step"]) == (pytest.approx(0.1), pytest.approx(0.12))
    assert small["seconds"] == pytest.approx(15)
    assert small["cost"] == pytest.approx(15 * 2 * 3.6 / 3600)
    assert large["seconds"] == pytest.approx(85 * 0.12)
    assert (never["steps"], never["seconds"], never["n_reached"]) == (None, None, 0)
    assert [row["is_fastest"] for row in rows] == [row["is_cheapest"] for row in rows] == [False, True, False]
    assert never["is_extrapolated"]
    assert never["seconds_per_step"] == pytest.approx(0.16)
    assert (
        facts["advice"][0]
        == "Fastest: batch size 16, 10.2 s (no stored trial bounds it), of 2 batch sizes with a known time."
    )
    assert facts["budget"] == 1


def test_default_budget_is_half_of_the_fewest_trials_and_bounds_the_best() -> None:
    rows, facts = advice_of(view_of(rows_of(STEPS)), step_time=["8=1", "16=1"])
    assert facts["budget"] == 5
    small = rows[0]
    # P(the best of 5 is above the k least of 10) = 10/15 x 9/14 x 8/13 …: 0.67, 0.43, 0.26, 0.15, 0.08, 0.04.
    assert (small["steps"], small["steps_upper"]) == (110, 150)
    assert small["cost"] is None
    assert small["is_on_front"] is False
    assert rows[1]["is_on_front"] is True


def test_an_upper_bound_from_few_trials_that_do_not_all_reach_says_how_often_such_bounds_hold() -> None:
    _, facts = advice_of(view_of(rows_of(STEPS)), step_time=["8=1", "16=1"])
    (text,) = [each for each in facts["warnings"] if "not all of the few trials reach" in each]
    assert "at batch size 16: " in text
    assert f"(in {measured('advice few')} of simulations with 5 trials" in text
    many = {8: [*range(100, 130), None]}
    assert not [each for each in advice_of(view_of(rows_of(many)), step_time=["8=1"])[1]["warnings"] if "few" in each]


def test_times_of_the_logs_are_taken_where_only_a_price_is_given() -> None:
    rows, _ = advice_of(view_of(rows_of(STEPS, 0.5)), price=7.2, accelerators=4, budget=5)
    assert rows[0]["seconds"] == pytest.approx(110 * 0.5)
    assert rows[0]["cost"] == pytest.approx(110 * 0.5 * 4 * 7.2 / 3600)
    assert rows[0]["seconds_per_step"] is None


def test_logs_without_times_are_said() -> None:
    with pytest.raises(BadParameter, match="have no times"):
        advice_of(view_of(rows_of(STEPS)), price=1.0, accelerators=1)


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({}, "give step_time=BATCH_SIZE=SECONDS"),
        ({"step_time": ["8"]}, "step_time=8: give BATCH_SIZE=SECONDS"),
        ({"step_time": ["8=nan"]}, "step_time=8=nan: give BATCH_SIZE=SECONDS"),
        ({"step_time": ["8=-1"]}, "step_time=8=-1: give"),
        ({"step_time": ["0=1"]}, "step_time=0=1: give"),
        ({"step_time": ["8=1_0"]}, "step_time=8=1_0: give"),
        ({"step_time": ["8=1", "8=2"]}, "batch size 8 is given twice"),
    ],
)
def test_what_is_no_step_time_is_refused_in_a_line(parameters: dict[str, Any], why: str) -> None:
    with pytest.raises(BadParameter) as refused:
        advice_of(view_of(rows_of(STEPS)), **parameters)
    assert why in str(refused.value)


@pytest.mark.parametrize("price", [0, -1, math.nan, math.inf])
def test_what_is_no_price_is_refused(price: float) -> None:
    with pytest.raises(ValidationError, match="price"):
        advice_of(view_of(rows_of(STEPS)), price=price)


def test_batch_sizes_without_a_step_time_are_left_out_and_extrapolated_ones_said() -> None:
    _, facts = advice_of(view_of(rows_of(STEPS)), step_time=["8=1"])
    assert any("no time per step is known" in text and "at batch size 16, 32" in text for text in facts["left_out"])
    rows, facts = advice_of(view_of(rows_of(STEPS)), step_time=["4=1", "8=1.6"])
    assert any("step times are extrapolated at batch size 16" in text for text in facts["warnings"])
    assert [row["is_extrapolated"] for row in rows] == [False, True, False]
    assert facts["advice"] == ["Fastest: batch size 8, 176 s (at most 240 s), of 2 batch sizes with a known time."]


def test_sentence_says_that_its_step_time_is_extrapolated() -> None:
    _, facts = advice_of(view_of(rows_of(STEPS)), step_time=["4=1", "8=1.01"])
    (sentence,) = facts["advice"]
    assert sentence.startswith("Fastest: batch size 16, 67 s (at most 87.5 s), by an extrapolated step time, of 2")


def test_shorter_steps_of_larger_batch_sizes_are_questioned() -> None:
    _, facts = advice_of(view_of(rows_of(STEPS)), step_time=["8=1", "16=0.5"])
    assert "a step at batch size 16 takes less time than one at 8: check these step times" in facts["warnings"]


def test_step_times_of_one_model_are_not_those_of_another() -> None:
    view = view_of(rows_of(STEPS), of_other=rows_of(STEPS))
    named = [str(WORKLOAD), str(OTHER)]
    assert len(advice_of(view, step_time=["8=1"], workload=named)[0]) == 6
    with pytest.raises(BadParameter, match="don't hold for another"):
        advice_of(view, step_time=["8=1"], workload=[str(WORKLOAD), str(OTHER).replace(OTHER.model, "another")])


def test_logs_that_say_their_accelerators_cannot_be_overridden() -> None:
    view = view_of(rows_of(STEPS, 0.5), parameters=lambda *_: {"accelerators": 4.0})
    assert advice_of(view, price=7.2, budget=5)[0][0]["cost"] == pytest.approx(110 * 0.5 * 4 * 7.2 / 3600)
    with pytest.raises(BadParameter, match="say on how many accelerators"):
        advice_of(view, price=7.2, accelerators=8)
    assert advice_of(view, price=7.2, accelerators=8, step_time=["8=1", "16=1"])[1]["advice"]


def test_accelerators_without_a_price_are_refused() -> None:
    with pytest.raises(BadParameter, match="give price="):
        advice_of(view_of(rows_of(STEPS)), step_time=["8=1"], accelerators=8)


def test_diverged_trials_are_part_of_new_searches() -> None:
    rows = [*rows_of({8: [100] * 8}), *(Row(8, trial, "INFEASIBLE", 5, 0.9) for trial in (9, 10))]
    (row,), _ = advice_of(view_of(rows), step_time=["8=1"], budget=1)
    assert (row["n_trials"], row["n_reached"], row["chance"]) == (10, 8, pytest.approx(8 / 11))
    (row,), _ = advice_of(view_of(rows), step_time=["8=1"], budget=1, status=["COMPLETE"])
    assert row["chance"] == pytest.approx(8 / 9)


def test_pooled_workloads_are_drawn_as_wholes_where_a_batch_size_has_several() -> None:
    """At batch size 8 two workloads of three and one trials; at 16 one, whose three settings count as everywhere."""
    pool = str(WORKLOAD).replace("sgd", "*d*")
    view = view_of(rows_of({8: [100, 110, 120], 16: [50, 60, 70]}), of_other=rows_of({8: [200]}))
    rows, facts = advice_of(view, workload=[pool], step_time=["8=1", "16=1"], budget=1)
    assert [(row["n_trials"], row["n_settings"], row["chance"]) for row in rows] == [
        (4, 2, pytest.approx(2 / 3)),
        (3, 3, pytest.approx(3 / 4)),
    ]
    assert any("at batch size 8 repeat settings, or pooled workloads" in text for text in facts["warnings"])


def test_trials_that_stopped_at_an_easier_goal_leave_their_batch_size_unknown() -> None:
    rows = [Row(8, 1, "COMPLETE", at, value) for at, value in ((10, 0.8), (20, 0.35))]
    view = view_of([*rows, *rows_of({8: [None, 15], 16: [50, 60]})[2:]], goal=0.4)
    first, second = advice_of(view, step_time=["8=1", "16=1"])[0]
    assert [first[name] for name in ("chance", "steps", "seconds", "steps_upper")] == [None] * 4
    assert second["steps"] is not None


def test_why_batch_sizes_have_no_median_is_said() -> None:
    view = view_of(rows_of({8: [10, 20, None, None], 16: [None] * 4, 32: [10, 20, 30]}))
    rows, facts = advice_of(view, step_time=["8=1", "32=1"], budget=4)
    assert [row["steps"] for row in rows] == [10, None, None]
    assert f"{WORKLOAD}: no trial reaches the target at batch size 16" in facts["left_out"]
    assert any("probably better than all stored ones" in text and text.endswith("32") for text in facts["left_out"])
    rows, facts = advice_of(view_of(rows_of({8: [10, None, None, None]})), step_time=["8=1"], budget=1)
    assert rows[0]["steps"] is None
    assert any(
        "fewer than half of the searches with a budget of 1 reach the target at batch size 8" in text
        for text in facts["left_out"]
    )


ODD = st.dictionaries(
    st.sampled_from([1, 8, 2**40]),
    st.lists(st.sampled_from([0, 1, 7, 100, None]), min_size=1, max_size=6),
    min_size=1,
)


@given(ODD, st.lists(st.sampled_from(["1=0.5", "8=1e-9", "1099511627776=3e8", "8=x"]), max_size=3), st.integers(1, 9))
def test_odd_inputs_give_finite_ordered_numbers_or_a_line(
    steps: dict[int, list[int | None]], times: list[str], budget: int
) -> None:
    try:
        rows, _ = advice_of(view_of(rows_of(steps)), step_time=times, price=1e6, budget=budget)
    except LossLakeError:
        return
    for row in rows:
        for name in ("steps", "seconds", "cost"):
            bounds = [row[f"{name}_lower"], row[name], row[f"{name}_upper"]]
            known = [value for value in bounds if value is not None]
            assert all(map(math.isfinite, known))
            assert known == sorted(known)
