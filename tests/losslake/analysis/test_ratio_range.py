"""The range of a ratio, against drawing every subset of trials of both searches."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.equal_budget import best_of, chances, ratio_range

INF = math.inf
STEPS = st.lists(st.integers(0, 6).map(float) | st.just(INF), min_size=1, max_size=6)


def all_ratios(first: list[float], second: list[float], budget: int) -> list[float | None]:
    """Of every pair of draws; None where neither reaches."""
    pairs = [(min(a), min(b)) for a in combinations(first, budget) for b in combinations(second, budget)]
    return [None if a == b == INF else 1.0 if a == b else INF if b == 0 else a / b for a, b in pairs]


@given(STEPS, STEPS, st.data(), st.sampled_from([Fraction(1, 2), Fraction(19, 20)]))
def test_interval_ends_are_quantiles_of_the_draws(
    first: list[float], second: list[float], data: st.DataObject, sure: Fraction
) -> None:
    budget = data.draw(st.integers(1, min(len(first), len(second))))
    drawn = all_ratios(first, second, budget)
    known = sorted(ratio for ratio in drawn if ratio is not None)
    enough = [r for r in known if Fraction(sum(each <= r for each in known), len(drawn)) >= sure]
    least = [r for r in known if Fraction(sum(each >= r for each in known), len(drawn)) >= sure]
    lower, upper = ratio_range(best_of(np.array(first), budget), best_of(np.array(second), budget), float(sure))
    assert (lower, upper) == (max(least, default=0.0), min(enough, default=INF))


@given(STEPS, STEPS)
def test_interval_excludes_1_only_when_one_search_leads_with_that_chance(
    first: list[float], second: list[float]
) -> None:
    budget = min(len(first), len(second))
    ours, theirs = best_of(np.array(first), budget), best_of(np.array(second), budget)
    lower, upper = ratio_range(ours, theirs)
    if upper < 1:
        assert chances(ours, theirs).beats >= 0.95 - 1e-9
    if lower > 1:
        assert chances(theirs, ours).beats >= 0.95 - 1e-9


def test_a_search_that_never_reaches_the_target_has_no_ratio_below_infinity() -> None:
    some, never = best_of(np.array([10.0, 20.0, 30.0]), 2), best_of(np.array([INF] * 3), 2)
    assert ratio_range(never, some) == (INF, INF)
    assert ratio_range(some, never) == (0.0, 0.0)
    assert ratio_range(never, never) == (0.0, INF)
