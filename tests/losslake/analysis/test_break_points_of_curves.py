"""Break points are those that METHODS computed for published curves, and those of brute force on any curve."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.break_points import BreakPoints, max_useful, perfect_ends
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
    assert sizes[max_useful(steps).index[0]] == useful


def only(found: BreakPoints) -> tuple[int, bool, bool]:
    """The one break point: index, whether left-censored, whether right-censored."""
    return int(found.index[0]), bool(found.is_left_censored[0]), bool(found.is_right_censored[0])


def perfect_end_by_brute_force(steps: list[float], tau: float, ran: list[float]) -> tuple[int, bool, bool]:
    reached = [at for at, count in enumerate(steps) if math.isfinite(count)]
    if not reached:
        return NEVER, False, False
    end = reached[0]
    for at in range(reached[0] + 1, len(steps)):
        if math.isnan(steps[at]):
            continue
        known = SIZES[at] * (steps[at] if at in reached else ran[at])
        if known > (1 + tau) * min(SIZES[before] * steps[before] for before in reached if before <= at):
            return end, since_by_brute_force(steps, end) == end, False
        if at not in reached:
            break
        end = at
    return end, False, True


def since_by_brute_force(steps: list[float], end: int) -> int:
    within = [at for at, count in enumerate(steps) if math.isfinite(count) and at <= end]

    def is_fair(at: int) -> bool:
        return all(SIZES[at] * steps[at] <= 2 * SIZES[later] * steps[later] for later in within if later >= at)

    return min(at for at in within if all(is_fair(other) for other in within if other >= at))


STEPS = st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, 8.0, INF, NAN]), min_size=1, max_size=6)


@given(STEPS, st.sampled_from([0.0, 0.1, 0.5]), st.lists(st.sampled_from([0.0, 1.0, 9.0]), min_size=6, max_size=6))
def test_break_points_are_those_of_brute_force(steps: list[float], tau: float, ran: list[float]) -> None:
    sizes = SIZES[: len(steps)]
    found = only(perfect_ends(sizes, steps, tau, ran[: len(steps)]))
    assert found == perfect_end_by_brute_force(steps, tau, ran)
    if found[0] != NEVER:
        assert perfect_ends(sizes, steps, tau, ran[: len(steps)]).since[0] == since_by_brute_force(steps, found[0])
    reached = [at for at, count in enumerate(steps) if math.isfinite(count)]
    enough = [at for at in reached if steps[at] <= (1 + tau) * min(steps[later] for later in reached if later >= at)]
    first = min(enough, default=NEVER)
    is_last = bool(reached) and first == reached[-1]
    assert only(max_useful(steps, tau)) == (first, bool(reached) and first == reached[0] and not is_last, is_last)


@given(st.lists(st.lists(st.sampled_from([1.0, 2.0, 7.0, INF]), min_size=4, max_size=4), min_size=1, max_size=5))
def test_many_curves_at_once_are_each_by_itself(curves: list[list[float]]) -> None:
    assert perfect_ends(SIZES[:4], curves).index.tolist() == [perfect_ends(SIZES[:4], one).index[0] for one in curves]
    assert max_useful(curves).index.tolist() == [max_useful(one).index[0] for one in curves]


def test_study_stopped_too_early_does_not_end_a_regime() -> None:
    assert only(perfect_ends([1, 2, 4], [100, 50, INF], censored_at=[200, 200, 30])) == (1, False, True)
    assert only(perfect_ends([1, 2, 4], [100, 50, INF], censored_at=[200, 200, 31])) == (1, False, False)


@pytest.mark.parametrize("tau", [-0.1, NAN, INF])
def test_tolerance_out_of_range_is_refused(tau: float) -> None:
    with pytest.raises(ValueError, match="tau="):
        perfect_ends([1.0], [1.0], tau=tau)
    with pytest.raises(ValueError, match="tau="):
        max_useful([1.0], tau=tau)


def test_no_batch_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one batch size"):
        max_useful(np.empty((2, 0)))
