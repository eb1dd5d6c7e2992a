import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.goal_region import near_optimal

INF, NAN = math.inf, math.nan


@given(
    st.lists(st.sampled_from([0.0, 10.0, 11.0, 11.5, 12.0, INF, NAN]), max_size=8), st.sampled_from([0, 0.1, 0.2, 3])
)
def test_the_set_is_what_brute_force_finds(steps: list[float], within: float) -> None:
    found = near_optimal(np.array(steps, np.float64), within)
    reached = [(own, row) for row, own in enumerate(steps) if math.isfinite(own)]
    if not reached:
        assert found is None
        return
    fewest, best = min(reached)
    assert found is not None
    assert (found.steps, found.best) == (fewest, best)
    assert found.rows.tolist() == [row for own, row in sorted(reached) if own <= (1 + within) * fewest]


def test_a_tie_goes_to_the_lower_row() -> None:
    found = near_optimal(np.array([INF, 20.0, 10.0, 10.0]), 0)
    assert found is not None
    assert found.rows.tolist() == [2, 3]


@pytest.mark.parametrize("within", [-0.1, INF, NAN])
def test_within_has_to_be_a_ratio(within: float) -> None:
    with pytest.raises(ValueError, match="within"):
        near_optimal(np.array([1.0]), within)
