from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.crossings import CrossingRule, Curves, crossings, previous_steps, resolution
from losslake_schema.reached import NEVER, Comparator, hits

NAN, INF = math.nan, math.inf
VALUES = st.sampled_from([0.1, 0.3, 0.30000000000000004, 0.5, -0.0, NAN, INF, -INF]) | st.floats()
RULES: list[CrossingRule] = ["first", "k_consecutive", "sustained"]
COMPARATORS: list[Comparator] = ["strict", "inclusive"]


def curves_of(*losses: list[float]) -> Curves:
    """Curves that are evaluated at steps 10, 20, …"""
    steps = [10 * (index + 1) for curve in losses for index in range(len(curve))]
    offsets = np.cumsum([0, *map(len, losses)])
    return Curves(np.array(steps, np.int64), np.array([v for curve in losses for v in curve], np.float64), offsets)


def crossing_by_hand(
    losses: list[float], target: float, comparator: Comparator, rule: CrossingRule, k: int
) -> int | None:
    """The index in the curve: every candidate is tried."""
    finite = [(index, loss) for index, loss in enumerate(losses) if math.isfinite(loss)]
    for place, (index, _) in enumerate(finite):
        after = [loss for _, loss in finite[place:]]
        run = {"first": after[:1], "k_consecutive": after[:k], "sustained": after}[rule]
        is_long_enough = rule != "k_consecutive" or len(run) == k
        if is_long_enough and all(loss < target or (comparator == "inclusive" and loss == target) for loss in run):
            return index
    return None


@given(
    st.lists(st.lists(VALUES, max_size=7), max_size=5),
    st.sampled_from([0.3, 0.1, 0.0]) | st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(COMPARATORS),
    st.sampled_from(RULES),
    st.integers(1, 4),
)
def test_crossings_are_what_brute_force_finds(
    losses: list[list[float]], target: float, comparator: Comparator, rule: CrossingRule, k: int
) -> None:
    curves = curves_of(*losses)
    found = crossings(curves, target, comparator, rule, k).tolist()
    expected = [crossing_by_hand(curve, target, comparator, rule, k) for curve in losses]
    starts = curves.offsets[:-1].tolist()
    assert found == [NEVER if i is None else start + i for i, start in zip(expected, starts, strict=True)]


@given(st.lists(st.lists(VALUES, max_size=7), max_size=4), st.sampled_from(COMPARATORS))
def test_a_confirmed_crossing_is_never_before_the_first_and_more_confirmation_never_earlier(
    losses: list[list[float]], comparator: Comparator
) -> None:
    curves = curves_of(*losses)
    one_after_the_other = [
        crossings(curves, 0.3, comparator, "first"),
        crossings(curves, 0.3, comparator, "k_consecutive", 2),
        crossings(curves, 0.3, comparator, "k_consecutive", 3),
    ]
    for less, more in pairwise(np.where(found == NEVER, 1000, found) for found in one_after_the_other):
        assert (less <= more).all()


def test_a_dip_is_a_first_crossing_but_neither_a_consecutive_nor_a_sustained_one() -> None:
    curves = curves_of([0.9, 0.2, 0.5, 0.2, 0.1, 0.4, 0.1])
    assert crossings(curves, 0.3).tolist() == [1]
    assert crossings(curves, 0.3, rule="k_consecutive", k=2).tolist() == [3]
    assert crossings(curves, 0.3, rule="k_consecutive", k=3).tolist() == [NEVER]
    assert crossings(curves, 0.3, rule="sustained").tolist() == [6]


def test_equality_hits_only_when_inclusive() -> None:
    assert hits(np.array([0.3, NAN, -INF]), 0.3).tolist() == [False, False, False]
    assert hits(np.array([0.3, NAN, -INF]), 0.3, "inclusive").tolist() == [True, False, False]


def test_nan_neither_confirms_nor_undoes_a_crossing() -> None:
    curves = curves_of([0.9, 0.2, NAN, 0.1, -INF], [NAN], [NAN, 0.2])
    assert crossings(curves, 0.3, rule="k_consecutive", k=2).tolist() == [1, NEVER, NEVER]
    assert crossings(curves, 0.3, rule="k_consecutive", k=3).tolist() == [NEVER] * 3
    assert crossings(curves, 0.3, rule="sustained").tolist() == [1, NEVER, 7]


def test_previous_step_of_a_crossing_may_have_a_nan_value() -> None:
    curves = curves_of([0.9, NAN, 0.1], [0.1, 0.1], [0.9])
    crossed = crossings(curves, 0.3)
    assert previous_steps(curves, crossed).tolist()[:2] == [20, -1]


def test_resolution_is_relative_to_the_hit_and_infinite_for_a_left_censored_one() -> None:
    found = resolution(np.array([100, 100, 10, 0]), np.array([95, 0, -1, -1]))
    assert found.tolist() == [0.05, 1.0, INF, INF]


def test_no_curves_or_no_evaluations_give_no_crossings() -> None:
    assert crossings(curves_of(), 0.3).tolist() == []
    empty = curves_of([], [])
    assert crossings(empty, 0.3, rule="sustained").tolist() == [NEVER, NEVER]
    assert len(previous_steps(empty, crossings(empty, 0.3))) == 2
    never = curves_of([0.9])
    assert len(previous_steps(never, crossings(never, 0.3))) == 1


def test_more_confirmations_than_evaluations_are_never_reached() -> None:
    assert crossings(curves_of([0.1] * 5), 0.3, rule="k_consecutive", k=2**63 - 1).tolist() == [NEVER]


@pytest.mark.parametrize("target", [NAN, INF, -INF])
def test_a_target_that_is_not_finite_is_refused(target: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        crossings(curves_of([0.1]), target)


def test_bad_shapes_and_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="k=0"):
        crossings(curves_of([0.1]), 0.3, k=0)
    with pytest.raises(ValueError, match="one loss for each step"):
        Curves(np.arange(3), np.zeros(2), np.array([0, 3]))
    for offsets in ([0, 2], [1, 3], [], [0, 3, 2, 3]):
        with pytest.raises(ValueError, match="offsets"):
            Curves(np.arange(3), np.zeros(3), np.array(offsets, np.int64))
