"""The map of metaparameters: what became of every trial, and where."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.questions import metaparameter_map
from losslake.questions.release.errors import UnknownName
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.statuses import STATUSES
from tests.losslake.questions.views import METRIC, WORKLOAD, answer_to, view_of
from tests.oracle import Goal as PlainGoal
from tests.oracle import Row, steps_to_target_rows

ALL = Selection((WORKLOAD,), METRIC, statuses=STATUSES)
ROWS = st.lists(
    st.builds(
        Row,
        batch_size=st.sampled_from([1, 8]),
        trial_id=st.integers(0, 6),
        status=st.sampled_from(STATUSES),
        step=st.none() | st.sampled_from([0, 5, 2**63 - 1]),
        value=st.sampled_from([0.1, 0.9, math.nan]),
    ).map(lambda row: replace(row, value=None) if row.step is None else row),
    min_size=1,
    max_size=12,
    unique_by=lambda row: (row.batch_size, row.trial_id),
)


def classes(rows: list[Row], **budgets: Any) -> dict[int, str]:
    """By trial_id."""
    selection = Selection((WORKLOAD,), METRIC, statuses=STATUSES, **budgets)
    table = answer_to(metaparameter_map.QUESTION, view_of(rows), selection, Goal(0.5)).table()
    return dict(zip(table["trial_id"].to_pylist(), table["outcome"].to_pylist(), strict=True))


@given(ROWS, st.none() | st.integers(0, 9))
@settings(max_examples=settings().max_examples // 2)
def test_every_trial_is_there_with_its_class_and_its_steps(rows: list[Row], step_budget: int | None) -> None:
    selection = Selection((WORKLOAD,), METRIC, step_budget=step_budget, statuses=STATUSES)
    answer = answer_to(metaparameter_map.QUESTION, view_of(rows), selection, Goal(0.5))
    found = answer.table().to_pylist()
    expected = steps_to_target_rows(rows, PlainGoal(0.5, step_budget=step_budget, statuses=STATUSES))
    of_status = {"INFEASIBLE": "infeasible", "INCOMPLETE": "incomplete"}
    assert [(row["batch_size"], row["trial_id"], row["steps"], row["outcome"]) for row in found] == [
        (
            row["batch_size"],
            row["trial_id"],
            row["steps"],
            of_status.get(row["status"], "not reached" if row["steps"] is None else "reached"),
        )
        for row in expected
    ]
    for region in answer.facts["goal_regions"]:
        own = [row["outcome"] for row in found if row["batch_size"] == region["batch_size"]]
        assert region["n_reached"] == own.count("reached")
        assert region["n_not_reached"] == own.count("not reached")
        assert region["n_infeasible"] == own.count("infeasible")
        assert region["n_incomplete"] == own.count("incomplete")
        counted = len(own) - own.count("incomplete")
        assert region["fraction_reaching"] == (own.count("reached") / counted if counted else None)


def test_budgets_decide_what_is_reached_and_both_are_inclusive() -> None:
    rows = [Row(8, 1, "COMPLETE", 10, 0.1), Row(8, 2, "COMPLETE", 11, 0.1)]
    assert classes(rows) == {1: "reached", 2: "reached"}
    assert classes(rows, step_budget=10) == {1: "reached", 2: "not reached"}
    assert classes(rows, example_budget=80) == {1: "reached", 2: "not reached"}


def test_a_trial_has_its_place_by_learning_rate_and_one_minus_momentum() -> None:
    parameters = {1: {"learning_rate": 0.1, "momentum": 0.75}, 2: {"learning_rate": 0.1, "momentum": 1.0}, 3: {}}
    rows = [Row(8, trial_id, "COMPLETE", 10, 0.1) for trial_id in parameters]
    answer = answer_to(
        metaparameter_map.QUESTION, view_of(rows, parameters=lambda _, t: parameters.get(t, {})), ALL, Goal(0.5)
    )
    names = ("learning_rate", "momentum", "one_minus_momentum", "effective_learning_rate")
    found = [tuple(row[name] for name in names) for row in answer.table().to_pylist()]
    assert found == [
        (0.1, 0.75, 0.25, pytest.approx(0.4)),
        (0.1, 1.0, 0.0, None),
        (None, None, None, None),
    ]
    assert answer.facts["warnings"] == [
        f"{WORKLOAD}: 2 of 3 trials without an effective learning rate, so not on the map"
    ]


def test_the_goal_probability_is_of_the_others_of_the_same_study() -> None:
    rows = [Row(8, t, "COMPLETE", 10, 0.1 if t <= 2 else 0.9) for t in (1, 2, 3, 4)]
    rows += [Row(8, 5, "INCOMPLETE", 10, 0.1), Row(16, 1, "COMPLETE", 10, 0.1)]
    found = answer_to(metaparameter_map.QUESTION, view_of(rows), ALL, Goal(0.5)).table()["goal_probability"].to_pylist()
    assert found == [
        *[pytest.approx(1 / 3)] * 2,
        *[pytest.approx(2 / 3)] * 2,
        0.5,
        None,
    ]


def test_only_the_statuses_asked_for_are_on_the_map() -> None:
    rows = [Row(8, 1, "COMPLETE", 10, 0.1), Row(8, 2, "INFEASIBLE", 10, 0.1)]
    answer = answer_to(metaparameter_map.QUESTION, view_of(rows), Selection((WORKLOAD,), METRIC), Goal(0.5))
    assert answer.table()["trial_id"].to_pylist() == [1]


def test_a_batch_size_alone_has_the_rows_and_the_region_it_has_among_all() -> None:
    rows = [Row(size, trial, "COMPLETE", trial * size, 0.1 * trial) for size in (1, 8) for trial in range(1, 9)]
    view = view_of(rows)
    whole, alone = (
        answer_to(metaparameter_map.QUESTION, view, ALL, Goal(0.5)),
        answer_to(metaparameter_map.QUESTION, view, ALL, Goal(0.5), batch_size=[8]),
    )
    expected = [row for row in whole.table().to_pylist() if row["batch_size"] == 8]
    assert alone.table().to_pylist() == expected
    assert alone.facts["goal_regions"] == whole.facts["goal_regions"][1:]


def test_a_batch_size_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UnknownName, match="did you mean tests/rows/mnist/cnn/sgd/8"):
        answer_to(metaparameter_map.QUESTION, view_of([Row(8, 1, "COMPLETE", 1, 0.1)]), ALL, Goal(0.5), batch_size=[9])
