from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.doublings import doublings

SIZES = st.lists(st.integers(1, 2**20), min_size=1, max_size=8, unique=True).map(sorted)


def by_hand(sizes: list[int], steps: list[float], before: list[float]) -> list[tuple[float, ...]]:
    """Since, saved, lower and upper of each batch size, one after the other."""
    rows: list[tuple[float, ...]] = []
    last = None
    for j, size in enumerate(sizes):
        row: tuple[float, ...] = (math.nan,) * 4
        if math.isfinite(steps[j]):
            if last is not None:
                n = math.log2(size / sizes[last])
                earliest = before[j] if before[j] > 0 else 0.0
                lower = 1 - root(steps[j] / before[last], n) if before[last] > 0 else -math.inf
                row = (sizes[last], 1 - root(steps[j] / steps[last], n), lower, 1 - root(earliest / steps[last], n))
            last = j
        rows.append(row)
    return rows


def root(ratio: float, n: float) -> float:
    """The n-th root, infinite where it is larger than any float."""
    try:
        return float(ratio ** (1 / n))
    except OverflowError:
        return math.inf


@given(SIZES, st.data())
def test_equals_a_plain_computation(sizes: list[int], data: st.DataObject) -> None:
    step = st.one_of(st.just(math.inf), st.integers(1, 10**6).map(float))
    steps = data.draw(st.lists(step, min_size=len(sizes), max_size=len(sizes)))
    before = [
        data.draw(st.one_of(st.just(math.nan), st.integers(0, int(s) if s < math.inf else 9).map(float))) for s in steps
    ]
    result = doublings(sizes, steps, before)
    columns = np.array([result.since, result.saved, result.lower, result.upper]).T
    np.testing.assert_allclose(columns, by_hand(sizes, steps, before), rtol=1e-9, atol=1e-9)


def test_perfect_scaling_saves_half_whatever_the_distance() -> None:
    result = doublings([1, 2, 16], [1600, 800, 100], [np.nan] * 3)
    assert result.saved[1:] == pytest.approx([0.5, 0.5])


def test_batch_size_that_never_reached_is_skipped() -> None:
    result = doublings([8, 16, 32], [100, np.inf, 100], [90, np.nan, 95])
    assert np.isnan(result.saved[:2]).all()
    assert (result.since[2], result.saved[2]) == (8, 0.0)


def test_bounds_hold_the_share() -> None:
    result = doublings([8, 16], [100, 60], [80, 50])
    assert result.lower[1] == pytest.approx(0.25)
    assert result.upper[1] == pytest.approx(0.5)
    assert result.lower[1] < result.saved[1] < result.upper[1]


def test_share_below_every_float_is_minus_infinity() -> None:
    result = doublings([229, 230], [1, 10**6], [np.nan] * 2)
    assert result.saved[1] == -np.inf
