"""MLPerf's reference convergence points: closed form, interpolation and pruning, against the checker's own ways."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.rcp import (
    ReferencePoint,
    Rules,
    interpolated,
    least_acceptable_mean,
    olympic_mean,
    outlying_runs,
    pruned,
    reference_point,
)

Floats = npt.NDArray[np.float64]


def bisected(mean: Floats, stdev: Floats, n_reference: Floats, n_submission: Floats) -> Floats:
    """The least acceptable means as the checker finds them: 0 to the mean, halved until 1e-4 wide."""
    from scipy import stats

    low, high = np.zeros(len(mean)), mean.copy()
    middle = (low + high) / 2
    while (is_open := high - low > 1e-4).any():
        t, p = stats.ttest_ind_from_stats(middle, stdev, n_reference, mean, stdev, n_submission, equal_var=True)
        one_sided = np.where(t < 0, p / 2, 1 - p / 2)
        high = np.where(is_open & (one_sided > 0.05), middle, high)
        low = np.where(is_open & ~(one_sided > 0.05), middle, low)
        middle = (low + high) / 2
    return np.where(stdev == 0, mean, middle)


def points(*pairs: tuple[float, float]) -> list[ReferencePoint]:
    return [ReferencePoint(size, mean, 1.0, 8, mean - 1, mean / (mean - 1)) for size, mean in pairs]


def pruned_by_deletion(given: Sequence[ReferencePoint]) -> list[ReferencePoint]:
    """As the checker does it: delete, and look at the same place again."""
    least = min(given, key=lambda point: point.mean)
    left = [point for point in given if point.batch_size >= least.batch_size]
    index = 1
    while index < len(left) - 1:
        low, here, high = left[index - 1 : index + 2]
        line = np.interp(here.batch_size, [low.batch_size, high.batch_size], [low.mean, high.mean])
        if here.mean > line:
            del left[index]
        else:
            index += 1
    return left


def test_an_olympic_mean_leaves_out_the_least_and_the_greatest() -> None:
    assert olympic_mean(np.array([9.0, 1.0, 2.0, 3.0])) == 2.5
    assert olympic_mean(np.array([1.0, 2.0, 3.0, math.inf])) == 2.5
    assert olympic_mean(np.array([5.0]), 0) == 5.0
    with pytest.raises(ValueError, match="needs 3 runs or more, and there are 2"):
        olympic_mean(np.array([1.0, 2.0]))


def test_the_least_mean_of_runs_that_agree_is_their_mean() -> None:
    point = reference_point(64, np.full(10, 40.0), Rules(5))
    assert (point.mean, point.stdev, point.least_mean, point.max_speedup) == (40.0, 0.0, 40.0, 1.0)


@given(st.floats(1, 1e6), st.floats(0, 0.3), st.integers(2, 40), st.integers(3, 40))
def test_the_closed_form_is_what_bisection_finds(mean: float, spread: float, n: int, runs: int) -> None:
    stdev = mean * spread
    found = least_acceptable_mean(mean, stdev, n, Rules(runs))
    (oracle,) = bisected(*(np.array([value], np.float64) for value in (mean, stdev, n, runs - 2)))
    assert (found or 0.0) == pytest.approx(oracle, abs=6e-5, rel=1e-12)


def test_runs_so_far_apart_that_nothing_would_be_refused_have_no_least_mean_and_no_speedup() -> None:
    """As gpt3 4.1.0 at batch size 3072, where a stray digit makes the checker's greatest speedup 3.5e13."""
    runs = np.array([1_207_959_552.0] * 6 + [13_790_871_552.0])
    point = reference_point(3072, runs, Rules(3))
    assert (point.least_mean, point.max_speedup) == (None, None)
    assert point.mean == 1_207_959_552.0
    (warning,) = outlying_runs(3072, runs)
    assert "at batch size 3072 runs are far from the median of 1,207,959,552: 13,790,871,552 (11.4 times);" in warning


def test_no_run_outlies_among_runs_within_three_times_of_their_median() -> None:
    assert outlying_runs(1, np.array([1.0, 2.0, 2.9])) == []
    assert outlying_runs(1, np.array([])) == []
    (warning,) = outlying_runs(1, np.array([0.1, 2.0, 2.0, 6.0]))
    assert ": 0.1 (0.05 times), 6 (3 times);" in warning
    (warning,) = outlying_runs(1, np.array([1.0] * 9 + [4.0, 5.0, 6.0, 7.0, 8.0]))
    assert ": 8 (8 times), 7 (7 times), 6 (6 times) and 2 more;" in warning


def test_an_allowance_lowers_the_least_mean() -> None:
    runs = np.array([300_000.0, 310_000, 320_000, 330_000, 340_000, 350_000])
    plain, allowed = (reference_point(1152, runs, Rules(3, allowance=own)).least_mean for own in (0, 46_080))
    assert plain is not None
    assert allowed == plain - 46_080


def test_mean_and_deviation_are_linear_in_the_batch_size_between_neighbours() -> None:
    low = ReferencePoint(100, 10, 1, 8, 9, 10 / 9)
    high = ReferencePoint(300, 20, 3, 8, 17, 20 / 17)
    point = interpolated(low, high, 150, Rules(5))
    assert (point.batch_size, point.mean, point.stdev, point.n_compared) == (150, 12.5, 1.5, 10)
    assert point.origin == "interpolated"
    assert point.least_mean == least_acceptable_mean(12.5, 1.5, 10, Rules(5))
    for outside in (100, 300, 301, math.nan):
        with pytest.raises(ValueError, match="is not between 100 and 300"):
            interpolated(low, high, outside, Rules(5))


def test_pruning_drops_batch_sizes_below_the_fastest_and_points_above_the_line() -> None:
    given = points((16, 9), (32, 5), (64, 7), (128, 6), (256, 20))
    assert [point.batch_size for point in pruned(given)] == [32, 128, 256]
    assert pruned([]) == []
    assert pruned(given[:1]) == given[:1]


def test_pruning_goes_upwards_once_and_so_may_leave_a_point_above_the_lower_hull() -> None:
    given = points((1, 11), (2, 12.5), (3, 15), (4, 15.5), (5, 13))
    assert [point.batch_size for point in pruned(given)] == [1, 2, 5]


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(2, 60)), min_size=1, max_size=9, unique_by=lambda p: p[0]))
def test_pruning_in_one_pass_is_the_checkers_by_deletion(pairs: list[tuple[int, int]]) -> None:
    given = points(*sorted(pairs))
    assert pruned(given) == pruned_by_deletion(given)


@pytest.mark.parametrize(
    "runs", [[1.0, math.nan, 2, 3], [1, 2, 3, math.inf], [0, 1, 2, 3], [1, 2, 3, 1e200], [1, 2], []]
)
def test_bad_runs_are_refused_in_one_line(runs: list[float]) -> None:
    with pytest.raises(ValueError, match=r"^batch size 64: [^\n]*$"):
        reference_point(64, np.array(runs, np.float64), Rules(5))


@pytest.mark.parametrize(
    "wrong",
    [
        {"submission_runs": 2},
        {"submission_runs": 8, "trimmed": 4},
        {"submission_runs": 5, "trimmed": -1},
        {"submission_runs": 5, "tolerated_failures": 2},
        {"submission_runs": 5, "significance": 0.5},
        {"submission_runs": 5, "significance": math.nan},
        {"submission_runs": 5, "allowance": math.nan},
    ],
)
def test_rules_that_no_benchmark_can_have_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"trim|significance|allowance"):
        Rules(**wrong)  # type: ignore[arg-type]


def test_a_test_without_degrees_of_freedom_is_refused() -> None:
    with pytest.raises(ValueError, match="too few for a t-test"):
        least_acceptable_mean(1.0, 0.1, 1, Rules(3))
