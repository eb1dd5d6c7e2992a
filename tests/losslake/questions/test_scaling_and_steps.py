"""Scaling and steps to target over any rows are what brute force finds, from records and from measurements."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from losslake.analysis.crossings import CrossingRule
from losslake.output.answer import Answer
from losslake.questions import best, metaparameters, scaling, steps_to_target, targets
from losslake.questions.release.errors import BadParameter, UnknownName
from losslake.questions.release.view import ReleaseView
from losslake.questions.targets import target_grid
from losslake.questions.trials import selection as answers
from losslake.questions.trials.confirmation import Crossing
from losslake.questions.trials.search import open_search
from losslake.questions.trials.selection import Selection
from losslake_schema.statuses import STATUSES
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of
from tests.oracle import Goal, Row, best_rows, near_optimal_trials, scaling_rows, steps_to_target_rows

NAN, INF = math.nan, math.inf
# METHODS 1.1, computed with the scripts of the paper.
GOLDEN = [
    Row(64, 2, "COMPLETE", 100, 0.5),
    Row(64, 2, "COMPLETE", 200, 0.29),
    Row(64, 1, "COMPLETE", 100, 0.4),
    Row(64, 1, "COMPLETE", 200, 0.28),
    Row(64, 3, "COMPLETE", 50, NAN),
    Row(64, 3, "COMPLETE", 100, INF),
    Row(128, 1, "COMPLETE", 50, 0.30),
    Row(128, 1, "COMPLETE", 100, 0.31),
]
FEW_VALUES = st.sampled_from([0.0, -0.0, 0.1, 0.3, 0.30000000000000004, 5e-324, -1.0, 1e308, NAN, INF, -INF])
VALUES = FEW_VALUES | st.floats(allow_nan=True, allow_infinity=True)
TARGETS = st.sampled_from([0.0, 0.1, 0.3, -1.0, 1e308]) | st.floats(allow_nan=False, allow_infinity=False)
STEPS = st.integers(0, 12) | st.sampled_from([2**40, 2**63 - 1])


@st.composite
def rows_of_trials(draw: st.DrawFn) -> list[Row]:
    """Some studies of some trials; a trial without evaluations is one row without step."""
    rows = []
    for batch_size in draw(st.sets(st.sampled_from([1, 2, 3, 8, 2**33]), min_size=1, max_size=3)):
        for trial_id in draw(st.sets(st.integers(0, 5) | st.just(2**63 - 1), min_size=1, max_size=4)):
            status = draw(st.sampled_from(STATUSES))
            curve = draw(st.dictionaries(STEPS, VALUES, max_size=5))
            rows += [Row(batch_size, trial_id, status, step, curve[step]) for step in sorted(curve)] or [
                Row(batch_size, trial_id, status, None, None)
            ]
    return rows


GOALS = st.builds(
    Goal,
    target=TARGETS,
    direction=st.sampled_from(["minimize", "maximize"]),
    comparator=st.sampled_from(["strict", "inclusive"]),
    step_budget=st.none() | STEPS,
    example_budget=st.none() | st.integers(0, 40) | STEPS,
    trials=st.none() | st.integers(1, 4),
    statuses=st.sets(st.sampled_from(STATUSES), min_size=1).map(tuple),
)
PLAIN_GOALS = st.builds(
    Goal,
    target=TARGETS,
    direction=st.sampled_from(["minimize", "maximize"]),
    comparator=st.sampled_from(["strict", "inclusive"]),
)
CROSSINGS: st.SearchStrategy[tuple[CrossingRule, int | None]] = st.one_of(
    st.just(("first", None)), st.just(("sustained", None)), st.tuples(st.just("k_consecutive"), st.integers(1, 3))
)


def selection(goal: Goal, direction: str | None) -> Selection:
    return Selection((WORKLOAD,), METRIC, direction, goal.step_budget, goal.example_budget, goal.trials, goal.statuses)


def assert_answers(view: ReleaseView, rows: list[Row], goal: Goal, direction: str | None) -> None:
    """Every answer, compared with brute force."""
    selected = selection(goal, direction)
    own = answers.Goal(goal.target, goal.comparator)
    reached = scaling_rows(rows, goal)
    assert known(answer_to(scaling.QUESTION, view, selected, own, crossing=goal.crossing, k=goal.k), reached) == reached
    of_trials = steps_to_target_rows(rows, goal)
    assert (
        known(answer_to(steps_to_target.QUESTION, view, selected, own, crossing=goal.crossing, k=goal.k), of_trials)
        == of_trials
    )
    of_studies = best_rows(rows, goal)
    assert known(answer_to(best.QUESTION, view, selected), of_studies) == of_studies
    grid = list(dict.fromkeys([goal.target, 0.2, goal.target / 2]))
    of_grid = [
        {"target": target} | {name: row[name] for name in ("batch_size", "steps", "trial_id", "n_reached")}
        for target in grid
        for row in scaling_rows(rows, replace(goal, target=target))
    ]
    assert (
        known(answer_to(targets.QUESTION, view, selected, target=grid, comparator=goal.comparator), of_grid) == of_grid
    )
    near = [
        (row["batch_size"], row["trial_id"], row["steps"])
        for row in rows_of(answer_to(metaparameters.QUESTION, view, selected, own))
    ]
    assert near == near_optimal_trials(rows, goal, 0.1)


def rows_of(answer: Answer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = answer.table().to_pylist()
    return found


def known(answer: Answer, expected: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answer's rows in the columns that the expected ones have."""
    names = list(expected[0]) if expected else []
    return [{name: row[name] for name in names} for row in rows_of(answer)]


def rows_of_scaling(
    rows: list[Row],
    goal: Goal,
    own: str | None = "minimize",
    folder: Path | None = None,
    normalize_to: int | None = None,
) -> list[dict[str, Any]]:
    return rows_of(
        answer_to(
            scaling.QUESTION,
            view_of(rows, own, folder),
            selection(goal, goal.direction),
            answers.Goal(goal.target, goal.comparator),
            normalize_to=normalize_to,
        )
    )


@given(rows_of_trials(), GOALS)
@settings(max_examples=settings().max_examples // 2)
def test_records_answer_as_brute_force_does(rows: list[Row], goal: Goal) -> None:
    assert_answers(view_of(rows, goal.direction), rows, goal, None)


@given(rows_of_trials(), PLAIN_GOALS)
@settings(max_examples=settings().max_examples // 2)
def test_frontiers_answer_as_brute_force_does(rows: list[Row], goal: Goal) -> None:
    view = view_of(rows, goal.direction)
    assert open_search(view, selection(goal, None), WORKLOAD).frontiers is not None
    assert_answers(view, rows, goal, None)


@given(rows_of_trials(), GOALS, CROSSINGS, st.booleans())
@settings(max_examples=settings().max_examples // 2)
def test_measurements_answer_as_brute_force_does_for_a_direction_without_records(
    rows: list[Row], goal: Goal, crossing: tuple[CrossingRule, int | None], has_other_direction: bool
) -> None:
    goal = replace(goal, crossing=crossing[0], k=crossing[1])
    other = "maximize" if goal.direction == "minimize" else "minimize"
    with tempfile.TemporaryDirectory() as folder:
        view = view_of(rows, other if has_other_direction else None, Path(folder))
        assert_answers(view, rows, goal, goal.direction)


@pytest.mark.parametrize("own", ["minimize", "maximize", None])
@pytest.mark.parametrize(
    ("direction", "target", "expected"),
    [
        ("minimize", 0.3, {64: (1, 200, 0.28), 128: (None, None, None)}),
        ("minimize", 0.30000001, {64: (1, 200, 0.28), 128: (1, 50, 0.30)}),
        ("maximize", 0.3, {64: (1, 100, 0.4), 128: (1, 100, 0.31)}),
    ],
)
def test_the_golden_rows_of_the_paper_s_scripts(
    tmp_path: Path, own: str | None, direction: str, target: float, expected: dict[int, tuple[object, ...]]
) -> None:
    answer = rows_of_scaling(GOLDEN, Goal(target, direction), own, tmp_path)
    assert {row["batch_size"]: (row["trial_id"], row["steps"], row["value"]) for row in answer} == expected


def test_tie_goes_to_the_lower_trial_id() -> None:
    rows = [Row(8, 9, "COMPLETE", 5, 0.1), Row(8, 3, "COMPLETE", 5, 0.2)]
    assert (rows_of_scaling(rows, Goal(0.3))[0]["trial_id"], rows_of_scaling(rows, Goal(0.3))[0]["value"]) == (3, 0.2)


def test_equality_does_not_reach_the_target() -> None:
    assert rows_of_scaling([Row(8, 1, "COMPLETE", 5, 0.3)], Goal(0.3))[0]["steps"] is None


def test_equality_reaches_the_target_when_the_comparator_is_inclusive() -> None:
    rows = [Row(8, 1, "COMPLETE", 5, 0.3)]
    assert rows_of_scaling(rows, Goal(0.3, comparator="inclusive"))[0]["steps"] == 5
    assert rows_of_scaling(rows, Goal(0.3, "maximize", "inclusive"), "maximize")[0]["steps"] == 5
    assert rows_of_scaling(rows, Goal(math.nextafter(0.3, 0), comparator="inclusive"))[0]["steps"] is None


def noisy(*values: float) -> list[Row]:
    """One trial, evaluated at steps 10, 20, …"""
    return [Row(8, 1, "COMPLETE", 10 * (index + 1), value) for index, value in enumerate(values)]


def test_the_confirmed_crossing_stands_beside_the_raw_one(tmp_path: Path) -> None:
    view = view_of(noisy(0.9, 0.2, 0.5, 0.2, 0.1, 0.4, 0.1), folder=tmp_path)
    selected, goal = selection(Goal(0.3), None), answers.Goal(0.3)
    for crossing, k, expected in (
        ("first", None, (20, 20, 10, 1)),
        ("k_consecutive", None, (20, 40, 30, 1)),
        ("k_consecutive", 3, (20, None, None, 0)),
        ("sustained", None, (20, 70, 60, 1)),
    ):
        (row,) = rows_of(answer_to(scaling.QUESTION, view, selected, goal, crossing=crossing, k=k))
        names = ("steps", "confirmed_steps", "confirmed_previous_step", "n_confirmed")
        assert tuple(row[name] for name in names) == expected, crossing


def test_steps_that_few_evaluations_pin_down_come_with_a_warning() -> None:
    rows = [Row(8, 1, "COMPLETE", step, 1 / step) for step in (80, 100)]
    rows += [Row(16, 1, "COMPLETE", step, 1 / step) for step in (96, 100)] + [Row(32, 1, "COMPLETE", 100, 0.01)]
    facts = answer_to(scaling.QUESTION, view_of(rows), selection(Goal(0.0101), None), answers.Goal(0.0101)).facts
    far_apart, at_once = facts["warnings"]
    assert "far apart at batch size 8, where" in far_apart
    assert "up to 20%" in far_apart
    assert "first evaluation reached the target at batch size 32" in at_once
    of_trials = answer_to(
        steps_to_target.QUESTION, view_of(rows), selection(Goal(0.0101), None), answers.Goal(0.0101)
    ).facts["warnings"]
    assert [text for text in of_trials if "in 2 of 3 trials" in text] == of_trials != []


def test_unreached_study_reports_its_last_step_and_gap() -> None:
    rows = [Row(8, 1, "COMPLETE", 500, 0.4), Row(8, 2, "COMPLETE", 900, 0.375), Row(8, 3, "INFEASIBLE", 2000, 0.1)]
    (row,) = rows_of_scaling(rows, Goal(0.25))
    assert (row["steps"], row["censored_at"], row["gap"], row["best_value"]) == (None, 900, 0.125, 0.375)
    # Evaluations went on beyond a budget of 700, so the first that might reach it is, too; a budget of 950 wasn't used.
    for budget, seen in ((700, 700), (950, 900)):
        assert rows_of_scaling(rows, Goal(0.25, step_budget=budget))[0]["censored_at"] == seen


def test_a_lone_lucky_trial_shows_as_a_large_gap_to_the_runner_up() -> None:
    rows = [Row(8, trial, "COMPLETE", step, 0.1) for trial, step in ((1, 300), (2, 100), (3, 250))]
    (row,) = rows_of_scaling(rows, Goal(0.3))
    assert (row["runner_up_steps"], row["runner_up_ratio"]) == (250, 2.5)
    (alone,) = rows_of_scaling(rows[:1], Goal(0.3))
    assert (alone["runner_up_steps"], alone["runner_up_ratio"]) == (None, None)


def test_k_of_another_crossing_rule_is_refused() -> None:
    with pytest.raises(BadParameter) as caught:
        Crossing("first", 2)
    assert caught.value.parameter == "k"


def test_a_value_that_only_float32_would_call_equal_reaches_the_target() -> None:
    just_below = math.nextafter(0.3, 0)
    assert rows_of_scaling([Row(8, 1, "COMPLETE", 5, just_below)], Goal(0.3))[0]["steps"] == 5


def test_budgets_are_inclusive() -> None:
    rows = [Row(8, 1, "COMPLETE", 5, 0.1)]
    assert rows_of_scaling(rows, Goal(0.3, step_budget=5, example_budget=40))[0]["steps"] == 5
    assert rows_of_scaling(rows, Goal(0.3, step_budget=4))[0]["steps"] is None
    assert rows_of_scaling(rows, Goal(0.3, example_budget=39))[0]["steps"] is None
    assert rows_of_scaling(rows, Goal(0.3, example_budget=39))[0]["best_value"] is None


def test_the_first_trials_are_counted_among_those_of_an_admitted_status() -> None:
    rows = [Row(8, 1, "INFEASIBLE", 5, 0.1), Row(8, 2, "COMPLETE", 9, 0.1), Row(8, 3, "COMPLETE", 7, 0.1)]
    assert rows_of_scaling(rows, Goal(0.3, trials=1))[0]["trial_id"] == 2
    assert rows_of_scaling(rows, Goal(0.3, trials=1, statuses=("COMPLETE", "INFEASIBLE")))[0]["trial_id"] == 1
    assert rows_of_scaling(rows, Goal(0.3, trials=9))[0]["n_trials"] == 2


def test_perfect_scaling_starts_from_the_smallest_batch_size_that_reached_the_target() -> None:
    rows = [Row(1, 1, "COMPLETE", 5, 0.9), Row(2, 1, "COMPLETE", 12, 0.1), Row(8, 1, "COMPLETE", 6, 0.1)]
    assert [row["perfect_scaling_steps"] for row in rows_of_scaling(rows, Goal(0.3))] == [24.0, 12.0, 3.0]
    assert [row["perfect_scaling_steps"] for row in rows_of_scaling(rows, Goal(-1))] == [None, None, None]


def test_previous_step_of_zero_is_not_none() -> None:
    rows = [Row(8, 1, "COMPLETE", 0, 0.9), Row(8, 1, "COMPLETE", 4, 0.1), Row(8, 2, "COMPLETE", 4, 0.1)]
    found = answer_to(steps_to_target.QUESTION, view_of(rows), selection(Goal(0.3), None), answers.Goal(0.3))
    assert [row["previous_step"] for row in rows_of(found)] == [0, None]


def test_nan_evaluation_counts_as_the_previous_step() -> None:
    rows = [Row(8, 1, "COMPLETE", 0, 0.9), Row(8, 1, "COMPLETE", 3, NAN), Row(8, 1, "COMPLETE", 4, 0.1)]
    assert rows_of_scaling(rows, Goal(0.3))[0]["previous_step"] == 3


def test_examples_beyond_64_bits_are_null_as_in_sql() -> None:
    rows = [Row(2**62, 1, "COMPLETE", 1, 0.1), Row(2**62 + 1, 1, "COMPLETE", 2, 0.1)]
    assert [row["examples"] for row in rows_of_scaling(rows, Goal(0.3))] == [2**62, None]


def test_perfect_scaling_starts_at_the_batch_size_normalized_to() -> None:
    rows = [Row(1, 1, "COMPLETE", 12, 0.1), Row(2, 1, "COMPLETE", 8, 0.1), Row(8, 1, "COMPLETE", 4, 0.9)]
    found = rows_of_scaling(rows, Goal(0.3), normalize_to=2)
    assert [row["perfect_scaling_steps"] for row in found] == [16.0, 8.0, 2.0]
    assert [row["normalized_steps"] for row in found] == [1.5, 1.0, None]
    assert [row["normalized_steps"] for row in rows_of_scaling(rows, Goal(0.3))] == [None, None, None]
    with pytest.raises(BadParameter, match="1, 2, 8"):
        rows_of_scaling(rows, Goal(0.3), normalize_to=4)


def test_a_study_normalized_to_a_batch_size_that_never_reached_has_no_ratio() -> None:
    rows = [Row(1, 1, "COMPLETE", 12, 0.1), Row(2, 1, "COMPLETE", 8, 0.9)]
    found = rows_of_scaling(rows, Goal(0.3), normalize_to=2)
    assert [(row["perfect_scaling_steps"], row["normalized_steps"]) for row in found] == [(None, None)] * 2


def test_several_workloads_come_in_the_order_asked_for() -> None:
    view = view_of([Row(8, 1, "COMPLETE", 5, 0.1)])
    found = rows_of(answer_to(scaling.QUESTION, view, Selection((WORKLOAD, OTHER), METRIC), answers.Goal(0.3)))
    assert [(row["workload"], row["batch_size"], row["steps"]) for row in found] == [
        (str(WORKLOAD), 8, 5), (str(OTHER), 1, 0), (str(OTHER), 7, 0),
    ]  # fmt: skip


def test_best_value_comes_with_its_first_step() -> None:
    rows = [Row(8, 2, "COMPLETE", 5, 0.1), Row(8, 2, "COMPLETE", 9, 0.1), Row(8, 1, "COMPLETE", 7, 0.1)]
    (row,) = rows_of(answer_to(best.QUESTION, view_of(rows), selection(Goal(0.0), None)))
    assert (row["trial_id"], row["step"], row["examples"], row["best_value"]) == (2, 5, 40, 0.1)


def test_the_near_optimal_set_is_those_within_a_tenth_of_the_best() -> None:
    rows = [Row(8, trial, "COMPLETE", step, 0.1) for trial, step in ((1, 111), (2, 110), (3, 100), (4, 100))]
    answer = rows_of(answer_to(metaparameters.QUESTION, view_of(rows), selection(Goal(0.3), None), answers.Goal(0.3)))
    assert [(row["rank"], row["trial_id"], row["steps_ratio"]) for row in answer] == [
        (1, 3, 1.0),
        (2, 4, 1.0),
        (3, 2, 1.1),
    ]
    assert answer[0]["parameters"] == [("learning_rate", pytest.approx(0.3)), ("momentum", 0.5)]
    assert answer[0]["effective_learning_rate"] == pytest.approx(0.6)
    only_best = rows_of(
        answer_to(metaparameters.QUESTION, view_of(rows), selection(Goal(0.3), None), answers.Goal(0.3), within=0)
    )
    assert [row["trial_id"] for row in only_best] == [3, 4]


def test_a_grid_of_targets_has_both_ends() -> None:
    assert target_grid(0.1, 0.5, 3, is_log=False) == pytest.approx([0.1, 0.3, 0.5])
    assert target_grid(0.01, 1, 3, is_log=True) == pytest.approx([0.01, 0.1, 1])
    assert target_grid(0.2, 0.3, 2, is_log=False)[-1] == 0.3
    with pytest.raises(BadParameter, match="target_min and target_max, the lower one first"):
        target_grid(0.5, 0.1, 3, is_log=False)
    with pytest.raises(BadParameter, match="spacing=log needs targets above 0"):
        target_grid(0.0, 1.0, 3, is_log=True)
    for wrong in ({"target_max": NAN}, {"n_targets": 0}):
        with pytest.raises(ValidationError, match=next(iter(wrong))):
            answer_to(
                targets.QUESTION,
                view_of(GOLDEN),
                selection(Goal(0.3), None),
                **({"target_min": 0.1, "target_max": 0.2} | wrong),
            )


def test_a_metric_without_direction_needs_one_in_the_question() -> None:
    with pytest.raises(BadParameter, match="whether lower or higher values of") as caught:
        answer_to(scaling.QUESTION, view_of(GOLDEN, None), selection(Goal(0.3), None), answers.Goal(0.3))
    assert caught.value.parameter == "direction"


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("target", NAN), ("target", INF), ("target", -INF), ("trials", 0), ("step_budget", -1),
        ("example_budget", 2**63), ("direction", "up"), ("status", ["DONE"]), ("comparator", "<="),
        ("crossing", "late"), ("k", 0),
    ],
)  # fmt: skip
def test_a_parameter_out_of_range_is_refused_by_name(parameter: str, value: object) -> None:
    with pytest.raises(ValidationError) as caught:
        scaling.ScalingParameters.model_validate({"workload": [str(WORKLOAD)], "target": 0.3, parameter: value})
    assert {error["loc"][0] for error in caught.value.errors()} == {parameter}


def test_no_status_at_all_is_refused() -> None:
    with pytest.raises(BadParameter, match="at least one status"):
        Selection((WORKLOAD,), METRIC, statuses=())


def test_unknown_names_come_with_near_matches() -> None:
    view = view_of(GOLDEN)
    with pytest.raises(UnknownName) as caught:
        answer_to(scaling.QUESTION, view, Selection((WORKLOAD,), "val/clasification_error"), answers.Goal(0.3))
    assert caught.value.near_matches == (METRIC,)
    with pytest.raises(UnknownName) as caught:
        answer_to(
            scaling.QUESTION,
            view,
            Selection((type(WORKLOAD)("tests/rows", "mnist", "cnn", "adm"),), METRIC),
            answers.Goal(0.3),
        )
    assert caught.value.near_matches[0] == str(OTHER)


def test_steps_to_target_of_some_batch_sizes_are_those_among_all() -> None:
    rows = [Row(size, trial, "COMPLETE", 5 * trial, 0.1 * trial) for size in (1, 8, 64) for trial in range(1, 6)]
    view, selection, goal = view_of(rows), Selection((WORKLOAD,), METRIC), answers.Goal(0.35)
    whole = answer_to(steps_to_target.QUESTION, view, selection, goal).table().to_pylist()
    some = answer_to(steps_to_target.QUESTION, view, selection, goal, batch_size=[64, 1]).table().to_pylist()
    assert some == [row for row in whole if row["batch_size"] != 8]
