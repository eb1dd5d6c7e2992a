"""The result of repeated settings is that of brute force, in every question that has it."""

from __future__ import annotations

import math
from statistics import median_low
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.best_setting import Seeds
from losslake.questions import (
    atlas,
    compare,
    critical_batch_size,
    doublings,
    quality,
    regimes,
    scaling,
    steps_to_target,
    target_sweep,
    targets,
    time_cost,
)
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.selection import Goal, Selection
from losslake_schema.statuses import STATUSES
from tests import oracle
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, answer_to, view_of
from tests.oracle import Row, best_setting_rows, scaling_rows

GOAL = Goal(0.3)
SELECTION = Selection((WORKLOAD,), METRIC)
OF_SETTING = (
    "batch_size", "steps", "trial_id", "value", "previous_step", "n_settings", "n_seeds", "steps_q25", "steps_q75",
    "runner_up_steps",
)  # fmt: skip


@st.composite
def repeated_trials(draw: st.DrawFn) -> list[Row]:
    """Studies of up to 12 trials, with ties, trials that never reach, and values that are no numbers."""
    rows = []
    for batch_size in draw(st.sets(st.sampled_from([1, 2, 8, 64]), min_size=1, max_size=3)):
        for trial_id in range(1, draw(st.integers(2, 13))):
            status = draw(st.sampled_from(["COMPLETE"] * 6 + [*STATUSES]))
            steps = sorted(draw(st.sets(st.integers(0, 6), max_size=4)))
            values = [draw(st.sampled_from([0.9, 0.5, 0.3, 0.2, 0.1, math.nan, math.inf])) for _ in steps]
            rows += [Row(batch_size, trial_id, status, *each) for each in zip(steps, values, strict=True)] or [
                Row(batch_size, trial_id, status, None, None)
            ]
    return rows


def view_of_settings(rows: list[Row], n_settings: int) -> ReleaseView:
    return view_of(rows, parameters=lambda _, trial_id: {"learning_rate": trial_id % n_settings, "seed": trial_id})


def columns(rows: list[dict[str, Any]], names: tuple[str, ...]) -> list[list[Any]]:
    return [[row[name] for name in names] for row in rows]


def rows_of(question: Any, view: ReleaseView, **options: Any) -> list[dict[str, Any]]:
    return cast(list[dict[str, Any]], answer_to(question, view, SELECTION, GOAL, **options).table().to_pylist())


@given(repeated_trials(), st.integers(1, 5), st.sampled_from(["median", "mean"]))
def test_best_setting_is_that_of_brute_force(rows: list[Row], n_settings: int, seeds: Seeds) -> None:
    view = view_of_settings(rows, n_settings)
    found = rows_of(scaling.QUESTION, view, result="best_setting", seeds=seeds)
    expected = best_setting_rows(rows, oracle.Goal(0.3), lambda trial_id: trial_id % n_settings, seeds)
    assert columns(found, OF_SETTING) == columns(expected, OF_SETTING)
    counts = ("n_trials", "n_reached", "n_confirmed")
    assert columns(found, counts) == columns(scaling_rows(rows, oracle.Goal(0.3)), counts)


@given(repeated_trials(), st.integers(1, 4), st.sampled_from(["median", "mean"]))
def test_each_question_has_the_same_result(rows: list[Row], n_settings: int, seeds: Seeds) -> None:
    view = view_of_settings(rows, n_settings)
    options: dict[str, Any] = {"result": "best_setting", "seeds": seeds}
    steps = {row["batch_size"]: row["steps"] for row in rows_of(scaling.QUESTION, view, **options)}
    for question in (regimes.QUESTION, doublings.QUESTION):
        assert {row["batch_size"]: row["steps"] for row in rows_of(question, view, **options)} == steps
    at_target = answer_to(targets.QUESTION, view, SELECTION, target=[0.3], **options).table().to_pylist()
    assert {row["batch_size"]: row["steps"] for row in at_target} == steps
    bounds: dict[str, Any] = {"target_min": 0.3, "target_max": 0.3, "n_targets": 1, "spacing": "linear"}
    swept = answer_to(target_sweep.QUESTION, view, SELECTION, **bounds, **options).table().to_pylist()
    known = [each for each in steps.values() if each is not None]
    assert [row["fewest_steps"] for row in swept] == [min(known, default=None)]
    assert [row["coverage"] for row in swept] == [len(known) / len(steps)]


@given(repeated_trials(), st.integers(1, 4), st.integers(0, 7))
def test_quality_is_the_best_of_the_medians_of_settings(rows: list[Row], n_settings: int, budget: int) -> None:
    view = view_of_settings(rows, n_settings)
    options: dict[str, Any] = {"result": "best_setting", "step_budget": [budget]}
    found = answer_to(quality.QUESTION, view, SELECTION, **options).table().to_pylist()
    at_budget = {row["batch_size"]: row["best_value"] for row in found if row["budget"] == budget}
    for batch_size, value in at_budget.items():
        trials: dict[int, list[float]] = {}
        for row in rows:
            if row.batch_size == batch_size and row.status in ("COMPLETE", "MISSED"):
                counts = row.step is not None and row.step <= budget and math.isfinite(row.value or 0.0)
                trials.setdefault(row.trial_id, []).append(row.value if counts and row.value is not None else math.inf)
        settings = [
            [min(values) for trial, values in trials.items() if trial % n_settings == number]
            for number in range(n_settings)
        ]
        known = [each for each in settings if len(each) >= 3] or [each for each in settings if each]
        best = min((median_low(each) for each in known), default=math.inf)
        assert value == (best if math.isfinite(best) else None)


def test_time_is_that_of_the_best_setting() -> None:
    seconds = {1: 99.0, 2: 42.0, 3: 97.0, 4: 44.0, 5: 95.0, 6: 46.0}
    rows = [Row(8, trial, "COMPLETE", 10 + trial, 0.1, elapsed) for trial, elapsed in seconds.items()]
    (row,) = answer_to(time_cost.QUESTION, view_of_settings(rows, 2), SELECTION, GOAL).table().to_pylist()
    assert (row["steps"], row["trial_id"]) == (13, 3)
    assert (row["fastest_elapsed_s"], row["fastest_trial_id"]) == (44.0, 4)


def test_compared_workloads_have_the_same_result_and_draw_settings() -> None:
    repeated = [Row(8, trial, "COMPLETE", 10 * trial, 0.1) for trial in range(1, 13)]
    single = [Row(8, trial, "COMPLETE", 100 * trial, 0.1) for trial in range(1, 5)]
    view = view_of(repeated, of_other=single, parameters=lambda _, trial: {"learning_rate": trial % 4, "seed": trial})
    both = Selection((OTHER, WORKLOAD), METRIC)
    found = answer_to(compare.QUESTION, view, both, GOAL)
    assert [each["result"] for each in found.facts["results"]] == ["best_setting"] * 2
    rows = {row["workload"]: row for row in found.table().to_pylist()}
    ours = rows[str(WORKLOAD)]
    assert (ours["n_trials"], ours["n_reached"], ours["n_settings"], ours["budget"]) == (12, 12, 4, 4)
    assert (ours["amount"], rows[str(OTHER)]["amount"]) == (50, 100)


def test_fits_of_a_sweep_are_those_of_the_target() -> None:
    rows = [
        Row(size, trial, "COMPLETE", step, value)
        for size in (8, 16, 32, 64, 128, 256)
        for trial in range(1, 7)
        for step, value in (
            (int((900 + 20 * trial) * (1 + 64 / size)), 0.9),
            (int((1000 + 20 * trial) * (1 + 64 / size)), 0.1),
        )
    ]
    view = view_of_settings(rows, 2)
    (fit, _) = rows_of(critical_batch_size.QUESTION, view)
    bounds: dict[str, Any] = {"target_min": 0.3, "target_max": 0.3, "n_targets": 1, "spacing": "linear"}
    (swept,) = answer_to(target_sweep.QUESTION, view, SELECTION, **bounds).table().to_pylist()
    names = ("critical_batch_size", "critical_batch_size_lower", "critical_batch_size_upper", "s_min")
    assert [swept[name] for name in names] == [fit[name] for name in ("critical_batch_size", "lower", "upper", "s_min")]


def test_result_follows_the_data_and_the_answer_says_why() -> None:
    rows = [Row(8, trial, "COMPLETE", 10 * trial, 0.1) for trial in range(1, 7)]
    single = answer_to(scaling.QUESTION, view_of_settings(rows, 6), SELECTION, GOAL)
    assert single.facts["results"] == [
        {
            "workload": str(WORKLOAD),
            "result": "best_trial",
            "seeds": None,
            "why": "0 of 6 trials are of settings of 3 trials or more",
        }
    ]
    (row,) = single.table().to_pylist()
    assert (row["steps"], row["n_settings"], row["steps_q25"]) == (10, None, None)
    repeated = answer_to(scaling.QUESTION, view_of_settings(rows, 2), SELECTION, GOAL)
    assert repeated.facts["results"][0]["result"] == "best_setting"
    assert (repeated.facts["result"], repeated.facts["seeds"]) == (None, "median")
    (row,) = repeated.table().to_pylist()
    assert (row["steps"], row["trial_id"], row["n_settings"]) == (30, 3, 2)
    forced = rows_of(scaling.QUESTION, view_of_settings(rows, 2), result="best_trial")
    assert forced[0]["steps"] == 10


def test_half_of_the_trials_decide() -> None:
    rows = [Row(8, trial, "COMPLETE", trial, 0.1) for trial in range(1, 7)]
    of_one = [Row(8, trial, "COMPLETE", trial, 0.1) for trial in range(7, 10)]
    assert answer_result([*rows, *of_one]) == "best_setting"
    assert answer_result([*rows, *of_one, *(Row(8, trial, "COMPLETE", trial, 0.1) for trial in range(10, 16))]) == (
        "best_trial"
    )


def answer_result(rows: list[Row]) -> str:
    """The result of trials of which the first 6 are of 2 settings, and each other has a setting of its own."""
    view = view_of(rows, parameters=lambda _, trial: {"learning_rate": trial % 2 if trial <= 6 else trial})
    return cast(str, answer_to(scaling.QUESTION, view, SELECTION, GOAL).facts["results"][0]["result"])


def test_small_settings_are_named_beside_larger_ones() -> None:
    rows = [Row(8, trial, "COMPLETE", trial, 0.1) for trial in range(1, 9)]
    view = view_of(rows, parameters=lambda _, trial: {"learning_rate": 1 if trial <= 2 else 2})
    found = answer_to(scaling.QUESTION, view, SELECTION, GOAL)
    assert found.table().to_pylist()[0]["steps"] == 5
    assert found.facts["left_out"] == [
        f"{WORKLOAD}: 2 trials of settings of fewer than 3 trials, beside larger ones: result=best_trial counts them"
    ]


def test_atlas_has_the_result_of_each_workload() -> None:
    rows = [Row(size, trial, "COMPLETE", 10 * trial + 100 // size, 0.1) for size in (1, 2, 4) for trial in range(1, 7)]
    view = view_of(rows, parameters=lambda _, trial: {"learning_rate": trial % 2}, goal=0.3)
    for options, expected in (({}, "best_setting"), ({"result": "best_trial"}, "best_trial")):
        answer = atlas.QUESTION.answer(view, atlas.AtlasParameters.model_validate(options))
        assert [row["result"] for row in answer.table().to_pylist()] == [expected]


def test_questions_about_each_trial_have_no_result_to_choose() -> None:
    with pytest.raises(AssertionError):
        rows_of(steps_to_target.QUESTION, view_of([]), result="best_trial")
