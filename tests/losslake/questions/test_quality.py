"""Solution quality, over any rows, is what brute force finds; last=true reads how the curves ended."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from losslake.questions import quality
from losslake.questions.release.errors import BadParameter
from losslake.questions.trials.selection import Selection
from losslake_schema.statuses import STATUSES
from tests.losslake.questions.views import METRIC, WORKLOAD, answer_to, view_of
from tests.made_up_lake import ERROR, Curves
from tests.oracle import Row

NAN, INF = math.nan, math.inf
VALUES = st.sampled_from([0.1, 0.2, 0.3, -1.0, NAN, INF, -INF])


@st.composite
def rows_of_trials(draw: st.DrawFn) -> list[Row]:
    rows = []
    for batch_size in draw(st.sets(st.sampled_from([1, 2, 8, 64]), min_size=1, max_size=3)):
        for trial_id in draw(st.sets(st.integers(0, 5), min_size=1, max_size=3)):
            status = draw(st.sampled_from([*STATUSES, "COMPLETE"]))
            curve = draw(st.dictionaries(st.integers(0, 12), VALUES, max_size=5))
            rows += [Row(batch_size, trial_id, status, step, curve[step]) for step in sorted(curve)] or [
                Row(batch_size, trial_id, status, None, None)
            ]
    return rows


def best_by_brute_force(
    rows: list[Row], sign: float, kind: str, budget: int | None
) -> dict[int, tuple[float, int, int] | None]:
    """By batch size, the best loss, its step and its trial."""
    found: dict[int, tuple[float, int, int] | None] = {}
    for size in sorted({row.batch_size for row in rows}):
        within = [
            (row.value * sign, row.step, row.trial_id)
            for row in rows
            if row.batch_size == size and row.status in ("COMPLETE", "MISSED")
            if row.step is not None and row.value is not None and math.isfinite(row.value)
            if budget is None or (row.step if kind == "steps" else row.step * size) <= budget
        ]
        found[size] = min(within, default=None)
    return found


@given(rows_of_trials(), st.integers(0, 14), st.integers(0, 100), st.sampled_from(["minimize", "maximize"]))
def test_best_values_are_those_of_brute_force(rows: list[Row], steps: int, examples: int, direction: str) -> None:
    answer = answer_to(
        quality.QUESTION,
        view_of(rows, direction),
        Selection((WORKLOAD,), METRIC),
        step_budget=[steps],
        example_budget=[examples],
    )
    sign = 1.0 if direction == "minimize" else -1.0
    found = answer.table().to_pylist()
    for kind, budget in (("steps", steps), ("examples", examples), ("unlimited", None)):
        expected = best_by_brute_force(rows, sign, kind, budget)
        losses = [best[0] for best in expected.values() if best]
        own = [row for row in found if row["budget_kind"] == kind]
        assert [row["batch_size"] for row in own] == list(expected)
        assert {row["budget"] for row in own} == {budget}
        for row, best in zip(own, expected.values(), strict=True):
            if best is None:
                assert [row[name] for name in ("best_value", "shortfall", "trial_id", "step", "share_of_run")] == [
                    None
                ] * 5
                continue
            loss, step, trial_id = best
            assert (row["best_value"], row["step"], row["trial_id"]) == (loss * sign, step, trial_id)
            assert row["shortfall"] == pytest.approx(loss - min(losses))


def of(found: list[dict[str, Any]], **wanted: object) -> dict[str, Any]:
    (row,) = (row for row in found if all(row[name] == value for name, value in wanted.items()))
    return row


CURVE = [0.9, 0.5, 0.2, 0.4, NAN, 0.3]
ROWS = [
    *[Row(8, 1, "COMPLETE", 10 * n, value) for n, value in enumerate(CURVE)],
    *[Row(8, 2, "COMPLETE", 10 * n, 0.6) for n in range(6)],
    *[Row(64, 1, "COMPLETE", step, value) for step, value in ((0, 0.9), (40, 0.25))],
]


def test_the_ends_of_curves_are_read_within_the_budget(tmp_path: Path) -> None:
    view = view_of(ROWS, folder=tmp_path)
    found = (
        answer_to(quality.QUESTION, view, Selection((WORKLOAD,), METRIC), step_budget=[30], last=True)
        .table()
        .to_pylist()
    )
    within = of(found, budget=30, batch_size=8)
    assert (within["last_value"], within["median_of_last_values"], within["test_value"]) == (0.4, 0.45, None)
    whole = of(found, budget=None, batch_size=8)
    assert (whole["last_value"], whole["median_of_last_values"]) == (0.3, 0.4)
    assert of(found, budget=30, batch_size=64)["last_value"] == 0.9


@pytest.mark.parametrize(("metric", "test_value"), [("val/decoy", 0.2), ("test/decoy", None)])
def test_a_validation_metric_selects_and_the_test_metric_of_its_name_reports(
    tmp_path: Path, metric: str, test_value: float | None
) -> None:
    view = view_of(ROWS, folder=tmp_path, metric="test/decoy", later=1)
    found = answer_to(quality.QUESTION, view, Selection((WORKLOAD,), metric), step_budget=[30], last=True).table()
    row = of(found.to_pylist(), budget=30, batch_size=8)
    assert (row["last_value"], row["test_value"]) == (0.4, test_value)


def test_a_best_value_at_the_end_of_the_run_is_not_saturated() -> None:
    answer = answer_to(quality.QUESTION, view_of(ROWS), Selection((WORKLOAD,), METRIC), step_budget=[20])
    found = answer.table().to_pylist()
    assert (of(found, budget=20, batch_size=8)["share_of_run"], of(found, budget=20, batch_size=8)["is_saturated"]) == (
        1.0,
        False,
    )
    assert of(found, budget=None, batch_size=8)["share_of_run"] == 0.4
    warnings = answer.facts["warnings"]
    assert any("without a limit: at batch size 64 the best came in the last 5%" in text for text in warnings)
    assert any("batch sizes have 1 to 2 trials" in text for text in warnings)


def test_budgets_are_by_default_those_that_every_batch_size_ran_to() -> None:
    found = answer_to(quality.QUESTION, view_of(ROWS), Selection((WORKLOAD,), METRIC)).table().to_pylist()
    budgets = dict.fromkeys((row["budget_kind"], row["budget"]) for row in found)
    assert list(budgets) == [("steps", 40), ("examples", 400), ("unlimited", None)]


def test_the_conclusion_says_by_how_much_the_largest_batch_size_falls_short() -> None:
    facts = answer_to(quality.QUESTION, view_of(ROWS), Selection((WORKLOAD,), METRIC)).facts
    conclusion = of(facts["conclusions"], budget_kind="unlimited")
    assert (conclusion["best_batch_size"], conclusion["largest_batch_size"]) == (8, 64)
    assert (conclusion["best_value"], conclusion["largest_value"]) == (0.2, 0.25)
    assert conclusion["shortfall"] == pytest.approx(0.05)
    assert conclusion["relative"] == pytest.approx(0.25)
    assert (conclusion["p_value"], conclusion["is_clear"]) == (None, False)
    assert (
        "64, has 0.25 and falls 0.05 (25.0%) short, which too few settings were tried to tell from chance"
        in conclusion["in_words"]
    )


def test_the_largest_batch_size_with_a_value_within_a_budget_is_not_called_the_largest() -> None:
    rows = [
        *(
            Row(size, 1, "COMPLETE", step, value)
            for size in (8, 16)
            for step, value in ((10, 0.2 + size / 80), (40, 0.1))
        ),
        Row(64, 1, "COMPLETE", 40, 0.1),
    ]
    facts = answer_to(quality.QUESTION, view_of(rows), Selection((WORKLOAD,), METRIC), example_budget=[400]).facts
    conclusion = of(facts["conclusions"], budget_kind="examples")
    assert conclusion["largest_batch_size"] == 16
    assert "; the largest compared, 16, has" in conclusion["in_words"]


def test_largest_batch_size_equal_to_the_best_has_no_shortfall() -> None:
    rows = [Row(8, 1, "COMPLETE", 10, 0.2), Row(64, 1, "COMPLETE", 10, 0.2)]
    facts = answer_to(quality.QUESTION, view_of(rows), Selection((WORKLOAD,), METRIC)).facts
    assert facts["conclusions"][-1]["in_words"].endswith("is at batch size 8, and the largest, 64, has the same")


def test_a_batch_size_whose_trials_stopped_at_a_goal_is_not_compared() -> None:
    on, stopped = {10: 0.5, 20: 0.28, 40: 0.1}, {10: 0.5, 20: 0.28}
    curves = {
        8: [stopped, stopped],
        16: [on, on, stopped],
        32: [on, stopped],
        64: [on, on, {10: 0.5, 40: 0.2}],
        128: [stopped],
    }
    rows = [
        Row(size, trial, "COMPLETE", step, value)
        for size, trials in curves.items()
        for trial, curve in enumerate(trials)
        for step, value in curve.items()
    ]
    answer = answer_to(quality.QUESTION, view_of(rows, goal=0.3), Selection((WORKLOAD,), METRIC), step_budget=[20])
    found = {(row["budget"], row["batch_size"]): row for row in answer.table().to_pylist()}
    flags = [found[None, size]["stopped_at_goal"] for size in curves]
    assert flags == [True, False, True, False, True]
    assert [found[None, size]["shortfall"] for size in curves] == [None, 0, None, 0, None]
    # At the budget at which they stopped, no more was to be had.
    assert not any(found[20, size]["stopped_at_goal"] for size in curves)
    conclusion = of(answer.facts["conclusions"], budget_kind="unlimited")
    assert (conclusion["best_batch_size"], conclusion["largest_batch_size"]) == (16, 64)
    why = "trials stopped as soon as they reached a goal, so that their values don't compare"
    assert answer.facts["left_out"] == [f"{WORKLOAD}, without a limit: {why}: batch size 8, 32, 128"]


def test_too_many_budgets_are_refused() -> None:
    with pytest.raises(BadParameter, match="more than 50 budgets"):
        answer_to(
            quality.QUESTION,
            view_of(ROWS),
            Selection((WORKLOAD,), METRIC),
            step_budget=[*range(quality.MOST_BUDGETS)],
            example_budget=[1],
        )


def test_over_http_the_last_values_are_those_of_the_curves(client: TestClient, curves: Curves) -> None:
    workload = "shelf/deep/mnist/cnn/sgd"
    asked = {"workload": workload, "metric": ERROR, "last": "true", "step_budget": "30"}
    for row in client.get("/v1/analysis/quality", params=asked).json()["rows"]:
        curve = [
            each.value
            for each in curves[workload][ERROR]
            if (each.batch_size, each.trial_id) == (row["batch_size"], row["trial_id"])
            and each.step is not None
            and (row["budget"] is None or each.step <= row["budget"])
        ]
        last = curve[-1] if curve and curve[-1] is not None and math.isfinite(curve[-1]) else None
        assert row["last_value"] == last
        assert row["is_within_training"] is None or isinstance(row["is_within_training"], bool)
