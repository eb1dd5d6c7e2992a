"""AlgoPerf's scores: in which order times are struck out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.performance_profile import scores

INF, NAN = math.inf, math.nan


def test_a_time_beyond_four_times_the_best_is_not_reached() -> None:
    assert scores(np.array([[1.0], [4.0], [4.1]])).ratios.tolist() == [[1.0], [4.0], [INF]]


def test_missed_variant_counts_as_missed_workload() -> None:
    base = np.array([[10.0, 10.0], [20.0, 20.0]])
    found = scores(base, np.array([[INF], [5.0]]), np.array([1]))
    assert found.ratios.tolist() == [[1.0, INF], [2.0, 1.0]]


def test_a_variant_of_a_workload_that_was_missed_does_not_set_the_best_of_its_column() -> None:
    """Were the variant's 1 second of the first submission counted, the second's 9 would be beyond four times it."""
    base = np.array([[INF], [10.0]])
    assert scores(base, np.array([[1.0], [9.0]]), np.array([0])).ratios.tolist() == [[INF], [1.0]]


def test_four_times_the_best_is_of_the_best_before_its_variants_are_looked_at() -> None:
    base = np.array([[1.0], [4.5]])
    assert scores(base, np.array([[INF], [1.0]]), np.array([0])).ratios.tolist() == [[INF], [INF]]


def by_hand(base: list[list[float]], held_out: list[list[float]], base_of: list[int]) -> list[list[float]]:
    """Ratios in plain Python, step by step."""

    def missing(time: float) -> bool:
        return math.isnan(time) or math.isinf(time)

    times = [own + other for own, other in zip(base, held_out, strict=True)]
    width = len(base[0])
    for row in times:
        for variant, column in enumerate(base_of):
            if missing(row[column]):
                row[width + variant] = INF
    for column in range(len(times[0])):
        best = min((row[column] for row in times if not math.isnan(row[column])), default=INF)
        for row in times:
            if math.isnan(row[column]) or row[column] > 4 * best:
                row[column] = INF
    for row in times:
        for variant, column in enumerate(base_of):
            if missing(row[width + variant]):
                row[column] = INF
    best_of = [min(row[column] for row in times) for column in range(width)]
    return [[row[c] / best_of[c] if row[c] < INF else INF for c in range(width)] for row in times]


TIME = st.floats(0.1, 10) | st.sampled_from([INF, NAN])


@given(st.data(), st.integers(1, 4), st.integers(1, 3), st.integers(0, 3))
def test_times_are_removed_in_the_official_order(data: st.DataObject, n: int, width: int, variants: int) -> None:
    base = [data.draw(st.lists(TIME, min_size=width, max_size=width)) for _ in range(n)]
    held_out = [data.draw(st.lists(TIME, min_size=variants, max_size=variants)) for _ in range(n)]
    base_of = data.draw(st.lists(st.integers(0, width - 1), min_size=variants, max_size=variants))
    found = scores(np.array(base), np.array(held_out).reshape(n, variants), np.array(base_of, np.int64))
    expected = by_hand(base, held_out, base_of)
    assert found.ratios == pytest.approx(np.array(expected))
    exact = [sum(max(0.0, (4 - r) / 3) for r in row) / width for row in expected]
    assert found.exact.tolist() == pytest.approx(exact)
    assert np.abs(found.score - found.exact).max() < 0.006


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="a row for each submission"):
        scores(np.ones((2, 1)), np.ones((2, 1)), np.array([1]))
    with pytest.raises(ValueError, match="0 or more"):
        scores(-np.ones((2, 1)))
