"""By when trials have reached a target, over rows as logs have them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.questions import survival
from losslake.questions.trials.selection import Goal, Selection
from tests import oracle
from tests.losslake.questions.views import METRIC, WORKLOAD, answer_to, view_of
from tests.oracle import Row

STATUSES = ("COMPLETE", "INCOMPLETE", "INFEASIBLE")
# METHODS 3.4: reached at 10, diverged at 15, stopped at 20, reached at 30.
GOLDEN = [
    Row(8, 1, "COMPLETE", 10, 0.1),
    Row(8, 2, "INFEASIBLE", 15, 0.9),
    Row(8, 3, "INCOMPLETE", 20, 0.9),
    Row(8, 4, "COMPLETE", 30, 0.1),
]


def answer(rows: list[Row], *, early_stopping: bool | None = None, **selected: Any) -> tuple[list[dict[str, Any]], Any]:
    selection = Selection((WORKLOAD,), METRIC, **({"statuses": STATUSES} | selected))
    found = answer_to(survival.QUESTION, view_of(rows, early_stopping=early_stopping), selection, Goal(0.3))
    return found.table().to_pylist(), found.facts


def test_divergence_is_a_competing_event() -> None:
    rows, facts = answer(GOLDEN)
    assert [(row["step"], row["reached"], row["diverged"]) for row in rows] == [
        (10, pytest.approx(0.25), 0),
        (15, pytest.approx(0.25), pytest.approx(0.25)),
        (20, pytest.approx(0.25), pytest.approx(0.25)),
        (30, pytest.approx(0.75), pytest.approx(0.25)),
    ]
    (summary,) = facts["summaries"]
    assert (summary["chance"], summary["median_steps"], summary["seen_until"]) == (0.5, 30, 30)
    assert (summary["n_reached"], summary["n_diverged"], summary["n_censored"]) == (2, 1, 1)


def test_trial_that_diverged_after_the_target_has_reached_it() -> None:
    rows, _ = answer([Row(8, 1, "INFEASIBLE", 10, 0.1), Row(8, 1, "INFEASIBLE", 20, math.nan)])
    assert [(row["step"], row["n_reached"], row["n_diverged"]) for row in rows] == [(10, 1, 0)]


def test_divergence_beyond_the_budget_is_censored() -> None:
    rows, _ = answer(GOLDEN, step_budget=12)
    assert [(row["step"], row["n_reached"], row["n_diverged"], row["n_censored"]) for row in rows] == [
        (10, 1, 0, 0),
        (12, 0, 0, 3),
    ]


def test_trials_that_were_never_evaluated_are_left_out_in_words() -> None:
    rows, facts = answer([*GOLDEN, Row(8, 5, "COMPLETE", None, None), Row(16, 1, "COMPLETE", None, None)])
    assert {row["batch_size"] for row in rows} == {8}
    assert [text for text in facts["left_out"] if "2 trials that were never evaluated" in text]
    assert [text for text in facts["warnings"] if "no trials to follow at batch size 16" in text]
    assert (facts["n_used"], facts["summaries"][1]["chance"]) == (4, None)


def test_early_stopping_gives_a_warning_of_informative_censoring() -> None:
    assert [text for text in answer(GOLDEN, early_stopping=True)[1]["warnings"] if "reached_least" in text]
    for known in (False, None):
        facts = answer(GOLDEN, early_stopping=known)[1]
        assert facts["summaries"][0]["early_stopping"] is known
        assert facts["warnings"] == []
    (bounds,) = {(row["reached_least"], row["reached_most"]) for row in answer(GOLDEN)[0] if row["step"] == 20}
    assert bounds == (0.25, 0.5)


def test_unobserved_median_is_null_with_a_warning() -> None:
    _, facts = answer([Row(8, trial, "COMPLETE", 10 * trial, 0.1 if trial == 1 else 0.9) for trial in (1, 2, 3)])
    assert facts["summaries"][0]["median_steps"] is None
    assert [text for text in facts["warnings"] if "stays below one half at batch size" in text]


@st.composite
def any_rows(draw: st.DrawFn) -> list[Row]:
    rows = []
    for trial_id in draw(st.sets(st.integers(0, 9), min_size=1, max_size=6)):
        values = st.sampled_from([0.1, 0.3, 0.9, math.nan])
        curve = draw(st.dictionaries(st.integers(0, 4), values, min_size=1, max_size=3))
        status = draw(st.sampled_from(STATUSES))
        rows += [Row(8, trial_id, status, step, curve[step]) for step in sorted(curve)]
    return rows


@settings(max_examples=settings().max_examples // 2)
@given(any_rows(), st.none() | st.integers(0, 4))
def test_every_trial_ends_once_where_brute_force_says(rows: list[Row], budget: int | None) -> None:
    found, _ = answer(rows, step_budget=budget)
    expected: dict[tuple[int, str], int] = {}
    for trial in oracle.steps_to_target_rows(rows, oracle.Goal(0.3, statuses=STATUSES, step_budget=budget)):
        is_cut = budget is not None and trial["last_step"] > budget
        how = "n_diverged" if trial["status"] == "INFEASIBLE" and not is_cut else "n_censored"
        end = (trial["censored_at"], how) if trial["steps"] is None else (trial["steps"], "n_reached")
        expected[end] = expected.get(end, 0) + 1
    names = ("n_reached", "n_diverged", "n_censored")
    assert {(row["step"], name): row[name] for row in found for name in names if row[name]} == expected
    for row in found:
        assert row["reached"] + row["diverged"] + row["running"] == pytest.approx(1)
        assert row["reached_lower"] - 1e-9 <= row["reached"] <= row["reached_upper"] + 1e-9
