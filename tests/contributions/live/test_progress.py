"""What is said of a run: exact steps to the goal by the rules of the lake, and the comparison to stored trials."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_contributions.live.progress import progress_of, sentences
from losslake_contributions.live.stored_trials import StoredTrials
from losslake_schema.reached import Comparator
from losslake_service.web.goals import PageGoal

GOAL = PageGoal("val/loss", 0.05, "minimize", comparator="inclusive")
TRIALS = StoredTrials(n=64, n_reached=60, median=1500.0, n_stopped_earlier=0)
VALUE = st.one_of(st.floats(-2, 2), st.sampled_from([math.nan, math.inf, -math.inf, 0.5]))


def said_of(values: list[float], stored: StoredTrials | None = TRIALS, is_finished: bool = False) -> list[str]:
    steps = np.arange(len(values)) * 100
    return sentences(progress_of(steps, np.array(values), GOAL), GOAL, stored, is_finished)


@given(
    st.lists(VALUE, max_size=30),
    st.sampled_from(["minimize", "maximize"]),
    st.sampled_from(["strict", "inclusive"]),
    st.integers(0, 5),
)
def test_progress_is_that_of_a_loop(values: list[float], direction: str, comparator: Comparator, every: int) -> None:
    goal = PageGoal("val/loss", 0.5, direction, comparator=comparator)
    steps = [(every + 1) * at for at in range(len(values))]
    progress = progress_of(np.array(steps, np.int64), np.array(values, np.float64), goal)
    reached_at, best = None, None
    for step, value in zip(steps, values, strict=True):
        if not math.isfinite(value):
            continue
        is_better = value < 0.5 if direction == "minimize" else value > 0.5
        if reached_at is None and (is_better or (comparator == "inclusive" and value == 0.5)):
            reached_at = step
        if best is None or (value < best[1] if direction == "minimize" else value > best[1]):
            best = step, value
    assert (progress.reached_at, progress.best) == (reached_at, best)
    assert (progress.n, progress.n_not_finite) == (len(values), sum(not math.isfinite(value) for value in values))
    assert progress.hit is None or steps[progress.hit] == reached_at


def test_run_that_reached_its_goal_is_compared_with_the_median() -> None:
    values = [1.0] * 12 + [0.05, 0.01]
    assert said_of(values) == ["Reached val/loss ≤ 0.05 in 1,200 steps; the median of 64 trials took 1,500."]


def test_run_that_has_not_reached_its_goal_says_its_best_value() -> None:
    text = "val/loss ≤ 0.05"
    best = "its best value is 0.06, at step 100; the median of 64 trials took 1,500."
    assert said_of([1.0, 0.06, 0.9]) == [f"Hasn't reached {text} yet: {best}"]
    assert said_of([1.0, 0.06, 0.9], is_finished=True) == [f"Didn't reach {text} in 200 steps: {best}"]


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_value_that_is_not_finite_never_reaches_and_is_never_best(value: float) -> None:
    best = "no value is finite"
    assert said_of([value], None) == [
        f"Hasn't reached val/loss ≤ 0.05 yet: {best}.",
        "1 of its 1 values is not finite.",
    ]
    assert "its best value is 0.2, at step 0." in said_of([0.2, value], None)[0]


def test_run_without_measurements_says_so() -> None:
    assert said_of([]) == ["Nothing is measured yet."]
    assert said_of([], is_finished=True) == ["Nothing was measured."]


def test_run_without_a_goal_says_its_last_value() -> None:
    progress = progress_of(np.array([0, 1000]), np.array([3.0, 2.5]), None)
    assert sentences(progress, None, None, is_finished=False) == ["The last value is 2.5, at step 1,000."]


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        (StoredTrials(64, 10, None, 0), "; the median of 64 trials doesn't reach it (10 do)."),
        (StoredTrials(4, 1, None, 0), "; the median of 4 trials doesn't reach it (1 does)."),
        (StoredTrials(2, 2, 12.5, 0), "; the median of 2 trials took 12.5."),
        (StoredTrials(1, 1, 12.0, 0), "; the one stored trial took 12."),
        (StoredTrials(1, 0, None, 0), "; the one stored trial doesn't reach it."),
        (StoredTrials(0, 0, None, 0), "; no stored trial of its batch size counts."),
    ],
)
def test_trials_whose_median_is_not_known_are_said(stored: StoredTrials, text: str) -> None:
    assert said_of([0.01], stored) == [f"Reached val/loss ≤ 0.05 in 0 steps{text}"]


def test_trials_that_stopped_at_an_easier_goal_are_said() -> None:
    said = said_of([0.01], StoredTrials(5, 3, 7.0, 2))
    assert said[1] == "2 trials stopped at an easier goal: the median takes them as not reaching this one."
