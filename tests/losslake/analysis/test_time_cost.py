"""The front of time and cost is that of brute force; goodput is what the hyperbola says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.analysis.time_cost import goodput, is_on_front, statistical_efficiency, throughput

NAN, INF = math.nan, math.inf
POINTS = st.lists(st.tuples(*[st.sampled_from([1.0, 2.0, 3.0, 4.0, INF, NAN])] * 2), max_size=7)


@given(POINTS)
@settings(max_examples=50)
def test_the_front_is_that_of_brute_force(points: list[tuple[float, float]]) -> None:
    finite = [point for point in points if all(map(math.isfinite, point))]

    def beaten(point: tuple[float, float]) -> bool:
        return any(other != point and other[0] <= point[0] and other[1] <= point[1] for other in finite)

    expected = [point in finite and not beaten(point) for point in points]
    time, cost = (np.array([point[axis] for point in points]) for axis in (0, 1))
    assert is_on_front(time, cost).tolist() == expected


def test_goodput_is_throughput_by_the_examples_that_a_larger_batch_wastes() -> None:
    sizes, s_min, b_c = np.array([1.0, 10.0, 100.0]), 50.0, 20.0
    steps = s_min * (1 + b_c / sizes)
    examples = sizes * steps
    assert statistical_efficiency(sizes, b_c) == pytest.approx(examples[0] / examples)
    seconds = np.array([100.0, 20.0, 10.0])
    good = goodput(sizes, throughput(sizes, steps, seconds), b_c)
    assert good == pytest.approx(examples[0] / seconds)


def test_without_time_there_is_no_throughput() -> None:
    rates = throughput([8, 8, 8, 8], [10, 10, INF, 0], [NAN, 0.0, 5.0, 5.0])
    assert np.isnan(rates[:3]).all()
    assert rates[3] == 0
