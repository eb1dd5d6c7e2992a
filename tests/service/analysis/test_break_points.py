"""Break points are those that METHODS computed for published curves, and those of brute force on any curve."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.analysis.break_points import NONE, max_useful, perfect_end

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
    assert sizes[perfect_end(sizes, steps).index[0]] == end
    assert sizes[max_useful(steps).index[0]] == useful


STEPS = st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, 8.0, INF, NAN]), min_size=1, max_size=6)


@given(STEPS, st.sampled_from([0.0, 0.1, 0.5]))
@settings(max_examples=50)
def test_break_points_are_those_of_brute_force(steps: list[float], tau: float) -> None:
    sizes = SIZES[: len(steps)]
    reached = [at for at, count in enumerate(steps) if math.isfinite(count)]
    end, useful = perfect_end(sizes, steps, tau), max_useful(steps, tau)
    if len(reached) < 2:
        assert end.index.tolist() == useful.index.tolist() == [NONE]
        return
    expected = [
        at
        for at in reached
        if all(
            math.isnan(steps[other])
            or sizes[other] * steps[other]
            <= (1 + tau) * min(sizes[before] * steps[before] for before in reached if before <= other)
            for other in range(reached[0], at + 1)
        )
    ]
    assert end.index.tolist() == [max(expected)]
    enough = [at for at in reached if steps[at] <= (1 + tau) * min(steps[later] for later in reached if later >= at)]
    assert useful.index.tolist() == [min(enough)]
    for found in (end, useful):
        assert (found.is_at_start[0], found.is_at_end[0]) == (
            found.index[0] == reached[0],
            found.index[0] == reached[-1],
        )


@given(st.lists(st.lists(st.sampled_from([1.0, 2.0, 7.0, INF]), min_size=4, max_size=4), min_size=1, max_size=5))
@settings(max_examples=25)
def test_many_curves_at_once_are_each_by_itself(curves: list[list[float]]) -> None:
    assert perfect_end(SIZES[:4], curves).index.tolist() == [perfect_end(SIZES[:4], one).index[0] for one in curves]
    assert max_useful(curves).index.tolist() == [max_useful(one).index[0] for one in curves]


def test_a_negative_tolerance_is_refused() -> None:
    with pytest.raises(ValueError, match=r"tau=-0\.1: give 0 or more"):
        perfect_end([1.0], [1.0], tau=-0.1)
    with pytest.raises(ValueError, match="tau"):
        max_useful([1.0], tau=NAN)


def test_without_batch_sizes_there_is_no_break() -> None:
    assert perfect_end([], np.empty((2, 0))).index.tolist() == [NONE, NONE]
    assert max_useful(np.empty((2, 0))).index.tolist() == [NONE, NONE]
