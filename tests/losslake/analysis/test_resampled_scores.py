"""Scores of resampled studies: medians as often as combinatorics says, intervals that hold, verdicts without excess."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from statistics import median

import numpy as np
import pytest

from losslake.analysis.performance_profile import scores
from losslake.analysis.resampled_scores import compared_pairs, intervals, median_times, resampled_scores
from losslake_schema.reached import Floats

INF = math.inf


def score(medians: Floats) -> Floats:
    return scores(medians).score


@pytest.mark.parametrize("times", [[1.0], [3.0, 1.0], [2.0, INF, 1.0], [4.0, 2.0, 3.0, INF], [5.0, 4.0, 3.0, 2.0, 1.0]])
def test_medians_occur_as_often_as_among_all_samples(times: list[float]) -> None:
    draws = resampled_scores([[np.array(times)]], lambda medians: medians[:, :, 0], 20_000)[:, 0]
    samples = [median(sample) for sample in product(times, repeat=len(times))]
    expected = {value: count / len(samples) for value, count in Counter(samples).items()}
    found = {value: count / len(draws) for value, count in Counter(draws.tolist()).items()}
    assert found.keys() == expected.keys()
    assert all(abs(found[value] - expected[value]) < 0.015 for value in found)


def test_median_time_has_infinities_take_part_and_no_studies_are_no_data() -> None:
    times = [[np.array([1.0, INF, INF]), np.array([1.0, 3.0])], [np.array([]), np.array([2.0])]]
    assert median_times(times)[0].tolist() == [INF, 2.0]
    assert np.isnan(median_times(times)[1, 0])
    assert np.isnan(resampled_scores(times, lambda medians: medians[:, :, 0], 10)[:, 1]).all()


def test_draws_depend_on_the_seed_alone() -> None:
    times = [[np.array([1.0, 2.0, 4.0]), np.array([5.0, 6.0])], [np.array([2.0, 3.0, 9.0]), np.array([1.0])]]
    one, same, other = (resampled_scores(times, score, 1500, seed) for seed in (7, 7, 8))
    assert one.shape == (1500, 2)
    assert (one == same).all()
    assert (one != other).any()


def test_without_variation_there_is_none_in_the_scores() -> None:
    times = [[np.array([1.0] * 3)], [np.array([2.0] * 3)]]
    draws = resampled_scores(times, score, 100)
    assert (intervals(draws)[0] == intervals(draws)[1]).all()
    pairs = compared_pairs(draws)
    assert (pairs.first.tolist(), pairs.second.tolist()) == ([0], [1])
    assert pairs.is_clear.tolist() == [True]
    assert pairs.p_value.tolist() == [2 / 101]


def test_holm_stops_at_the_first_that_is_not_significant() -> None:
    """With 3 pairs the levels are 0.05/3, 0.05/2 and 0.05; the pair of the first two is the only clear one."""
    n = 1000
    first = np.linspace(1, 2, n)
    second, third = first - 0.5, first - np.where(np.arange(n) < 20, -1.0, 1.0)
    third[30:45] = first[30:45] + 0.1
    pairs = compared_pairs(np.column_stack([first, second, third]))
    p_values = dict(
        zip(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True), pairs.p_value.tolist(), strict=True)
    )
    assert p_values[0, 1] == 2 / 1001
    assert p_values[0, 2] == pytest.approx(2 * 36 / 1001)
    assert pairs.is_clear.tolist() == [True, False, False]


def test_single_submission_has_no_pairs() -> None:
    assert len(compared_pairs(np.ones((10, 1))).first) == 0


def _study(chance: np.random.Generator, true: Floats, n_studies: int) -> list[list[Floats]]:
    return [[time * np.exp(chance.normal(0, 0.1, n_studies)) for time in row] for row in true]


@pytest.mark.parametrize(("n_studies", "least"), [(5, 0.88), (3, 0.75)])
def test_intervals_hold_the_scores_of_the_true_medians(n_studies: int, least: float) -> None:
    chance = np.random.default_rng(3)
    held = []
    for _ in range(25):
        true = np.exp(chance.normal(0, 0.5, (4, 8)))
        lower, upper = intervals(resampled_scores(_study(chance, true, n_studies), score, 400))
        held.append((lower <= score(true)) & (score(true) <= upper))
    assert least <= np.mean(held) <= 1


def test_equal_submissions_are_hardly_ever_told_apart() -> None:
    chance = np.random.default_rng(4)
    n_wrong = 0
    for _ in range(40):
        draws = resampled_scores(_study(chance, np.ones((3, 8)), 5), score, 1000)
        n_wrong += bool(compared_pairs(draws).is_clear.any())
    assert n_wrong <= 4
