import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.tuned_study import effective_learning_rate, effective_learning_rates, momentum_or_plain

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("learning_rate", "momentum", "expected"),
    [
        (0.5, 0.0, 0.5),
        (0.5, 0.75, 2.0),
        (0.5, 1.0, None),
        (0.5, 1.5, None),
        (0.5, None, None),
        (None, 0.5, None),
        (INF, 0.5, None),
        (NAN, 0.5, None),
        (0.5, -INF, None),
        (1e308, 1 - 1e-9, None),
    ],
)
def test_effective_learning_rate_is_learning_rate_over_one_minus_momentum(
    learning_rate: float | None, momentum: float | None, expected: float | None
) -> None:
    assert effective_learning_rate(learning_rate, momentum) == expected


@given(st.lists(st.tuples(st.floats(), st.floats()), max_size=5))
def test_arrays_give_the_same_as_single_values(pairs: list[tuple[float, float]]) -> None:
    rates, momenta = np.array(pairs, np.float64).reshape(-1, 2).T
    found = effective_learning_rates(rates, momenta)
    assert [None if math.isnan(value) else value for value in found.tolist()] == [
        effective_learning_rate(*pair) for pair in pairs
    ]


def test_a_workload_without_momentum_is_plain_sgd() -> None:
    assert momentum_or_plain(np.array([NAN, NAN])).tolist() == [0.0, 0.0]
    assert momentum_or_plain(np.zeros(0)).tolist() == []


def test_momentum_that_only_some_trials_lack_stays_missing() -> None:
    kept = momentum_or_plain(np.array([0.9, NAN])).tolist()
    assert kept[0] == 0.9
    assert math.isnan(kept[1])
