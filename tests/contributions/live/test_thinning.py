"""Thinning of curves keeps what a reader looks for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_contributions.live.thinning import thinned

ODD = st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 1.0])
VALUES = st.lists(st.one_of(st.floats(-10, 10), ODD), min_size=1, max_size=300)
LARGEST_GAP = 2  # in stretches: from the beginning of one to the end of the next


@given(VALUES, st.integers(10, 40), st.data())
def test_thinned_curve_keeps_first_last_extremes_and_the_hit(
    values: list[float], most: int, data: st.DataObject
) -> None:
    hit = data.draw(st.integers(0, len(values) - 1))
    kept = thinned(np.array(values), most, hit).tolist()
    assert kept == sorted(set(kept))
    assert len(kept) <= most
    assert set(kept) <= set(range(len(values)))
    finite = [value for value in values if math.isfinite(value)]
    wanted = {0, len(values) - 1, hit}
    if finite:
        wanted |= {values.index(min(finite)), values.index(max(finite))}
    assert wanted <= set(kept)


@given(VALUES, st.integers(10, 40))
def test_short_curve_is_not_thinned(values: list[float], more: int) -> None:
    assert thinned(np.array(values), len(values) + more).tolist() == list(range(len(values)))


@given(st.integers(500, 3000), st.integers(20, 100))
def test_every_stretch_of_a_curve_is_represented(n: int, most: int) -> None:
    kept = thinned(np.sin(np.arange(n)), most)
    assert np.diff(kept).max() <= LARGEST_GAP * (n // ((most - 4) // 2) + 1)


@pytest.mark.parametrize("at", [0, 1, 500, 998, 999])
def test_value_that_is_not_finite_breaks_the_thinned_line(at: int) -> None:
    values = np.linspace(1, 0, 1000)
    values[at] = math.nan
    assert at in thinned(values, 60).tolist()


def test_curve_without_a_finite_value_is_thinned() -> None:
    kept = thinned(np.full(1000, math.nan), 50)
    assert len(kept) <= 50
    assert kept[[0, -1]].tolist() == [0, 999]
