import math
import statistics
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.learning_rate_growth import learning_rate_exponent

BATCH_SIZES = np.array([2.0**power for power in range(0, 14, 2)])
INF, NAN = math.inf, math.nan


def theil_sen(batch_sizes: list[float], rates: list[float]) -> float:
    """The median of the slopes between all pairs of points."""
    points = [(math.log(b), math.log(rate)) for b, rate in zip(batch_sizes, rates, strict=True)]
    return statistics.median((v - y) / (u - x) for (x, y), (u, v) in combinations(points, 2))


@pytest.mark.parametrize(
    ("exponent", "name"), [(1.0, "linear"), (0.5, "square-root"), (0.0, "constant"), (0.75, None), (-0.5, None)]
)
def test_exact_power_laws_give_their_exponent_and_no_width(exponent: float, name: str | None) -> None:
    found = learning_rate_exponent(BATCH_SIZES, [np.array([0.03 * b**exponent]) for b in BATCH_SIZES])
    assert found.n_batch_sizes == len(BATCH_SIZES)
    assert [found.exponent, found.lower, found.upper] == pytest.approx([exponent] * 3, abs=1e-12)
    assert found.consistent_with == ((name,) if name else ())


@given(st.lists(st.floats(1e-6, 1e6), min_size=4, max_size=8))
def test_the_exponent_is_the_median_of_the_slopes_between_pairs(rates: list[float]) -> None:
    sizes = [3.0 * 2**index for index in range(len(rates))]
    found = learning_rate_exponent(np.array(sizes), [np.array([rate]) for rate in rates], resamples=1)
    assert found.exponent == pytest.approx(theil_sen(sizes, rates), abs=1e-9)
    assert found.exponent is not None
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower <= found.exponent <= found.upper


def test_the_interval_of_the_near_optimal_sets_is_that_of_all_their_combinations() -> None:
    sets = [[1.0, 2.0], [1.5, 2.5, 3.5], [4.0, 5.0], [6.0, 9.0]]
    sizes = [1.0, 2.0, 4.0, 8.0]
    slopes = sorted(theil_sen(sizes, list(drawn)) for drawn in product(*sets))
    found = learning_rate_exponent(np.array(sizes), [np.array(own) for own in sets], resamples=20_000)
    assert found.near_optimal == pytest.approx(np.quantile(slopes, [0.05, 0.95]).tolist(), abs=0.03)
    assert found.near_optimal is not None
    assert found.lower == min(found.near_optimal[0], (found.theil_sen or (INF, INF))[0])


def test_the_same_question_has_the_same_answer() -> None:
    sets = [np.array([b, 2 * b, 3 * b]) for b in BATCH_SIZES]
    assert learning_rate_exponent(BATCH_SIZES, sets) == learning_rate_exponent(BATCH_SIZES, sets)


def test_one_wild_optimum_does_not_move_the_exponent() -> None:
    rates = [np.array([0.1 * b]) for b in BATCH_SIZES]
    rates[3] = np.array([1e5])
    assert learning_rate_exponent(BATCH_SIZES, rates).exponent == pytest.approx(1)


def test_rates_that_have_no_logarithm_are_left_out_and_so_are_batch_sizes_without_others() -> None:
    sets = [
        np.array([NAN, 1.0]),
        np.array([0.0, -1.0]),
        np.array([2.0]),
        np.zeros(0),
        np.array([4.0, INF]),
        np.array([3.0]),
    ]
    found = learning_rate_exponent(np.array([1.0, 2.0, 3.0, 4.0, 9.0, 16.0]), sets)
    assert found.n_batch_sizes == 4
    assert found.exponent == pytest.approx(theil_sen([1, 3, 9, 16], [1, 2, 4, 3]))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_fewer_than_four_batch_sizes_are_refused(count: int) -> None:
    found = learning_rate_exponent(BATCH_SIZES[:count], [np.array([1.0])] * count)
    assert found.exponent is None
    assert found.refusal is not None
    assert f"{count} batch size" in found.refusal


@pytest.mark.parametrize("batch_sizes", [[1.0, 1.0], [0.0, 1.0], [1.0], [NAN, 1.0]])
def test_bad_batch_sizes_are_refused(batch_sizes: list[float]) -> None:
    with pytest.raises(ValueError, match="batch sizes"):
        learning_rate_exponent(np.array(batch_sizes), [np.array([1.0])] * 2)


def test_many_batch_sizes_are_fitted() -> None:
    sizes = np.arange(1.0, 301.0)
    found = learning_rate_exponent(sizes, [np.array([b, b]) for b in sizes])
    assert found.exponent == pytest.approx(1)
