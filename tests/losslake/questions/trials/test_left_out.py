"""Every answer says which trials it leaves out; a trial that stopped at an easier goal is censored, never failed."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.output.answer import Answer
from losslake.questions import (
    critical_batch_size,
    profiles,
    rcp,
    scaling,
    steps_to_target,
    survival,
    target_sweep,
    targets,
    time_cost,
    tuning_budget,
)
from losslake.questions.declaration.summary import SelectionSummary
from losslake.questions.questions import QUESTIONS
from losslake.questions.trials.selection import Goal, Selection
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of
from tests.oracle import Row

SELECTION = Selection((WORKLOAD,), METRIC)


def test_a_study_whose_only_trial_is_incomplete_says_that_it_is_left_out() -> None:
    view = view_of([Row(8, 1, "INCOMPLETE", 10, 0.2)])
    answer = answer_to(scaling.QUESTION, view, SELECTION, Goal(0.3))
    assert answer.table()["n_trials"].to_pylist() == [0]
    assert answer.facts["left_out"] == [
        f"{WORKLOAD}: 1 trial of status INCOMPLETE: status=COMPLETE&status=MISSED&status=INCOMPLETE includes them"
    ]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"trials": 1}, "2 trials beyond the first 1 of each study: a larger trials= includes them"),
        ({"step_budget": 5}, "1 trial without a value within the budget: a larger step_budget includes them"),
        ({"example_budget": 47}, "1 trial without a value within the budget: a larger example_budget includes them"),
    ],
)
def test_trials_beyond_the_first_and_beyond_a_budget_are_counted(parameters: dict[str, Any], expected: str) -> None:
    rows = [Row(8, 1, "COMPLETE", 0, 0.9), Row(8, 2, "COMPLETE", 6, 0.2), Row(8, 3, "COMPLETE", 1, 0.2)]
    answer = answer_to(scaling.QUESTION, view_of(rows), SELECTION, Goal(0.3), **parameters)
    assert answer.facts["left_out"] == [f"{WORKLOAD}: {expected}"]


def test_trials_of_other_batch_sizes_than_asked_are_not_counted() -> None:
    view = view_of([Row(8, 1, "INFEASIBLE", 10, 0.2), Row(16, 1, "COMPLETE", 10, 0.2)])
    answer = answer_to(steps_to_target.QUESTION, view, SELECTION, Goal(0.3), batch_size=[16])
    assert answer.facts["left_out"] == []


def test_every_answer_about_a_selection_has_left_out() -> None:
    about = [question for question in QUESTIONS if issubclass(question.summary, SelectionSummary)]
    assert len(about) >= 18
    assert all("left_out" in question.summary_names for question in about)


def stopped(*values: float, **others: Any) -> tuple[Any, Answer]:
    """The rows of scaling to 0.3, of trials that stop at the value, where the goal is 0.4."""
    rows = [Row(8, n, "COMPLETE", 10 * step, v) for n, v in enumerate(values, 1) for step, v in ((1, 0.8), (2, v))]
    view = view_of(rows, goal=0.4, **others)
    return view, answer_to(scaling.QUESTION, view, SELECTION, Goal(0.3))


def test_a_trial_that_ended_at_its_own_goal_stopped_earlier_and_did_not_fail() -> None:
    view, answer = stopped(0.35, 0.5, 0.2, 0.39)
    (row,) = answer.table().to_pylist()
    assert (row["n_trials"], row["n_reached"], row["n_stopped_earlier"]) == (4, 1, 2)
    assert "2 trials stopped earlier" in answer.facts["left_out"][0]
    of_trials = answer_to(steps_to_target.QUESTION, view, SELECTION, Goal(0.3)).table().to_pylist()
    assert [trial["stopped_earlier"] for trial in of_trials] == [True, False, False, True]
    assert [trial["censored_at"] for trial in of_trials] == [20, 20, None, 20]
    (points,) = answer_to(rcp.QUESTION, view, SELECTION, Goal(0.3)).table().to_pylist()
    assert (points["n_runs"], points["n_not_converged"]) == (2, 1)
    budgets = answer_to(tuning_budget.QUESTION, view, SELECTION, Goal(0.3), budget=[1]).table().to_pylist()
    assert [row["chance"] for row in budgets] == [0.5, 0.5]


@pytest.mark.parametrize(("train_steps", "n_stopped"), [(20, 0), (29, 0), (30, 1), (36_189, 1)])
def test_a_trial_stopped_earlier_if_its_steps_had_room_for_another_evaluation(train_steps: int, n_stopped: int) -> None:
    _, answer = stopped(0.35, 0.5, train_steps=train_steps)
    assert answer.table()["n_stopped_earlier"].to_pylist() == [n_stopped]
    assert len(answer.facts["left_out"]) == n_stopped


def test_a_goal_of_a_metric_without_a_direction_counts_where_the_direction_is_given(tmp_path: Path) -> None:
    rows = [
        Row(8, n, "COMPLETE", 10 * step, v) for n, last in ((1, 0.35), (2, 0.5)) for step, v in ((1, 0.8), (2, last))
    ]
    view = view_of(rows, direction=None, folder=tmp_path, goal=0.4)
    answer = answer_to(scaling.QUESTION, view, Selection((WORKLOAD,), METRIC, direction="minimize"), Goal(0.3))
    assert answer.table()["n_stopped_earlier"].to_pylist() == [1]


@given(
    st.lists(st.lists(st.sampled_from([0.1, 0.2, 0.3, math.nan]), min_size=1, max_size=4), min_size=1, max_size=4),
    st.sampled_from([0.1, 0.2, 0.25, 0.4]),
    st.sampled_from([0.2, 0.3, 0.35, 1.0]),
    st.none() | st.integers(0, 4),
    st.sampled_from([0, 1, 9]),
)
def test_stopped_earlier_and_censored_at_are_what_brute_force_finds_though_another_metric_goes_on(
    curves: list[list[float]], target: float, goal: float, budget: int | None, later: int
) -> None:
    rows = [Row(8, n, "COMPLETE", step, v) for n, curve in enumerate(curves) for step, v in enumerate(curve)]
    with tempfile.TemporaryDirectory() as folder:
        view = view_of(rows, goal=goal, later=later, folder=Path(folder))
        answer = answer_to(scaling.QUESTION, view, SELECTION, Goal(target), step_budget=budget)
        of_trials = answer_to(steps_to_target.QUESTION, view, SELECTION, Goal(target), step_budget=budget).table()
    limit = 9 if budget is None else budget
    seen = [
        None if any(value < target for value in curve[: limit + 1]) else min(len(curve) - 1, limit) for curve in curves
    ]
    assert of_trials["censored_at"].to_pylist() == seen
    expected = sum(
        curve[-1] < goal
        and not any(value < goal for value in curve[:-1])
        and not any(value < target for value in curve)
        and (budget is None or len(curve) - 1 <= budget)
        for curve in curves
    )
    assert answer.table()["n_stopped_earlier"].to_pylist() == [expected]


def test_a_trial_that_ended_at_its_own_goal_stopped_earlier_though_another_metric_goes_on(tmp_path: Path) -> None:
    view, answer = stopped(0.35, 0.5, 0.2, 0.39, folder=tmp_path, later=5)
    assert answer.table()["n_stopped_earlier"].to_pylist() == [2]
    of_trials = answer_to(steps_to_target.QUESTION, view, SELECTION, Goal(0.3)).table().to_pylist()
    assert [trial["censored_at"] for trial in of_trials] == [20, 20, None, 20]
    curve = answer_to(survival.QUESTION, view, SELECTION, Goal(0.3)).table().to_pylist()
    assert [(row["step"], row["n_censored"]) for row in curve if row["n_censored"]] == [(20, 3)]


def test_answers_about_many_targets_say_how_many_trials_stopped_earlier_than_the_hardest() -> None:
    view, _ = stopped(0.35, 0.5, 0.2, 0.39)
    answers = [
        answer_to(targets.QUESTION, view, SELECTION, target=[0.5, 0.3, 0.36]),
        answer_to(profiles.QUESTION, view, Selection((WORKLOAD, OTHER), METRIC), target=0.3),
        answer_to(target_sweep.QUESTION, view, SELECTION, target_min=0.3, target_max=0.36, spacing="linear"),
    ]
    for answer in answers:
        how_many, _, why = answer.facts["left_out"][0].partition(" stopped earlier, at an easier goal of their own: ")
        assert (how_many, why) == (f"{WORKLOAD}: 2 trials", "censored there, not counted as failed")
    at_easiest = answer_to(targets.QUESTION, view, SELECTION, target=[0.5, 0.4])
    assert at_easiest.facts["left_out"] == []


def test_trials_of_studies_without_the_metric_are_left_out_and_have_not_failed() -> None:
    rows = [Row(8, 1, "COMPLETE", 10, 0.2), *(Row(16, n, "COMPLETE", 10, 0.2) for n in (1, 2, 3))]
    rows.append(Row(16, 4, "INCOMPLETE", 10, 0.2))
    view = view_of(rows, unmeasured=[16])
    for question in (scaling, steps_to_target, rcp, survival, tuning_budget, critical_batch_size, time_cost):
        answer = answer_to(question.QUESTION, view, SELECTION, Goal(0.3))
        assert f"{WORKLOAD}: 4 trials in studies without {METRIC}" in answer.facts["left_out"], question
    counts = answer_to(scaling.QUESTION, view, SELECTION, Goal(0.3)).table().select(["batch_size", "n_trials"])
    assert counts.to_pylist() == [{"batch_size": 8, "n_trials": 1}, {"batch_size": 16, "n_trials": 0}]
    trials = answer_to(steps_to_target.QUESTION, view, SELECTION, Goal(0.3)).table()
    assert trials["batch_size"].to_pylist() == [8]
    first = answer_to(scaling.QUESTION, view, SELECTION, Goal(0.3), trials=2)
    assert first.facts["left_out"] == [f"{WORKLOAD}: 4 trials in studies without {METRIC}"]
