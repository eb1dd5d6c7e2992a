"""A pattern pools the trials of the workloads that it matches by batch size, as brute force does."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.analysis.crossings import CrossingRule
from losslake.output.answer import Answer
from losslake.questions import best, critical_batch_size, metaparameters, scaling, steps_to_target, targets
from losslake.questions.release.errors import BadParameter, UnknownName
from losslake.questions.release.pool import MOST_POOLED, matches
from losslake.questions.trials import selection as answers
from losslake.questions.trials.selection import Selection
from losslake_schema.names import Workload
from tests.losslake.questions.test_scaling_and_steps import CROSSINGS, GOALS, rows_of_trials
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of
from tests.oracle import Goal, Row, best_rows, scaling_rows, steps_to_target_rows

# It matches adam and sgd, not zeta.
PATTERN = Workload("*/rows", "mnist", "c*n", "*d*")
NAMES = {0: str(OTHER), 1: str(WORKLOAD)}


def pooled_rows(of_other: list[Row], rows: list[Row]) -> tuple[list[Row], dict[int, tuple[int, int]]]:
    """The rows of both workloads under new trial_ids, by workload and trial_id, and what these stand for."""
    trials = sorted({(0, row.trial_id) for row in of_other} | {(1, row.trial_id) for row in rows})
    pooled = [
        replace(row, trial_id=trials.index((at, row.trial_id))) for at, own in ((0, of_other), (1, rows)) for row in own
    ]
    return pooled, dict(enumerate(trials))


def named(rows: list[dict[str, Any]], trials: dict[int, tuple[int, int]]) -> list[dict[str, Any]]:
    """The rows of the oracle with the workload and the trial_id that a number stands for."""
    for row in rows:
        for name in [name for name in row if name.endswith("trial_id")]:
            at, number = trials.get(row[name], (None, None))
            row |= {name: number, name.replace("_id", "_workload"): None if at is None else NAMES[at]}
    return rows


def same_columns(answer: Answer, expected: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: row[name] for name in expected[0]} for row in answer.table().to_pylist()]


@given(rows_of_trials(), rows_of_trials(), GOALS, CROSSINGS, st.sampled_from(["minimize", "maximize", None]))
@settings(max_examples=settings().max_examples // 2)
def test_a_pool_answers_as_brute_force_over_the_trials_of_its_workloads(
    of_other: list[Row],
    rows: list[Row],
    goal: Goal,
    crossing: tuple[CrossingRule, int | None],
    own: str | None,
) -> None:
    goal = replace(goal, crossing=crossing[0], k=crossing[1], trials=None)
    pooled, trials = pooled_rows(of_other, rows)
    selected = Selection((PATTERN,), METRIC, goal.direction, goal.step_budget, goal.example_budget, None, goal.statuses)
    aim = answers.Goal(goal.target, goal.comparator)
    with tempfile.TemporaryDirectory() as folder:
        view = view_of(rows, own, Path(folder), of_other)
        for question, expected in (
            (scaling.QUESTION, scaling_rows(pooled, goal)),
            (steps_to_target.QUESTION, steps_to_target_rows(pooled, goal)),
        ):
            answer = answer_to(question, view, selected, aim, crossing=goal.crossing, k=goal.k)
            if expected:
                assert same_columns(answer, named(expected, trials)) == expected
        assert (
            same_columns(answer_to(best.QUESTION, view, selected), known := named(best_rows(pooled, goal), trials))
            == known
        )
        of_grid = [
            {name: row[name] for name in ("batch_size", "steps", "trial_id", "trial_workload", "n_reached")}
            for row in named(scaling_rows(pooled, goal), trials)
        ]
        grid = answer_to(targets.QUESTION, view, selected, target=[goal.target], comparator=goal.comparator)
        assert same_columns(grid, of_grid) == of_grid


ROWS = [Row(8, 1, "COMPLETE", 5, 0.1), Row(8, 2, "INCOMPLETE", 5, 0.1), Row(16, 1, "COMPLETE", 4, 0.2)]
IN_OTHER = [Row(8, 1, "COMPLETE", 5, 0.1), Row(32, 7, "COMPLETE", 3, 0.2)]
POOLED = Selection((PATTERN,), METRIC)


def test_a_tie_between_workloads_goes_to_the_first_by_name_with_equal_trial_ids() -> None:
    rows = answer_to(scaling.QUESTION, view_of(ROWS, of_other=IN_OTHER), POOLED, answers.Goal(0.3)).table().to_pylist()
    assert [(row["workload"], row["batch_size"], row["trial_workload"], row["trial_id"]) for row in rows] == [
        (str(PATTERN), 8, str(OTHER), 1),
        (str(PATTERN), 16, str(WORKLOAD), 1),
        (str(PATTERN), 32, str(OTHER), 7),
    ]


def test_the_answer_says_which_workloads_it_pools_and_how_many_trials_of_each() -> None:
    facts = answer_to(scaling.QUESTION, view_of(ROWS, of_other=IN_OTHER, goal=0.15), POOLED, answers.Goal(0.3)).facts
    assert facts["pooled"] == [
        {"pattern": str(PATTERN), "workload": str(OTHER), "n_trials": 2, "targets": []},
        {"pattern": str(PATTERN), "workload": str(WORKLOAD), "n_trials": 2, "targets": [0.15]},
    ]
    assert facts["left_out"] == [
        f"{PATTERN}: 1 trial of status INCOMPLETE: status=COMPLETE&status=MISSED&status=INCOMPLETE includes them"
    ]
    alone = answer_to(scaling.QUESTION, view_of(ROWS), Selection((WORKLOAD,), METRIC), answers.Goal(0.3)).facts
    assert alone["pooled"] == []


def test_trials_counts_the_first_of_each_stored_study() -> None:
    rows = [Row(8, number, "COMPLETE", 5, 0.1) for number in (1, 2, 3)]
    of_other = [Row(8, number, "COMPLETE", 5, 0.1) for number in (5, 6)]
    answer = answer_to(scaling.QUESTION, view_of(rows, of_other=of_other), replace(POOLED, trials=1), answers.Goal(0.3))
    assert [row["n_trials"] for row in answer.table().to_pylist()] == [2]


def test_trials_that_stopped_at_an_easier_goal_of_their_own_are_known_in_a_pool() -> None:
    rows = [Row(8, 1, "COMPLETE", 5, 0.2)]
    view = view_of(rows, of_other=[Row(8, 1, "COMPLETE", 5, 0.2)], goal=0.3)
    answer = answer_to(steps_to_target.QUESTION, view, POOLED, answers.Goal(0.1))
    assert [row["stopped_earlier"] for row in answer.table().to_pylist()] == [False, True]


def test_workloads_whose_batch_sizes_count_different_things_are_refused() -> None:
    view = view_of(ROWS, of_other=IN_OTHER, batch_units={OTHER: "tokens", WORKLOAD: "examples"})
    with pytest.raises(BadParameter, match=r"count examples \(as in .*sgd\) and tokens \(as in .*adam\)"):
        answer_to(scaling.QUESTION, view, POOLED, answers.Goal(0.3))


def test_goals_that_differ_in_their_comparator_are_refused_unless_it_is_stated() -> None:
    view = view_of(ROWS, of_other=IN_OTHER, goal=0.2, comparator="inclusive")
    selected = {"workload": [str(PATTERN)], "metric": METRIC, "target": 0.2}
    with pytest.raises(BadParameter, match="give comparator=strict or comparator=inclusive"):
        scaling.QUESTION.answer(view, scaling.ScalingParameters.model_validate(selected))
    answer = scaling.QUESTION.answer(
        view, scaling.ScalingParameters.model_validate(selected | {"comparator": "inclusive"})
    )
    assert [row["steps"] for row in answer.table().to_pylist()] == [5, 4, 3]


def test_an_analysis_of_steps_takes_a_pool_and_one_of_metaparameters_refuses_it_in_one_line() -> None:
    view = view_of(ROWS, of_other=IN_OTHER)
    answer = answer_to(critical_batch_size.QUESTION, view, POOLED, answers.Goal(0.3))
    assert answer.facts["n_used"] == 3
    with pytest.raises(BadParameter, match="pools no workloads: give one instead of"):
        answer_to(metaparameters.QUESTION, view, POOLED, answers.Goal(0.3))


@pytest.mark.parametrize("pattern", ["tests/rows/mnist/cnn/a*z", "tests/*/cnn/*", "*/mnist/cnn/[as]*"])
def test_a_pattern_that_matches_nothing_is_unknown_with_near_names(pattern: str) -> None:
    with pytest.raises(UnknownName, match="did you mean tests/rows/mnist/cnn/"):
        answer_to(scaling.QUESTION, view_of(ROWS), Selection((Workload.parse(pattern),), METRIC), answers.Goal(0.3))


def test_an_unknown_metric_of_a_pool_is_refused_with_those_of_its_workloads() -> None:
    with pytest.raises(UnknownName, match=f"has no metric 'val/x': did you mean {METRIC}"):
        answer_to(scaling.QUESTION, view_of(ROWS), replace(POOLED, metric="val/x"), answers.Goal(0.3))


def test_a_star_matches_within_one_part_of_the_name() -> None:
    names = [Workload("a/b", "c", "d", "e"), Workload("a", "b/c", "d", "e"), Workload("a", "bc", "d", "e%_f")]
    assert matches(Workload("a*", "c", "d", "*"), names) == [names[0]]
    assert matches(Workload("*", "*c", "d", "e%_f"), names) == [names[2]]
    assert matches(Workload("*", "*", "*", "e*"), names) == sorted(names)


def test_a_pattern_that_matches_too_many_workloads_is_refused() -> None:
    names = [Workload("a", "b", "c", str(number)) for number in range(MOST_POOLED + 1)]
    with pytest.raises(BadParameter, match="matches 201 workloads: give a pattern that matches up to 200"):
        matches(Workload("a", "b", "c", "*"), names)
