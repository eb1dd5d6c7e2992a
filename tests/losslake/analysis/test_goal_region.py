import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.goal_region import (
    INCOMPLETE,
    INFEASIBLE,
    NOT_REACHED,
    OUTCOMES,
    REACHED,
    fraction_reaching,
    goal_probability,
    goal_probability_of_others,
    grid_over,
    is_stability_limited,
    outcomes,
)
from losslake.analysis.tuned_study import TunedStudy

INF, NAN = math.inf, math.nan


def test_a_trial_that_diverged_is_infeasible_even_if_it_had_reached_the_target() -> None:
    found = outcomes(
        has_reached=np.array([True, False, True, False, True]),
        is_infeasible=np.array([False, False, True, True, False]),
        is_incomplete=np.array([False, False, False, False, True]),
    )
    assert [OUTCOMES[code] for code in found] == ["reached", "not reached", "infeasible", "infeasible", "incomplete"]


def test_the_fraction_reaching_leaves_out_trials_that_did_not_finish() -> None:
    assert fraction_reaching(np.array([REACHED, NOT_REACHED, INFEASIBLE, INCOMPLETE, REACHED])) == 0.5
    assert fraction_reaching(np.array([INCOMPLETE])) is None
    assert fraction_reaching(np.zeros(0, np.int64)) is None


def test_the_goal_probability_is_the_fraction_of_the_nearest_that_reach() -> None:
    places = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [10.0, 0.0], [0.0, 0.0], [NAN, NAN]])
    classes = np.array([REACHED, NOT_REACHED, REACHED, INFEASIBLE, INCOMPLETE, REACHED])
    at = np.array([[0.2, 0.0], [10.0, 0.0]])
    assert goal_probability(places, classes, at, 1).tolist() == [1.0, 0.0]
    assert goal_probability(places, classes, at, 3).tolist() == pytest.approx([2 / 3, 1 / 3])
    assert goal_probability(places, classes, at, 100).tolist() == [0.5, 0.5]


def test_without_trials_there_is_no_goal_probability() -> None:
    assert np.isnan(goal_probability(np.zeros((0, 2)), np.zeros(0, np.int64), np.zeros((3, 2)))).all()


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-2, 0), st.sampled_from(range(4))), max_size=10),
    st.integers(1, 4),
)
def test_the_goal_probability_of_a_trial_is_that_of_the_others_around_it(
    trials: list[tuple[int, int, int]], k: int
) -> None:
    places = np.array([trial[:2] for trial in trials], np.float64).reshape(-1, 2)
    classes = np.array([trial[2] for trial in trials], np.int64)
    found = goal_probability_of_others(places, classes, k)
    usable = classes != INCOMPLETE
    spread = places[usable].std(axis=0) if usable.any() else np.ones(2)
    spread[spread < 1e-9] = 1.0
    for row in range(len(trials)):
        others = [other for other in range(len(trials)) if usable[other] and other != row]
        distances = {other: float((((places[other] - places[row]) / spread) ** 2).sum()) for other in others}
        nearest = sorted(others, key=lambda other: (distances[other], other))[:k]
        if not nearest:
            assert math.isnan(found[row])
            continue
        # Ties at the edge of the neighbourhood may be counted either way, by rounding.
        edge = max(distances[other] for other in nearest)
        sure = [other for other in others if distances[other] < edge - 1e-9]
        tied = [other for other in others if abs(distances[other] - edge) <= 1e-9]
        hits, spare = sum(classes[sure] == REACHED), len(nearest) - len(sure)
        tied_hits = sum(classes[tied] == REACHED)
        fewest, most = hits + max(0, spare - (len(tied) - tied_hits)), hits + min(spare, tied_hits)
        assert fewest <= round(found[row] * len(nearest)) <= most


def test_a_grid_spans_the_trials() -> None:
    found = grid_over(np.array([[-3.0, -1.0], [-1.0, 0.0], [NAN, NAN]]), 3)
    assert found.tolist() == [[x, y] for y in (-1.0, -0.5, 0.0) for x in (-3.0, -2.0, -1.0)]
    assert grid_over(np.full((2, 2), NAN), 3).shape == (0, 2)


@pytest.mark.parametrize(
    ("diverged_rate", "expected"),
    [(2.0, True), (0.05, False)],
    ids=["a neighbour with a greater rate diverged", "one with a lesser rate did"],
)
def test_an_optimum_is_stability_limited_next_to_trials_that_diverged_from_greater_rates(
    diverged_rate: float, expected: bool
) -> None:
    rates = np.array([1.0, 0.8, diverged_rate])
    near = TunedStudy(
        8.0, np.array([10.0, 20.0, INF]), rates, np.zeros(3), is_infeasible=np.array([False, False, True])
    )
    assert is_stability_limited(near, 0) is expected


def test_divergence_far_from_the_optimum_does_not_limit_it() -> None:
    rates = np.array([1.0, 1.1, 1.2, 1.3, 0.9, 0.8, 1e4])
    steps = np.array([10.0, *[20.0] * 5, INF])
    far = TunedStudy(8.0, steps, rates, np.zeros(7), np.isinf(steps))
    assert is_stability_limited(far, 0) is False
    assert is_stability_limited(far, 0, k=6) is True


def test_an_optimum_without_a_learning_rate_has_no_place() -> None:
    nowhere = TunedStudy(8.0, np.array([10.0]), np.array([NAN]), np.zeros(1), np.zeros(1, bool))
    assert is_stability_limited(nowhere, 0) is None
