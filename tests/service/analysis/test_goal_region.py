import math

import numpy as np
import pytest

from service.analysis.goal_region import (
    INCOMPLETE,
    INFEASIBLE,
    NOT_REACHED,
    OUTCOMES,
    REACHED,
    fraction_reaching,
    goal_probability,
    grid_over,
    is_stability_limited,
    outcomes,
)
from service.analysis.tuned_study import TunedStudy

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
