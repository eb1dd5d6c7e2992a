"""Solution quality within budgets is what brute force finds; shortfalls are measured against chance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from losslake.analysis.quality import (
    NO_LIMIT,
    Budget,
    ending,
    is_within_training,
    share_of_run,
    shared_budgets,
    shortfall,
)

NAN, INF = math.nan, math.inf
CURVE = st.dictionaries(st.integers(0, 9), st.sampled_from([0.1, 0.2, 0.3, NAN, INF, -INF]), max_size=6)
STUDIES = st.lists(st.lists(CURVE, max_size=3), min_size=1, max_size=3)
BUDGETS = st.one_of(
    st.builds(Budget, st.sampled_from(["steps", "examples"]), st.integers(0, 40)), st.just(Budget("unlimited"))
)


def is_within(budget: Budget, step: int, size: int) -> bool:
    """Inclusive, as METHODS 1.1 has it."""
    return budget.amount is None or (step if budget.kind == "steps" else step * size) <= budget.amount


@pytest.mark.parametrize(("kind", "amount"), [("steps", None), ("unlimited", 3), ("examples", -1), ("steps", 2**63)])
def test_budget_out_of_range_is_refused(kind: Any, amount: int | None) -> None:
    with pytest.raises(ValueError, match="budget"):
        Budget(kind, amount)


def test_an_example_budget_is_cut_to_whole_steps() -> None:
    assert Budget("examples", 100).steps([1, 64, 128, 0]).tolist() == [100, 1, 0, NO_LIMIT]
    assert Budget("examples", 2**63 - 1).steps([3]).tolist() == [(2**63 - 1) // 3]


def test_studies_that_had_to_run_the_whole_budget_are_within_training() -> None:
    sizes, train_steps = [10, 20, 30], [10, 5, 0]
    assert is_within_training(Budget("steps", 10), sizes, train_steps) == [True, False, None]
    assert is_within_training(Budget("examples", 100), sizes, train_steps) == [True, True, None]
    assert is_within_training(Budget("examples", 101), sizes, train_steps) == [False, False, None]
    assert is_within_training(Budget("unlimited"), sizes, train_steps) == [None, None, None]


def test_shared_budgets_are_those_that_every_batch_size_ran_to() -> None:
    budgets = shared_budgets([1, 8, 64], [1000, 500, -1])
    assert [(budget.kind, budget.amount) for budget in budgets] == [
        ("steps", 500),
        ("examples", 1000),
        ("unlimited", None),
    ]
    assert shared_budgets([1], [0]) == [Budget("unlimited")]


def test_a_shortfall_is_that_of_the_largest_batch_size() -> None:
    trials = [np.array([0.1, 0.2]), np.array([0.3]), np.empty(0)]
    found = shortfall([1, 8, 64], np.array([0.1, 0.3, INF]), trials)
    assert found is not None
    assert (found.best_batch_size, found.largest_batch_size) == (1, 8)
    assert found.shortfall == pytest.approx(0.2)
    assert found.relative == pytest.approx(2.0)
    assert found.p_value is None


def test_of_equal_batch_sizes_the_smallest_is_best() -> None:
    found = shortfall([1, 8], np.array([0.0, 0.0]), [np.zeros(1), np.zeros(1)])
    assert found is not None
    assert (found.best_batch_size, found.shortfall, found.relative, found.p_value) == (1, 0.0, None, None)


def test_single_batch_size_has_no_shortfall() -> None:
    assert shortfall([1, 8], np.array([0.1, INF]), [np.zeros(1), np.zeros(1)]) is None


def test_shortfall_is_clear_only_beyond_what_the_best_of_many_equal_batch_sizes_shows() -> None:
    better, equal = 0.1 + np.arange(8) / 100, 1 + np.arange(8) / 100

    def clear(studies: list[np.ndarray[Any, np.dtype[np.float64]]]) -> bool:
        found = shortfall(range(len(studies)), np.array([own.min() for own in studies]), studies)
        assert found is not None
        return found.is_clear

    assert clear([equal, better, equal])
    assert not clear([equal[:3], better[:3], equal[:3]])
    rng = np.random.default_rng(1)
    claims = [clear(list(rng.exponential(size=(8, 10)))) for _ in range(100)]
    assert np.mean(claims) <= 0.1


def test_the_end_of_a_curve_skips_what_is_not_finite() -> None:
    found = ending(np.array([9.0, 1.0, NAN, 2.0, 3.0, INF, 4.0, 5.0]))
    assert (found.last, found.median) == (5.0, 3.0)
    assert ending(np.array([1.0, NAN])).last is None
    assert ending(np.empty(0)).median is None


def test_run_without_steps_has_no_share() -> None:
    shares = share_of_run(np.array([95.0, 0.0]), np.array([100.0, 0.0]))
    assert shares[0] == 0.95
    assert math.isnan(shares[1])
