"""Break points are those that METHODS computed for published curves, and those of brute force on any curve."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.break_points import BreakPoints, dominated, max_useful, perfect_ends
from losslake_schema.reached import NEVER

NAN, INF = math.nan, math.inf
SIZES = [2.0**power for power in range(15)]
# METHODS 7.2 (Zhang et al. 2024) and 7.6 (the noisy quadratic model at C = 0.1).
ZHANG_85M = [46000, 23000, 13282, 7000, 3840, 2528, 1917, 1600, 1600]
ZHANG_151M = [96000, 49000, 24000, 12000, 7128, 4350, 2940, 2400, 2300]
NQM = [324071, 161581, 81326, 41255, 21059, 11182, 6455, 4513, 3704, 3293, 3015]


@pytest.mark.parametrize(
    ("sizes", "steps", "end", "useful"),
    [
        (SIZES[6:], ZHANG_85M, 256, 8192),
        (SIZES[6:], ZHANG_151M, 1024, 8192),
        ([*SIZES[:11], 8192, 2**20], [*NQM, 2811, 2785], 32, 1024),
    ],
)
def test_published_curves_break_where_they_should(
    sizes: list[float], steps: list[float], end: float, useful: float
) -> None:
    assert sizes[perfect_ends(sizes, steps).index[0]] == end
    assert sizes[max_useful(sizes, steps).index[0]] == useful


def only(found: BreakPoints) -> tuple[int, bool, bool]:
    """The one break point: index, whether left-censored, whether right-censored."""
    return int(found.index[0]), bool(found.is_left_censored[0]), bool(found.is_right_censored[0])


def perfect_end_by_brute_force(
    sizes: list[float], steps: list[float], tau: float, ran: list[float]
) -> tuple[int, bool, bool, int]:
    """The end, whether it is left- and right-censored, and since where."""
    reached = [at for at, count in enumerate(steps) if math.isfinite(count)]
    if not reached:
        return NEVER, False, False, NEVER
    bound = (1 + tau) * min(sizes[at] * steps[at] for at in reached)
    within = [at for at in reached if sizes[at] * steps[at] <= bound]
    beyond = [
        at
        for at, count in enumerate(steps)
        if at > within[-1] and not math.isnan(count) and sizes[at] * (count if at in reached else ran[at]) > bound
    ]
    # If no batch size saved a step, all of a span of 1 + tau would still be within the bound.
    is_span_enough = sizes[within[-1]] > (1 + tau) * sizes[within[0]]
    return within[-1], not is_span_enough, not beyond, within[0]


def dominated_by_brute_force(steps: list[float], before: list[float], tau: float) -> list[bool]:
    reached = [at for at, count in enumerate(steps) if math.isfinite(count)]
    flags = []
    for at in range(len(steps)):
        least = 0.0 if at not in reached or math.isnan(before[at]) else min(before[at], steps[at])
        flags.append(
            any(SIZES[at] * least > (1 + tau) * SIZES[later] * steps[later] for later in reached if later > at)
            or any(least > (1 + tau) * steps[sooner] for sooner in reached if sooner < at)
        )
    return flags


STEPS = st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, 8.0, INF, NAN]), min_size=1, max_size=6)
UNEVEN = [10.0, 11.0, 12.0, 15.0, 40.0, 44.0]


@given(
    st.sampled_from([SIZES, UNEVEN]),
    STEPS,
    st.sampled_from([0.0, 0.1, 0.5]),
    st.lists(st.sampled_from([0.0, 1.0, 9.0]), min_size=6, max_size=6),
)
def test_break_points_are_those_of_brute_force(
    sizes: list[float], steps: list[float], tau: float, ran: list[float]
) -> None:
    sizes = sizes[: len(steps)]
    found = perfect_ends(sizes, steps, tau, ran[: len(steps)])
    assert (*only(found), found.since[0]) == perfect_end_by_brute_force(sizes, steps, tau, ran)
    reached = [at for at, count in enumerate(steps) if math.isfinite(count)]
    enough = [at for at in reached if steps[at] <= (1 + tau) * min(steps[later] for later in reached if later >= at)]
    first = min(enough, default=NEVER)
    is_open = bool(reached) and sizes[reached[-1]] <= (1 + tau) * sizes[first]
    found = max_useful(sizes, steps, tau)
    assert only(found) == (first, bool(reached) and first == reached[0] and not is_open, is_open)


@pytest.mark.parametrize("tau", [0.1, 0.2])
def test_batch_sizes_within_the_tolerance_show_no_regime(tau: float) -> None:
    """Steps of which none is saved would pass for perfect scaling, and perfect scaling for steps of which none is."""
    sizes = [100, 105, 110]
    for steps in ([50, 50, 50], [110, 105, 100]):
        assert only(perfect_ends(sizes, steps, tau))[1:] == (True, True)
        assert only(max_useful(sizes, steps, tau))[1:] == (False, True)
    assert only(perfect_ends([*sizes, 400], [50, 50, 50, 50], tau)) == (2, True, False)
    assert only(max_useful([25, *sizes], [200, 50, 50, 50], tau)) == (1, False, True)


BEFORE = st.lists(st.sampled_from([0.0, 1.0, 2.0, 4.0, 8.0, NAN]), min_size=6, max_size=6)


@given(STEPS, BEFORE, st.sampled_from([0.0, 0.15, 1.0]))
def test_dominated_batch_sizes_exceed_what_another_one_bounds_them_by(
    steps: list[float], before: list[float], tau: float
) -> None:
    sizes, known = SIZES[: len(steps)], before[: len(steps)]
    found = dominated(sizes, steps, tau, known)
    assert found.is_dominated[0].tolist() == dominated_by_brute_force(steps, known, tau)
    exact = dominated(sizes, steps, tau).is_dominated[0].tolist()
    assert exact == dominated_by_brute_force(steps, steps, tau)


def test_dominated_batch_sizes_say_by_how_much() -> None:
    found = dominated([1, 2, 4, 8], [100, 80, INF, 20], previous_steps=[99, 70, NAN, 19])
    assert found.is_dominated.tolist() == [[False, False, False, False]]
    found = dominated([1, 2, 4, 8], [200, 90, 120, 20], previous_steps=[199, 89, 110, 19])
    assert found.is_dominated.tolist() == [[True, False, True, False]]
    assert found.examples.tolist() == [[1.25, 1.125, 3.0, 1.0]]
    assert found.steps[0].tolist() == [1.0, 1.0, pytest.approx(120 / 90), 1.0]


@given(st.lists(st.lists(st.sampled_from([1.0, 2.0, 7.0, INF]), min_size=4, max_size=4), min_size=1, max_size=5))
def test_many_curves_at_once_are_each_by_itself(curves: list[list[float]]) -> None:
    assert perfect_ends(SIZES[:4], curves).index.tolist() == [perfect_ends(SIZES[:4], one).index[0] for one in curves]
    useful = [max_useful(SIZES[:4], one).index[0] for one in curves]
    assert max_useful(SIZES[:4], curves).index.tolist() == useful


def test_study_stopped_too_early_does_not_end_a_regime() -> None:
    assert only(perfect_ends([1, 2, 4], [100, 50, INF], censored_at=[200, 200, 30])) == (1, False, True)
    assert only(perfect_ends([1, 2, 4], [100, 50, INF], censored_at=[200, 200, 31])) == (1, False, False)


@pytest.mark.parametrize("tau", [-0.1, NAN, INF])
def test_tolerance_out_of_range_is_refused(tau: float) -> None:
    with pytest.raises(ValueError, match="tau="):
        perfect_ends([1.0], [1.0], tau=tau)
    with pytest.raises(ValueError, match="tau="):
        max_useful([1.0], [1.0], tau=tau)


def test_no_batch_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one batch size"):
        max_useful([], np.empty((2, 0)))
