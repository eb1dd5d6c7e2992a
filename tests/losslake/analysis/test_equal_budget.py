"""Comparing searches at equal tuning budget, against drawing every subset of trials."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.equal_budget import Chances, Flip, best_of, chances, flips, ranks, shared_budget
from losslake_schema.reached import Floats

INF, NAN = math.inf, math.nan
STEPS = st.lists(st.integers(1, 6).map(float) | st.just(INF), min_size=1, max_size=6)


def draws(steps: list[float], budget: int) -> list[float]:
    return sorted(min(drawn) for drawn in combinations(steps, budget))


def chances_of(first: Floats, second: Floats, budget: int) -> Chances:
    return chances(best_of(first, budget), best_of(second, budget))


def test_the_median_of_the_best_of_two_of_four_trials_of_which_two_never_reached() -> None:
    """METHODS 3.1: P(<= 100) = 1/2, P(<= 200) = 5/6."""
    steps = np.array([INF, 200.0, 100.0, INF])
    assert best_of(steps, 2).median == 100.0
    assert [best_of(steps, budget).median for budget in (1, 3, 4)] == [200.0, 100.0, 100.0]
    assert best_of(np.array([INF, INF, 7.0]), 1).median == INF


def test_identical_searches_beat_each_other_equally_often() -> None:
    steps = np.array([100.0, 200.0, INF, INF])
    found = chances_of(steps, steps, 2)
    assert found.neither == pytest.approx(1 / 36)
    assert found.beats == pytest.approx((1 - 1 / 36) / 2)


def test_a_search_that_never_reaches_never_beats() -> None:
    never, some = np.array([INF, INF]), np.array([5.0, INF])
    assert chances_of(never, some, 1).beats == 0.0
    assert chances_of(some, never, 1).beats == 0.5
    assert chances_of(some, never, 1).neither == 0.5
    assert (chances_of(never, never, 2).beats, chances_of(never, never, 2).neither) == (0.0, 1.0)


def test_with_a_budget_of_all_trials_there_is_one_draw() -> None:
    first, second = np.array([3.0, 9.0]), np.array([4.0, 4.0])
    assert chances_of(first, second, 2).beats == 1.0
    assert chances_of(second, first, 2).beats == 0.0
    assert chances_of(second, second, 2).beats == 0.5
    assert chances_of(first, second, 1).beats == 0.5


@given(STEPS, STEPS, st.integers(1, 6))
def test_medians_and_chances_are_those_of_all_subsets(first: list[float], second: list[float], budget: int) -> None:
    budget = min(budget, len(first), len(second))
    ours, theirs = draws(first, budget), draws(second, budget)
    at_most = {s: sum(own <= s for own in ours) for s in ours}
    median = min((s for s in ours if 2 * at_most[s] >= len(ours)), default=INF)
    assert best_of(np.array(first), budget).median == median
    pairs = [(a, b) for a in ours for b in theirs]
    wins = sum(a < b for a, b in pairs) + sum(a == b < INF for a, b in pairs) / 2
    found = chances_of(np.array(first), np.array(second), budget)
    assert found.beats == pytest.approx(wins / len(pairs))
    assert found.neither == pytest.approx(sum(a == b == INF for a, b in pairs) / len(pairs))
    back = chances_of(np.array(second), np.array(first), budget)
    assert found.beats + back.beats + found.neither == pytest.approx(1.0)


def test_with_many_trials_chances_stay_exact() -> None:
    """5 of 1,000 trials reach: the best of 500 does with 1 - C(995, 500) / C(1000, 500)."""
    steps = np.full(1000, INF)
    steps[:5] = 10.0
    missed = math.comb(995, 500) / math.comb(1000, 500)
    found = chances_of(steps, np.full(1000, INF), 500)
    assert found.beats == pytest.approx(1 - missed, rel=1e-12)
    assert found.neither == pytest.approx(missed, rel=1e-12)


def test_equal_medians_share_a_rank_and_what_was_not_reached_has_none() -> None:
    assert ranks(np.array([20.0, 10.0, INF, 20.0, NAN, 30.0])) == [2, 1, None, 2, None, 4]
    assert ranks(np.array([])) == []


def test_an_order_that_depends_on_the_batch_size_is_flagged_and_is_clear_only_if_p_values_say_so() -> None:
    medians = np.array([[10.0, 10.0, 30.0, NAN], [20.0, 10.0, 20.0, 5.0], [30.0, INF, 40.0, 1.0]])
    p_values = np.ones((3, 3, 4))

    def chance(first: int, second: int, place: int) -> float:
        return float(p_values[first, second, place])

    assert flips(medians, chance) == [Flip(0, 1, (0,), (2,), False), Flip(1, 2, (0, 1, 2), (3,), False)]
    p_values[0, 1, 0], p_values[0, 1, 2] = 0.025, -0.025
    assert flips(medians, chance)[0].is_clear
    p_values[1, 2, :3], p_values[1, 2, 3] = 0.02, -0.01
    assert not flips(medians, chance)[1].is_clear, "of three batch sizes one may be that sure by chance"
    p_values[1, 2, 1] = 0.012
    assert flips(medians, chance)[1].is_clear


def test_reaching_the_target_leads_over_never_reaching_it() -> None:
    assert flips(np.array([[INF, 1.0, INF], [9.0, INF, INF]]), lambda *_: NAN) == [Flip(0, 1, (1,), (0,), False)]


@pytest.mark.parametrize("budget", [0, 3, -1])
def test_a_budget_beyond_the_trials_is_refused(budget: int) -> None:
    with pytest.raises(ValueError, match="out of range: there are 2"):
        best_of(np.array([1.0, 2.0]), budget)


def test_nan_is_refused_and_no_searches_share_no_budget() -> None:
    with pytest.raises(ValueError, match="have to be numbers"):
        best_of(np.array([NAN]), 1)
    assert (shared_budget([]), shared_budget([5, 3])) == (0, 3)
