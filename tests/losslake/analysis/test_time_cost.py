"""The front of time and cost is that of brute force; goodput is what the hyperbola says."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.time_cost import goodput, is_on_front, statistical_efficiency, throughput

NAN, INF = math.nan, math.inf
POINTS = st.lists(st.tuples(*[st.sampled_from([1.0, 2.0, 3.0, 4.0, INF, NAN])] * 2), max_size=7)


@given(POINTS)
def test_the_front_is_that_of_brute_force(points: list[tuple[float, float]]) -> None:
    finite = [point for point in points if all(map(math.isfinite, point))]

    def beaten(point: tuple[float, float]) -> bool:
        return any(other != point and other[0] <= point[0] and other[1] <= point[1] for other in finite)

    expected = [point in finite and not beaten(point) for point in points]
    time, cost = (np.array([point[axis] for point in points]) for axis in (0, 1))
    assert is_on_front(time, cost).tolist() == expected


@pytest.mark.parametrize("largest", [30, 10**6])
def test_the_front_of_many_points_is_that_of_a_sweep_by_time(largest: int) -> None:
    chance = random.Random(largest)
    time = [float(chance.randint(1, largest)) for _ in range(25_000)]
    cost = [chance.choice([NAN, INF, round(largest / each), chance.randint(1, largest)]) for each in time]
    front, least = set(), INF
    for point in sorted((one, other) for one, other in zip(time, cost, strict=True) if math.isfinite(other)):
        if point[1] < least:
            front.add(point)
            least = point[1]
    points = zip(time, cost, strict=True)
    assert is_on_front(time, cost).tolist() == [point in front for point in points]


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
