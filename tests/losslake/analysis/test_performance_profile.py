"""Performance profiles, their scores, and geometric means of ratios."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from losslake.analysis.performance_profile import (
    exact_scores,
    geometric_mean_of_ratios,
    ratios_to_best,
    share_within,
    trapezoid_scores,
)

INF, NAN = math.inf, math.nan
# METHODS 7.4: AlgoPerf v0.5, seconds to target on criteo, fastmri, resnet, vit, conformer, deepspeech, ogbg, wmt.
SHAMPOO = np.array([5042.7, 1321.3, INF, 33094.0, 47444.8, 34623.6, 3362.6, 38656.1])
BASELINE = np.array([7208.4, 2030.4, INF, 70196.8, 54769.4, 36023.8, 7696.5, 41188.8])
TIMES = arrays.arrays(
    np.float64,
    arrays.array_shapes(min_dims=2, max_dims=2, max_side=5),
    elements=st.floats(0, 100) | st.sampled_from([INF, NAN, 1.0, 4.0]),
)


def test_a_ratio_is_time_over_the_best_of_its_column() -> None:
    ratios = ratios_to_best(np.array([[2.0, 9.0, INF, NAN, 0.0], [4.0, 3.0, INF, 5.0, 1.0]]))
    assert ratios.tolist() == [[1.0, 3.0, INF, INF, 1.0], [2.0, 1.0, INF, 1.0, INF]]


def test_column_that_no_submission_reached_counts_only_in_the_number_of_columns() -> None:
    ratios = ratios_to_best(np.array([[1.0, INF], [2.0, INF]]))
    assert share_within(ratios, np.array([1.0, 1.9, 2.0, 1e9])).tolist() == [[0.5] * 4, [0.0, 0.0, 0.5, 0.5]]
    assert exact_scores(ratios).tolist() == [0.5, 0.5 * 2 / 3]


def test_the_fastest_everywhere_scores_one() -> None:
    ratios = ratios_to_best(np.array([[1.0, 2.0], [9.0, 9.0]]))
    assert trapezoid_scores(ratios).tolist() == pytest.approx([1.0, 0.0])
    assert exact_scores(ratios).tolist() == [1.0, 0.0]


@given(TIMES)
def test_scores_and_shares_are_those_of_counting(times: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    ratios = ratios_to_best(times)
    n, columns = times.shape
    for column in range(columns):
        reached = [float(t) for t in times[:, column] if not math.isnan(t)]
        best = min(reached, default=INF)
        for row in range(n):
            time = float(times[row, column])
            expected = INF
            if math.isfinite(best) and math.isfinite(time):
                expected = 1.0 if time == best else time / best if best else INF
            assert ratios[row, column] == pytest.approx(expected)
    factors = np.linspace(1, 4, 100)
    shares = share_within(ratios, factors)
    counted = [[sum(r <= tau for r in row) / columns for tau in factors.tolist()] for row in ratios.tolist()]
    assert shares.tolist() == counted
    strips = [(row[:-1] + row[1:]).sum() / 2 / 99 for row in shares]
    assert trapezoid_scores(ratios).tolist() == pytest.approx(strips)
    assert np.abs(trapezoid_scores(ratios) - exact_scores(ratios)).max() <= 0.5 / 99 + 1e-12


def test_shampoos_speedup_over_the_baseline_of_algoperf() -> None:
    budget = np.full(8, 80_000.0)
    speedup, n = geometric_mean_of_ratios(SHAMPOO, BASELINE, budget + 1)
    assert (round(speedup or 0, 4), n) == (0.7213, 8)


def test_without_a_stand_in_columns_that_were_not_reached_are_left_out() -> None:
    speedup, n = geometric_mean_of_ratios(SHAMPOO, BASELINE)
    assert n == 7
    assert speedup == pytest.approx(0.7213 ** (8 / 7), abs=1e-4)
    assert geometric_mean_of_ratios(np.array([INF, NAN, 0.0]), np.array([1.0, 1.0, 1.0])) == (None, 0)
    mean, n = geometric_mean_of_ratios(np.array([8.0, 1.0]), np.array([2.0, NAN]))
    assert (round(mean or 0, 9), n) == (4.0, 1)


def test_bad_arguments_are_refused() -> None:
    some = np.ones((1, 1))
    for wrong in (
        lambda: ratios_to_best(np.ones(3)),
        lambda: ratios_to_best(-some),
        lambda: share_within(np.ones((1, 0)), np.ones(1)),
        lambda: exact_scores(some, 1.0),
        lambda: trapezoid_scores(some, NAN),
        lambda: trapezoid_scores(some, 4.0, 1),
        lambda: geometric_mean_of_ratios(np.ones(1), np.ones(1), np.array([INF])),
    ):
        with pytest.raises(ValueError, match=r"^[^\n]+$"):
            wrong()
