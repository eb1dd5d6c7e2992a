from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.best_of_n import (
    chance_of_none,
    chance_of_reaching,
    expected_best,
    expected_best_with_replacement,
    new_search,
    quantiles,
    ratio_to_best,
    smaller_search,
    trials_needed,
)

INF, NAN = math.inf, math.nan
STEPS = st.lists(st.sampled_from([0.0, 10.0, 20.0, 30.0, INF, INF]), min_size=1, max_size=6)


def array(*values: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array(values, np.float64)


def budgets(*values: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def test_two_of_four_trials_that_reach_are_among_two_with_five_sixths() -> None:
    steps = array(INF, 200, 100, INF)
    assert chance_of_reaching(steps, budgets(2), within=100)[0] == pytest.approx(1 / 2, abs=1e-15)
    assert chance_of_reaching(steps, budgets(2), within=200)[0] == pytest.approx(5 / 6, abs=1e-15)
    assert chance_of_reaching(steps, budgets(2))[0] == pytest.approx(5 / 6, abs=1e-15)
    assert quantiles(steps, budgets(2), array(0.5, 0.51, 5 / 6, 0.84)).tolist() == [[100, 200, 200, INF]]


@pytest.mark.parametrize(("n_good", "needed"), [(1, 95), (2, 78), (5, 45), (10, 25), (20, 13), (50, 5), (100, 1)])
def test_number_of_trials_that_finds_a_near_optimal_one_with_given_chance(n_good: int, needed: int) -> None:
    assert trials_needed(100, n_good) == needed


def test_no_number_of_trials_finds_a_near_optimal_one_when_none_exists() -> None:
    assert trials_needed(100, 0) is None
    assert trials_needed(0, 0) is None
    assert trials_needed(7, 1, 1.0) == 7


def test_the_unbiased_and_the_biased_expectation_of_the_best_of_two() -> None:
    losses = array(3, 1, 4, 2)
    assert expected_best(losses, budgets(2)) == [pytest.approx(5 / 3, abs=1e-15)]
    assert expected_best_with_replacement(losses, budgets(2)) == [pytest.approx(15 / 8, abs=1e-15)]


@given(STEPS, st.integers(1, 6), st.sampled_from([0.05, 0.25, 0.5, 0.75, 0.95, 1.0]))
def test_chances_and_quantiles_are_those_of_all_subsets(steps: list[float], budget: int, probability: float) -> None:
    budget = min(budget, len(steps))
    best = sorted(min(drawn) for drawn in combinations(steps, budget))
    for within in (10.0, 20.0, INF):
        share = Fraction(sum(own <= within and own < INF for own in best), len(best))
        assert chance_of_reaching(array(*steps), budgets(budget), within)[0] == pytest.approx(float(share), abs=1e-12)
    expected = next(s for s in [*best, INF] if sum(own <= s for own in best) >= probability * len(best) - 1e-9)
    assert quantiles(array(*steps), budgets(budget), array(probability)).tolist() == [[expected]]


@given(st.lists(st.sampled_from([0.5, 1.0, 2.0, 7.0]), min_size=1, max_size=5), st.integers(1, 4))
def test_expectations_are_means_over_all_draws(losses: list[float], budget: int) -> None:
    with_replacement = [min(drawn) for drawn in product(losses, repeat=budget)]
    assert expected_best_with_replacement(array(*losses), budgets(budget)) == [
        pytest.approx(sum(with_replacement) / len(with_replacement))
    ]
    budget = min(budget, len(losses))
    without = [min(drawn) for drawn in combinations(losses, budget)]
    assert expected_best(array(*losses), budgets(budget)) == [pytest.approx(sum(without) / len(without))]


def test_expectation_is_none_when_a_draw_may_hold_no_value() -> None:
    losses = array(1, INF, 3)
    assert expected_best(losses, budgets(1, 2, 3)) == [None, pytest.approx((1 + 1 + 3) / 3), 1.0]
    assert expected_best_with_replacement(losses, budgets(1, 3)) == [None, None]
    assert expected_best(array(), budgets()) == []
    assert expected_best_with_replacement(array(), budgets(2)) == [None]


def test_100_000_trials_do_not_overflow() -> None:
    n_trials, n_good = 100_000, 500
    found = chance_of_none(n_trials, n_good, budgets(1, 777, 50_000, n_trials))[:, -1]
    exact = [Fraction(comb(n_trials - n_good, n), comb(n_trials, n)) for n in (1, 777)]
    assert found[:2].tolist() == [pytest.approx(float(chance), rel=1e-10) for chance in exact]
    assert 0 < found[2] < 1e-140
    assert found[3] == 0
    assert trials_needed(n_trials, 1) == 95_000


def test_steps_of_a_search_of_half_the_size() -> None:
    steps = np.append(np.arange(1, 41) * 10.0, np.full(60, INF))
    found = smaller_search(steps)
    assert (found.half, found.quarter, found.m_out_of_n) != (None, None, None)
    assert found.half is not None
    assert (found.half.n, found.half.lower) == (50, 10)
    assert found.half.upper == quantiles(steps, budgets(50), array(0.95))[0, 0]
    assert found.m_out_of_n is not None
    assert found.m_out_of_n.n == 25
    assert found.m_out_of_n.upper == next(10.0 * k for k in range(1, 41) if 1 - (1 - k / 100) ** 25 >= 0.95)
    assert (found.runner_up_ratio, found.fifth_ratio) == (2.0, 5.0)


def test_a_range_that_is_not_reached_so_often_is_open_and_one_of_no_trials_is_none() -> None:
    found = smaller_search(array(10, INF, INF, INF))
    assert found.half is not None
    assert (found.half.n, found.half.lower, found.half.upper) == (2, 10, None)
    assert (found.runner_up_ratio, found.fifth_ratio) == (None, None)
    assert smaller_search(array(10)).half is None
    assert smaller_search(array()).m_out_of_n is None
    assert ratio_to_best(array(0, 10), 2) is None


@pytest.mark.parametrize("bad", [0, 5, -1])
def test_a_tuning_budget_out_of_range_is_refused(bad: int) -> None:
    with pytest.raises(ValueError, match="out of range"):
        quantiles(array(1, 2, 3, 4), budgets(bad), array(0.5))


def test_nan_values_are_refused() -> None:
    for call in (expected_best, expected_best_with_replacement, chance_of_reaching):
        with pytest.raises(ValueError, match="NaN"):
            call(array(1, NAN), budgets(1))
    with pytest.raises(ValueError, match="probabilities"):
        quantiles(array(1), budgets(1), array(NAN))
    with pytest.raises(ValueError, match="probability"):
        trials_needed(5, 2, 0)
    with pytest.raises(ValueError, match="good trials"):
        chance_of_none(3, 4, budgets(1))


def test_bounds_drawn_by_recipe_hold_for_new_recipes_and_those_drawn_by_trial_do_not() -> None:
    """24 recipes that differ by 30%, with 1 to 20 runs each that differ by 2%; then one run each of 4 new recipes."""
    rng, n = np.random.default_rng(3), 1000
    n_below, n_above = (dict.fromkeys(("by recipe", "by trial"), 0) for _ in range(2))
    for _ in range(n):
        recipes = np.repeat(np.arange(24), rng.integers(1, 21, 24))
        values = np.exp(rng.normal(0, 0.3, 24)[recipes] + rng.normal(0, 0.02, len(recipes)))
        best = np.exp(rng.normal(0, 0.3, 4) + rng.normal(0, 0.02, 4)).min()
        for name, drawn in (("by recipe", recipes), ("by trial", None)):
            bounds = new_search(values, 4, drawn)
            n_below[name] += bounds.lower is not None and best < bounds.lower
            n_above[name] += best > bounds.upper
    assert n_below["by recipe"] / n < 0.05 > n_above["by recipe"] / n
    assert n_below["by trial"] / n > 0.1
