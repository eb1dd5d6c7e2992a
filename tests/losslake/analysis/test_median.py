from __future__ import annotations

import math

import numpy as np
import pytest

from losslake.analysis.log_curves import at_places, median_of

INF = math.inf


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1.0], 1.0), ([1.0, 2.0], 1.5), ([1.0, 2.0, INF], 2.0), ([1.0, INF], INF), ([1e308, 1.5e308], 1.25e308)],
)
def test_a_median_needs_no_sum_that_overflows_and_is_inf_where_it_needs_one(
    values: list[float], expected: float
) -> None:
    assert float(median_of(np.array(values), len(values))) == expected


def test_values_beyond_the_counts_are_ignored() -> None:
    values = np.array([[1.0, 3.0, INF], [1.0, 2.0, 9.0]])
    assert median_of(values, np.array([2, 3])).tolist() == [2.0, 2.0]


def test_values_at_places_are_those_that_numpy_takes_along_the_axis() -> None:
    rng = np.random.default_rng(4)
    values, places = rng.normal(size=(3, 5, 7)), rng.integers(7, size=(3, 5))
    expected = np.take_along_axis(values, places[..., None], -1)[..., 0]
    assert at_places(values, places).tolist() == expected.tolist()
    assert at_places(values.swapaxes(0, 1), places.T).tolist() == expected.T.tolist()
    assert float(at_places(values[0, 0], np.array(6))) == values[0, 0, 6]
