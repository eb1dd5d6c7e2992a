"""The predicate `reached` on arrays is that of plain Python, for every float64."""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_schema.reached import Comparator, hits

EDGES = [0.0, -0.0, 5e-324, sys.float_info.max, -sys.float_info.max, 0.1 + 0.2, 0.3]
finite = st.one_of(st.sampled_from(EDGES), st.floats(allow_nan=False, allow_infinity=False))


@given(st.lists(st.one_of(finite, st.floats())), finite)
@pytest.mark.parametrize("comparator", ["strict", "inclusive"])
def test_reached_is_below_the_target_or_equal_to_it_if_inclusive(
    comparator: Comparator, losses: list[float], target: float
) -> None:
    with warnings.catch_warnings(action="error"):
        found = hits(np.array(losses, np.float64), target, comparator).tolist()
    is_inclusive = comparator == "inclusive"
    assert found == [math.isfinite(x) and (x < target or (is_inclusive and x == target)) for x in losses]


@pytest.mark.parametrize("target", [math.nan, math.inf, -math.inf])
def test_a_target_that_is_not_finite_is_refused(target: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        hits(np.zeros(1), target)
